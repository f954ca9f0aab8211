"""Figure 5: COBias_single in place of COBias in the objective."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dnip.presenting.artefacts import Statement
from dnip.studies.reproduction.cell import Cell
from dnip.studies.reproduction.comparison import Comparison
from dnip.studies.reproduction.measures.single import measure_single
from dnip.studies.reproduction.measures.variants import RAW, TITLES, seeded
from dnip.studies.reproduction.protocol import METHODS, PUBLISHED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact
    from dnip.studies.reproduction.experiment import CellResult, Results
    from dnip.studies.reproduction.plan import Plan
    from dnip.studies.reproduction.sources import Sources

_METRICS = ("accuracy", "cobias", "cobias_single")
_SHOWN = {"single": "minimising COBias_single", "pairwise": "minimising COBias"}


class Single:
    """The gap to odd classes alone as objective, beside that of all pairs."""

    name: ClassVar[str] = "single"
    title: ClassVar[str] = "COBias_single as objective"
    paper: ClassVar[str] = "Figure 5"
    prompts: ClassVar[bool] = False
    options: ClassVar[Mapping[str, Any]] = {}

    def cells(self, plan: Plan, sources: Sources) -> Sequence[Cell]:
        """Return one cell for each source and seed."""
        return [
            Cell(
                self.name,
                {**source.labels, "seed": seed},
                measure_single,
                {"opt": source.opt, "test": source.test},
                {"dev_share": plan.dev_share, "seed": seed},
            )
            for source, seed in seeded(sources, plan)
        ]

    def present(self, plan: Plan, results: Results) -> Sequence[Artefact]:
        """Return a table and a figure for each method, and what the paper says of them."""
        artefacts: list[Artefact] = []
        statements: list[Statement] = []
        for method in METHODS:
            picks = {TITLES[RAW]: lambda row: row.result[RAW]}
            picks |= {shown: partial(_pick, method, gap) for gap, shown in _SHOWN.items()}
            comparison = Comparison.of(results, picks)
            title = f"{self.title}; {TITLES[method]}"
            name = f"{self.name}-{method}"
            artefacts.append(comparison.table(name, title, _METRICS, paper=self.paper))
            artefacts.append(comparison.figure(name, title, _METRICS, paper=self.paper))
            if method == PUBLISHED:
                statements = _judge(comparison)
        return [*artefacts, *statements]


def _pick(method: str, gap: str, row: CellResult) -> dict[str, Any]:
    scores: dict[str, Any] = row.result[method][gap]
    return scores


def _judge(of: Comparison) -> list[Statement]:
    """Judge the statements of appendix A.3 on means over all tasks, published method."""
    raw, single, pairwise = TITLES[RAW], _SHOWN["single"], _SHOWN["pairwise"]
    told = f"{of.told('cobias_single')}; {of.told('cobias')}"
    return [
        Statement(
            "Minimising COBias_single lowers the gap between classes and their odd classes",
            "figure 5, no numbers",
            told,
            of.is_lower(single, raw, "cobias_single"),
        ),
        Statement(
            "Minimising COBias is more effective still, in COBias_single and in COBias",
            "figure 5, no numbers",
            told,
            all(of.is_lower(pairwise, single, metric) for metric in ("cobias_single", "cobias")),
        ),
    ]
