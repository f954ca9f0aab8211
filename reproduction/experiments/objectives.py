"""Figures 4 and 5: other objectives in place of the full one, by every method."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from dnip.method.objective import PUBLISHED_TAU
from reproduction.comparison import ALL, VariantComparison
from reproduction.experiment import Artefact, Claim, Experiment
from reproduction.methods import (
    METHODS,
    PAPER,
    PICTURED,
    RAW,
    SIMILAR,
    TITLES,
    best_of,
    cut,
    fit_by,
    raw_scores,
    scores_after,
    seeded,
    usual_objective,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnip.method.objective import Objective
    from dnip.tables import ProbabilityTable
    from reproduction.cell import Cell
    from reproduction.results import Results
    from reproduction.sources import Sources

#: Names of the full objective, of COBias over odd classes and of COBias over all pairs.
FULL, SINGLE, PAIRWISE = "z1+z2-z3", "single", "pairwise"
# Where the paper has a picture alone.
_PICTURE = "figure 4, no numbers"


def measure_objectives(
    opt: ProbabilityTable, test: ProbabilityTable, *, changed: str, dev_share: float, seed: int
) -> dict[str, Any]:
    """Return scores of the test table: raw, and by method after a fit with each objective.

    Parameters
    ----------
    opt, test : ProbabilityTable
    changed : {"terms", "gap"}
        What differs between the objectives: which terms they have, or whether their COBias is over
        odd classes or over all pairs.
    dev_share : float
    seed : int

    Examples
    --------
    >>> from dnip.comparing.demonstration import bundled_table
    >>> opt, test = bundled_table("opt").draw(300, seed=0), bundled_table("test")
    >>> found = measure_objectives(opt, test, changed="terms", dev_share=0.05, seed=0)
    >>> list(found)
    ['raw', 'paper', 'authors', 'optimum', 'ours']
    >>> list(found["paper"])
    ['z1', 'z2', 'z3', 'z1+z2', 'z1-z3', 'z2-z3', 'z1+z2-z3']
    """
    rows, _ = cut(opt, dev_share)
    found: dict[str, Any] = {RAW: raw_scores(test)}
    for method in METHODS:
        found[method] = {
            name: scores_after(fit_by(method, rows, seed, objective), test)
            for name, objective in _objectives(usual_objective(method), changed).items()
        }
    return found


#: The seven subsets of the terms (section 5.5).
SUBSETS = {
    "z1": ("error",),
    "z2": ("cobias",),
    "z3": ("pmi",),
    "z1+z2": ("error", "cobias"),
    "z1-z3": ("error", "pmi"),
    "z2-z3": ("cobias", "pmi"),
    "z1+z2-z3": ("error", "cobias", "pmi"),
}


def _objectives(usual: Objective, changed: str) -> Mapping[str, Objective]:
    if changed == "terms":
        alone = replace(usual, beta=1.0, tau=1.0)  # single terms stand without weights
        weighed = replace(usual, tau=usual.tau or PUBLISHED_TAU)
        return {
            name: replace(weighed if len(terms) > 1 else alone, terms=terms)
            for name, terms in SUBSETS.items()
        }
    return {gap: replace(usual, gap=gap) for gap in (SINGLE, PAIRWISE)}


class _Objectives(Experiment):
    """A table for each method, figures of some, and statements on the paper's annealing."""

    changed: ClassVar[str]
    metrics: ClassVar[tuple[str, ...]]
    #: Objectives in the order of the columns, with their titles.
    shown: ClassVar[Mapping[str, str]]

    def cells(self, sources: Sources) -> Sequence[Cell]:
        """Return one cell for each source and seed."""
        return [
            self.cell(
                measure_objectives,
                source,
                {"seed": seed},
                {"changed": self.changed, "seed": seed},
                chains=len(self.shown),
            )
            for source, seed in seeded(sources, self.plan)
        ]

    def present(self, results: Results) -> Sequence[Artefact]:
        """Return tables and figures, and what the paper says of them."""
        if not len(results):
            return []
        artefacts: list[Artefact] = []
        statements: list[Claim] = []
        for method in METHODS:
            paths: dict[str, tuple[str, ...]] = {TITLES[RAW]: (RAW,)}
            paths |= {title: (method, name) for name, title in self.shown.items()}
            compared = VariantComparison.of(results, paths)
            title = f"{self.title}; {TITLES[method]}"
            table, figure = compared.artefacts(f"{self.name}-{method}", title, self.metrics)
            artefacts += [table, figure] if method in PICTURED else [table]
            if method == PAPER:
                statements = self.judge(compared)
        return [*artefacts, *statements]

    @abstractmethod
    def judge(self, of: VariantComparison) -> list[Claim]:
        """Judge what the paper says, on means over all datasets."""


