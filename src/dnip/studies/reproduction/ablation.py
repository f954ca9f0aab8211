"""Figure 4: the seven objectives that the three terms make."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dnip.presenting.artefacts import Statement
from dnip.studies.reproduction.cell import Cell
from dnip.studies.reproduction.comparison import ALL, Comparison
from dnip.studies.reproduction.measures.ablation import measure_ablation
from dnip.studies.reproduction.measures.variants import RAW, TITLES, seeded, usual_objective
from dnip.studies.reproduction.protocol import METHODS, PUBLISHED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.presenting.artefacts import Artefact
    from dnip.studies.reproduction.experiment import CellResult, Results
    from dnip.studies.reproduction.plan import Plan
    from dnip.studies.reproduction.sources import Sources

FULL = "z1+z2-z3"
_METRICS = ("accuracy", "cobias")


class Ablation:
    """Every subset of the objective's terms, as published and as fitted here."""

    name: ClassVar[str] = "ablation"
    title: ClassVar[str] = "Ablation: seven objectives"
    paper: ClassVar[str] = "Figure 4"
    prompts: ClassVar[bool] = False
    options: ClassVar[Mapping[str, Any]] = {}

    def cells(self, plan: Plan, sources: Sources) -> Sequence[Cell]:
        """Return one cell for each source and seed."""
        return [
            Cell(
                self.name,
                {**source.labels, "seed": seed},
                measure_ablation,
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
            comparison = _compare(results, method)
            title = f"{self.title}; {TITLES[method]}"
            name = f"{self.name}-{method}"
            artefacts.append(comparison.table(name, title, _METRICS, paper=self.paper))
            artefacts.append(comparison.figure(name, title, _METRICS, paper=self.paper))
            if method == PUBLISHED:
                statements = _judge(comparison)
        return [*artefacts, *statements]


def _compare(results: Results, method: str) -> Comparison:
    names = usual_objective(method).ablations()
    picks = {TITLES[RAW]: lambda row: row.result[RAW]}
    picks |= {name: partial(_pick, method, name) for name in names}
    return Comparison.of(results, picks)


def _pick(method: str, name: str, row: CellResult) -> dict[str, Any]:
    scores: dict[str, Any] = row.result[method][name]
    return scores


def _judge(of: Comparison) -> list[Statement]:
    """Judge the statements of section 5.5 on means over all tasks, published method."""
    raw = TITLES[RAW]
    accuracy_only = ("z1", "z3", "z1-z3")
    near = ("z1+z2", "z2-z3")
    before = of.mean(raw, ALL, "accuracy")
    gains = [of.mean(name, ALL, "accuracy") / before - 1 for name in accuracy_only]
    compared = (raw, *accuracy_only, FULL)
    return [
        Statement(
            "The terms of accuracy alone (z1, z3, z1−z3) leave more COBias than the full objective",
            "figure 4, no numbers",
            of.told("cobias", compared),
            all(of.is_lower(FULL, name, "cobias") for name in accuracy_only),
        ),
        Statement(
            "COBias alone (z2) lowers COBias, but is less accurate than the full objective",
            "figure 4, no numbers",
            f"{of.told('cobias', (raw, 'z2'))}; {of.told('accuracy', ('z2', FULL))}",
            of.is_lower("z2", raw, "cobias") and of.is_lower("z2", FULL, "accuracy"),
        ),
        Statement(
            "z1+βz2 and βz2−τz3 come near the full objective, with a lower accuracy",
            "figure 4, no numbers",
            f"{of.told('accuracy', (*near, FULL))}; {of.told('cobias', (*near, FULL))}",
            all(of.is_lower(name, FULL, "accuracy") for name in near),
        ),
        Statement(
            "The terms of accuracy alone raise accuracy by more than 16 %",
            "over 16 %, read as relative",
            "relative gain "
            + ", ".join(f"{n} {100 * g:+.1f} %" for n, g in zip(accuracy_only, gains, strict=True))
            + f"; {of.told('accuracy', (raw, *accuracy_only))}",
            all(gain > 0.16 for gain in gains),
        ),
    ]
