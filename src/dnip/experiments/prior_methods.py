"""Figure 3: the linear adapter, batch calibration and DNIP."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dnip.errors import MissingDependencyError
from dnip.evaluation import scores
from dnip.experiments.artefacts import Statement, Text
from dnip.experiments.cell import Cell
from dnip.experiments.comparison import ALL, Comparison
from dnip.experiments.protocol import METHODS, OURS, PUBLISHED, cut, debias, debias_settings
from dnip.experiments.variants import RAW, TITLES, seeded
from dnip.metrics import confusion_matrix
from dnip.objective import Objective

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.baselines import Method
    from dnip.experiments.artefacts import Artefact
    from dnip.experiments.experiment import CellResult, Results
    from dnip.experiments.plan import Plan
    from dnip.experiments.sources import Sources
    from dnip.tables import ProbabilityTable

_METRICS = ("accuracy", "cobias")
_ADAPTER, _BATCH = "linear adapter", "batch calibration"
_OTHERS = "others"


def measure(
    opt: ProbabilityTable, test: ProbabilityTable, *, dev_share: float, seed: int
) -> dict[str, Any]:
    """Return scores of the test table after each prior method; None for one not installed.

    The adapter is trained toward the published objective. Batch calibration reads the test rows,
    without their labels, as published.

    Examples
    --------
    >>> from dnip.demonstration import bundled_table
    >>> opt, test = bundled_table("opt").draw(300, seed=0), bundled_table("test")
    >>> found = measure(opt, test, dev_share=0.05, seed=0)
    >>> found["batch calibration"]["cobias"] < 0.27  # of the raw argmax
    True
    """
    from dnip.baselines import BatchCalibration, LinearAdapter  # noqa: PLC0415

    rows, _ = cut(opt, dev_share)
    adapter = LinearAdapter(objective=Objective.published())
    return {
        _ADAPTER: _correct(adapter, rows, test, seed),
        _BATCH: _correct(BatchCalibration(), rows, test, seed),
    }


def _correct(
    method: Method, opt: ProbabilityTable, test: ProbabilityTable, seed: int
) -> dict[str, Any] | None:
    from dnip.baselines import OptSet  # noqa: PLC0415

    known, judged = opt.labelled(), test.labelled()
    assert known.labels is not None
    assert judged.labels is not None
    learned_from = OptSet.of(
        known.probabilities, known.labels, batch=test.probabilities, classes=opt.classes
    )
    try:
        correction = method.fit(learned_from, seed)
    except MissingDependencyError:
        return None
    predictions = correction.predict(judged.probabilities)
    return scores(confusion_matrix(judged.labels, predictions, judged.n_classes))


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
            cells.append(Cell(self.name, named, measure, tables, settings))
        return cells

    def present(self, plan: Plan, results: Results) -> Sequence[Artefact]:
        """Return a table and a figure, and whether DNIP is ahead."""
        picks = {TITLES[RAW]: partial(_pick, OURS, "raw")}
        picks |= {name: partial(_pick, _OTHERS, name) for name in (_ADAPTER, _BATCH)}
        picks |= {TITLES[method]: partial(_pick, method, "reweighted") for method in METHODS}
        comparison = Comparison.of(results, picks)
        artefacts: list[Artefact] = [
            comparison.table(self.name, self.title, _METRICS, paper=self.paper),
            comparison.figure(self.name, self.title, _METRICS, paper=self.paper),
        ]
        if _ADAPTER not in comparison.variants:
            artefacts.append(Text("The linear adapter is left out: torch is not installed."))
        return [*artefacts, *(_judge(comparison, other) for other in (_ADAPTER, _BATCH))]


def _pick(method: str, name: str, row: CellResult) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = row.result[name] if row.labels["method"] == method else None
    return found


def _judge(of: Comparison, other: str) -> Statement:
    """Judge what section 5.4 says on means over all tasks."""

    def is_ahead(method: str) -> bool | None:
        if other not in of.variants:
            return None
        better = of.mean(TITLES[method], ALL, "accuracy") > of.mean(other, ALL, "accuracy")
        return better and of.mean(TITLES[method], ALL, "cobias") < of.mean(other, ALL, "cobias")

    named = "the linear adapter" if other == _ADAPTER else other
    return Statement(
        f"DNIP is more accurate than {named} and has less COBias",
        "figure 3, no numbers",
        f"{of.told('accuracy')}; {of.told('cobias')}",
        is_ahead(PUBLISHED),
        {"ours": is_ahead(OURS)},
    )
