"""Figures 4 and 5: other objectives in place of the full one, by the paper's annealing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dnip import Objective
from dnip.base.typing import Floats
from reproduction.experiments.base import Experiment, Run
from reproduction.judging import Claim, judge
from reproduction.methods import PAPER, RAW, SIMILAR, Found, anneal, decide, naming
from reproduction.presenting import bars, by_task
from reproduction.probabilities import Cell

FULL, SINGLE, PAIRWISE = "z1+βz2−τz3", "minimising COBias_single", "minimising COBias"
#: The seven subsets of the terms (section 5.5).
TERMS = {
    "z1": ("error",),
    "z2": ("cobias",),
    "z3": ("pmi",),
    "z1+βz2": ("error", "cobias"),
    "z1−τz3": ("error", "pmi"),
    "βz2−τz3": ("cobias", "pmi"),
    FULL: ("error", "cobias", "pmi"),
}


def by_objective(cell: Cell, objectives: dict[str, Objective]) -> list[Found]:
    """Predict the test rows raw, and after minimising each objective on the opt rows."""
    with naming(cell):
        found = [Found(RAW, decide(cell.test.p), {})]
        for name, objective in objectives.items():
            indices = anneal(cell.opt, cell.seed, objective).weight_indices
            found.append(Found(name, decide(cell.test.p, indices), {}))
    return found


def ablate(cell: Cell) -> list[Found]:
    """Minimise every subset of the terms; a single one stands without its weight."""
    alone = replace(PAPER, beta=1.0, tau=1.0)
    objectives = {
        name: replace(PAPER if len(terms) > 1 else alone, terms=terms)
        for name, terms in TERMS.items()
    }
    return by_objective(cell, objectives)


def compare_gaps(cell: Cell) -> list[Found]:
    """Minimise with COBias over odd classes alone, and over all pairs."""
    gaps = {SINGLE: "single", PAIRWISE: "pairwise"}
    return by_objective(cell, {name: replace(PAPER, gap=gap) for name, gap in gaps.items()})


def judge_ablation(run: Run, results: Any) -> Iterator[Claim]:
    """Judge the claims of section 5.5."""
    scores = run.scores(results)

    def mean(name: str, metric: str) -> Floats:
        return scores.mean(name, metric)

    def said(says: str, paper: str, contrasts: Any) -> Claim:
        return judge("ablation", says, paper, contrasts)

    picture, accuracy_only = "figure 4, no numbers", ("z1", "z3", "z1−τz3")
    yield said(
        "z1+βz2−τz3 strikes the balance: z1+βz2 and βz2−τz3 do well, too, but are less accurate",
        picture,
        lambda: {
            "COBias within two points of the lowest, to spare": SIMILAR
            - mean(FULL, "cobias")
            + np.min([mean(name, "cobias") for name in TERMS], axis=0),
            **{
                f"accuracy above {name} by": mean(FULL, "accuracy") - mean(name, "accuracy")
                for name in ("z1+βz2", "βz2−τz3")
            },
        },
    )
    yield said(
        "z1, z3 and z1−τz3 raise accuracy alone",
        picture,
        lambda: {
            f"{name}: {what}": value
            for name in accuracy_only
            for what, value in {
                "accuracy rises by": mean(name, "accuracy") - mean(RAW, "accuracy"),
                "COBias above the full objective's by": mean(name, "cobias") - mean(FULL, "cobias"),
            }.items()
        },
    )
    yield said(
        "z2 alone lowers COBias, but does not help accuracy",
        picture,
        lambda: {
            "COBias falls by": mean(RAW, "cobias") - mean("z2", "cobias"),
            "accuracy below the full objective's by": mean(FULL, "accuracy")
            - mean("z2", "accuracy"),
        },
    )
    yield said(
        "With terms of accuracy alone, accuracy gains more than 16 %",
        "over 16 %, read as relative",
        lambda: {
            f"{name}: gain above 16 % by": mean(name, "accuracy") / mean(RAW, "accuracy") - 1.16
            for name in accuracy_only
        },
    )


def judge_single(run: Run, results: Any) -> Iterator[Claim]:
    """Judge the statements of appendix A.3."""
    scores = run.scores(results)
    yield judge(
        "single",
        "With COBias_single as objective, classes differ far less from their odd classes",
        "figure 5, no numbers",
        lambda: {
            "COBias_single falls by": scores.mean(RAW, "cobias_single")
            - scores.mean(SINGLE, "cobias_single")
        },
    )
    yield judge(
        "single",
        "COBias as objective does better still, as every pair of classes counts in it",
        "figure 5, no numbers",
        lambda: {
            f"{title} lower by": scores.mean(SINGLE, metric) - scores.mean(PAIRWISE, metric)
            for metric, title in {"cobias": "COBias", "cobias_single": "COBias_single"}.items()
        },
    )


ABLATION = Experiment(
    "ablation",
    "Seven objectives, with β = 2.7 and τ = 0.2 where terms are summed",
    "figure 4",
    lambda run: run.over(ablate, run.data.cells("1")),
    lambda run, results: by_task(results, run.data.tasks),
    lambda figure, run, results: bars(figure, results, run.data.tasks, (RAW, *TERMS)),
    judge_ablation,
)
SINGLE_METRICS = ("accuracy", "cobias", "cobias_single")
SINGLE_GAP = Experiment(
    "single",
    "COBias_single as the objective",
    "figure 5",
    lambda run: run.over(compare_gaps, run.data.cells("1")),
    lambda run, results: by_task(
        results, run.data.tasks, (*SINGLE_METRICS, "worst_class_accuracy")
    ),
    lambda figure, run, results: bars(
        figure, results, run.data.tasks, (RAW, SINGLE, PAIRWISE), SINGLE_METRICS
    ),
    judge_single,
)
