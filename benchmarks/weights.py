"""Even and geometric weights: objective on the opt half, scores on the test half."""

from __future__ import annotations

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Coefficients, ProbabilityTable, Solution, solve
from dnip.metrics import scores
from dnip.tables.evaluation import evaluate

SCALES = (10, 30, 100, 300, "log:10", "log:30", "log:100", "log:300", "log:1000")
LABELS = 500
DRAWS = 5


def run(tables: list[Table]) -> None:
    """Print objectives and scores on unseen rows, by table and scale."""
    objectives, unseen = [], []
    for name, opt, test in tables:
        title = f"{name}, N = {opt.n_classes}"
        fits = [_fit(opt, scale) for scale in SCALES]
        objectives.append([title, *(f"{fit.value:.4f}" for fit in fits)])
        unseen.append([title, *("{:.3f} / {:.3f}".format(*_scores(test, fit)) for fit in fits)])
    names = [str(s) for s in SCALES]
    print_markdown("Objective on the opt half, by scale", ["table", *names], objectives)
    print_markdown("Accuracy / COBias on the test half", ["table", *names], unseen)

    few = [table for table in tables if table.opt.n_classes == 4]
    drawn = {
        scale: np.mean(
            [
                _scores(test, _fit(opt.draw(LABELS, seed), scale))
                for _, opt, test in few
                for seed in range(DRAWS)
            ],
            axis=0,
        )
        for scale in SCALES
    }
    print_markdown(
        f"{LABELS} labels, mean over {len(few)} tables of 4 classes and {DRAWS} draws",
        ["accuracy / COBias", *names],
        [["test half", *["{:.3f} / {:.3f}".format(*drawn[s]) for s in SCALES]]],
    )


def _fit(opt: ProbabilityTable, scale: int | str) -> Solution:
    assert opt.labels is not None
    return solve(opt.probabilities, opt.labels, scale=scale)


def _scores(test: ProbabilityTable, solution: Solution) -> tuple[float, float]:
    coefficients = Coefficients.from_solution(solution, test.classes)
    confusion = evaluate([test], coefficients=coefficients).reweighted
    assert confusion is not None
    summary = scores(confusion)
    return summary["accuracy"], summary["cobias"]