class Ablation(_Objectives):
    """Every subset of the objective's terms."""

    name = "ablation"
    title = "Ablation: seven objectives, with β = 2.7 and τ = 0.2 where terms are summed"
    paper = "Figure 4"
    changed = "terms"
    metrics = ("accuracy", "cobias")
    shown: ClassVar[Mapping[str, str]] = {name: name for name in SUBSETS}

    def judge(self, of: VariantComparison) -> list[Claim]:
        """Judge the claims of section 5.5."""
        raw, accuracy_only, near = TITLES[RAW], ("z1", "z3", "z1-z3"), ("z1+z2", "z2-z3")
        means = {
            name: {m: of.mean(name, ALL, m) for m in self.metrics}
            for name in self.shown
            if name in of.variants
        }
        if not means:
            return []
        lowest = min(found["cobias"] for found in means.values())
        first = [n for n, found in means.items() if found["cobias"] <= lowest + SIMILAR]
        before = of.mean(raw, ALL, "accuracy")
        gains = {name: of.mean(name, ALL, "accuracy") / before - 1 for name in accuracy_only}
        risen = of.direction("z2", raw, "accuracy")

        def ours(*names: str) -> str:
            return "; ".join(of.in_words(metric, (raw, *names)) for metric in self.metrics)

        return [
            Claim(
                "z1+βz2−τz3 strikes the balance: the lowest COBias and, where it is similar, the "
                "highest accuracy",
                _PICTURE,
                f"first: {best_of(means, means.__getitem__)}; {ours(*means)}",
                FULL in first and not any(of.is_lower(FULL, n, "accuracy") for n in first),
            ),
            Claim(
                "To do well in both, the objective needs terms of accuracy and COBias together",
                _PICTURE,
                ours(*accuracy_only, "z2", FULL),
                all(of.is_lower(FULL, name, "cobias") for name in accuracy_only)
                and (of.is_lower("z2", FULL, "accuracy") or of.is_lower(FULL, "z2", "cobias")),
            ),
            Claim(
                "z1, z3 and z1−τz3 raise accuracy alone",
                _PICTURE,
                ours(*accuracy_only),
                all(
                    of.is_lower(raw, name, "accuracy") and not of.is_lower(name, raw, "cobias")
                    for name in accuracy_only
                ),
            ),
            Claim(
                "z2 alone lowers COBias without a gain in accuracy",
                _PICTURE,
                ours("z2", FULL),
                False if not of.is_lower("z2", raw, "cobias") else {1: False, -1: True}.get(risen),
            ),
            Claim(
                "z1+βz2 and βz2−τz3 do well too, but are less accurate",
                _PICTURE,
                ours(*near, FULL),
                all(
                    of.is_lower(name, raw, "cobias") and of.is_lower(name, FULL, "accuracy")
                    for name in near
                ),
            ),
            Claim(
                "With terms of accuracy alone, accuracy gains more than 16 %",
                "over 16 %, read as relative",
                ", ".join(f"{name} {100 * gain:+.1f} %" for name, gain in gains.items()),
                all(gain > 0.16 for gain in gains.values()),
            ),
        ]


class Single(_Objectives):
    """COBias over odd classes alone as objective, beside COBias over all pairs."""

    name = "single"
    title = "COBias_single as objective"
    paper = "Figure 5"
    changed = "gap"
    metrics = ("accuracy", "cobias", "cobias_single")
    shown: ClassVar[Mapping[str, str]] = {
        SINGLE: "minimising COBias_single",
        PAIRWISE: "minimising COBias",
    }

    def judge(self, of: VariantComparison) -> list[Claim]:
        """Judge the statements of appendix A.3."""
        raw, single, pairwise = TITLES[RAW], self.shown[SINGLE], self.shown[PAIRWISE]
        ours = f"{of.in_words('cobias_single')}; {of.in_words('cobias')}"
        return [
            Claim(
                "With COBias_single as objective, classes differ far less from their odd classes",
                "figure 5, no numbers",
                ours,
                of.is_lower(single, raw, "cobias_single"),
            ),
            Claim(
                "COBias as objective does better still, as every pair of classes counts in it",
                "figure 5, no numbers",
                ours,
                all(of.is_lower(pairwise, single, m) for m in ("cobias_single", "cobias")),
            ),
        ]
