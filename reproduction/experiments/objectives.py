"""Figures 4 and 5: other objectives in place of the full one, by the paper's annealing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dnip import Objective
from dnip.base.typing import Floats
from reproduction.experiments.base import Claims, Experiment, Run
from reproduction.judging import Scores
from reproduction.methods import PAPER, RAW, SIMILAR, Found, anneal, decide, naming
from reproduction.presenting import bars, by_task
from reproduction.probabilities import Cell

FULL, SINGLE, PAIRWISE = "z1+βz2−τz3", "minimising COBias_single", "minimising COBias"
#: The seven subsets of the terms (section 5.5), those of accuracy alone, and those near the full.
TERMS = {
    "z1": ("error",),
    "z2": ("cobias",),
    "z3": ("pmi",),
    "z1+βz2": ("error", "cobias"),
    "z1−τz3": ("error", "pmi"),
    "βz2−τz3": ("cobias", "pmi"),
    FULL: ("error", "cobias", "pmi"),
}
ACCURACY_ONLY, NEAR = ("z1", "z3", "z1−τz3"), ("z1+βz2", "βz2−τz3")


def by_objective(cell: Cell, objectives: dict[str, Objective]) -> list[Found]:
    """Predict the test rows raw, and after minimising each objective on the opt rows."""
    found = [Found(RAW, decide(cell.test.p), {})]
    with naming(cell):
        for name, objective in objectives.items():
            indices = anneal(cell.opt, cell.seed, objective).weight_indices
            found.append(Found(name, decide(cell.test.p, indices), {}))
    return found


def ablate(cell: Cell) -> list[Found]:
    """Minimise every subset of the terms; a single one stands without its weight."""
    alone = replace(PAPER, beta=1.0, tau=1.0)
    bases = {name: PAPER if len(terms) > 1 else alone for name, terms in TERMS.items()}
    return by_objective(cell, {n: replace(base, terms=TERMS[n]) for n, base in bases.items()})


def compare_gaps(cell: Cell) -> list[Found]:
    """Minimise with COBias over odd classes alone, and over all pairs."""
    gaps = {SINGLE: "single", PAIRWISE: "pairwise"}
    return by_objective(cell, {name: replace(PAPER, gap=gap) for name, gap in gaps.items()})


def judge_ablation(_run: Run, _results: Any, scores: Scores) -> Claims:
    """Judge the claims of section 5.5."""
    less = scores.less

    def balance() -> dict[str, Floats]:
        above = np.max([less("cobias", name, FULL) for name in TERMS], axis=0)
        found = {f"accuracy above {name} by": less("accuracy", name, FULL) for name in NEAR}
        return {"COBias below the lowest plus two points by": SIMILAR - above, **found}

    yield "balance", balance

    def alone() -> dict[str, Floats]:
        found = {f"{n}: accuracy rises by": less("accuracy", RAW, n) for n in ACCURACY_ONLY}
        above = "COBias above the full's by"
        return found | {f"{n}: {above}": less("cobias", FULL, n) for n in ACCURACY_ONLY}

    yield "accuracy", alone
    yield "cobias", lambda: scores.falls("z2", RAW)

    def gain() -> dict[str, Floats]:
        raw = scores.mean(RAW, "accuracy")
        gains = {n: scores.mean(n, "accuracy") / raw - 1.16 for n in ACCURACY_ONLY}
        return {f"{name}: gain above 16 % by": value for name, value in gains.items()}

    yield "gain", gain


def judge_single(_run: Run, _results: Any, scores: Scores) -> Claims:
    """Judge the statements of appendix A.3."""
    yield "falls", lambda: scores.falls(SINGLE, RAW, ["COBias_single"])
    yield "better", lambda: scores.falls(PAIRWISE, SINGLE, ["COBias", "COBias_single"])


ABLATION = Experiment(
    "ablation",
    "Seven objectives, with β = 2.7 and τ = 0.2 where terms are summed",
    lambda run: run.over(ablate, run.data.cells()),
    judge_ablation,
    draw=lambda f, run, r: bars(f, r, run.data.tasks, (RAW, *TERMS)),
)
METRICS = ("accuracy", "cobias", "cobias_single", "worst_class_accuracy")
SINGLE_GAP = Experiment(
    "single",
    "COBias_single as the objective",
    lambda run: run.over(compare_gaps, run.data.cells()),
    judge_single,
    lambda run, results: by_task(results, run.data.tasks, METRICS),
    lambda f, run, r: bars(f, r, run.data.tasks, (RAW, SINGLE, PAIRWISE), METRICS[:3]),
)
