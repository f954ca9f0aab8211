"""Figure 3: the linear adapter, batch calibration and DNIP."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dnip.presenting.artefacts import Statement, Text
from dnip.studies.reproduction.cell import Cell
from dnip.studies.reproduction.comparison import Comparison
from dnip.studies.reproduction.measures.prior_methods import ADAPTER, BATCH, measure_prior_methods
from dnip.studies.reproduction.measures.variants import RAW, TITLES, seeded
from dnip.studies.reproduction.protocol import METHODS, OURS, PUBLISHED, debias, debias_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact
    from dnip.studies.reproduction.experiment import CellResult, Results
    from dnip.studies.reproduction.plan import Plan
    from dnip.studies.reproduction.sources import Sources

_METRICS = ("accuracy", "cobias")
_OTHERS = "others"


class PriorMethods:
    """An adaptation and a calibration beside DNIP, published and ours."""

    name: ClassVar[str] = "prior-methods"
    title: ClassVar[str] = "Comparison with prior methods"
    paper: ClassVar[str] = "Figure 3"
    prompts: ClassVar[bool] = False
    options: ClassVar[Mapping[str, Any]] = {}

    def cells(self, plan: Plan, sources: Sources) -> Sequence[Cell]:
        """Return both DNIP methods and one cell for the others, for each source and seed."""
        cells = []
        for source, seed in seeded(sources, plan):
            labels = {**source.labels, "seed": seed}
            tables = {"opt": source.opt, "test": source.test}
            for method in METHODS:
                settings = debias_settings(plan, method, seed)
                named = {**labels, "method": method}
                cells.append(Cell(self.name, named, debias, tables, settings))
            settings = {"dev_share": plan.dev_share, "seed": seed}
            named = {**labels, "method": _OTHERS}
            cells.append(Cell(self.name, named, measure_prior_methods, tables, settings))
        return cells

    def present(self, plan: Plan, results: Results) -> Sequence[Artefact]:
        """Return a table and a figure, and whether DNIP is ahead."""
        picks = {TITLES[RAW]: partial(_pick, OURS, "raw")}
        picks |= {name: partial(_pick, _OTHERS, name) for name in (ADAPTER, BATCH)}
        picks |= {TITLES[method]: partial(_pick, method, "reweighted") for method in METHODS}
        comparison = Comparison.of(results, picks)
        artefacts: list[Artefact] = [
            comparison.table(self.name, self.title, _METRICS, paper=self.paper),
            comparison.figure(self.name, self.title, _METRICS, paper=self.paper),
        ]
        if ADAPTER not in comparison.variants:
            artefacts.append(Text("The linear adapter is left out: torch is not installed."))
        return [*artefacts, *(_judge(comparison, other) for other in (ADAPTER, BATCH))]


def _pick(method: str, name: str, row: CellResult) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = row.result[name] if row.labels["method"] == method else None
    return found


def _judge(of: Comparison, other: str) -> Statement:
    """Judge what section 5.4 says on means over all tasks."""

    def is_ahead(method: str) -> bool | None:
        if other not in of.variants:
            return None
        ours = TITLES[method]
        return of.is_lower(other, ours, "accuracy") and of.is_lower(ours, other, "cobias")

    named = "the linear adapter" if other == ADAPTER else other
    return Statement(
        f"DNIP is more accurate than {named} and has less COBias",
        "figure 3, no numbers",
        f"{of.told('accuracy')}; {of.told('cobias')}",
        is_ahead(PUBLISHED),
        {"ours": is_ahead(OURS)},
    )
