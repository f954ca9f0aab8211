"""Even and geometric weights: objective on the opt half, scores on the test half."""

from __future__ import annotations

import statistics

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Coefficients, ProbabilityTable, Solution, solve
from dnip.method.scales import DEFAULT_SCALE
from dnip.metrics import scores
from dnip.tables.evaluation import evaluate

SCALES = (10, 30, 100, 300, "log:10", "log:30", "log:100", "log:300", "log:1000")
DEFAULT = DEFAULT_SCALE
REPEATS = 3
LABELS = 500
DRAWS = 5


def run(tables: list[Table]) -> None:
    """Print objectives, scores on unseen rows and times, by table and scale."""
    objectives, unseen, ratios = [], [], []
    for name, opt, test in tables:
        title = f"{name}, N = {opt.n_classes}"
        fits = {scale: [_fit(opt, scale) for _ in range(REPEATS)] for scale in SCALES}
        times = {s: statistics.median(fit.seconds for fit in f) for s, f in fits.items()}
        objectives.append([title, *[f"{fits[s][0].value:.4f}" for s in SCALES]])
        cells = ["{:.3f} / {:.3f}".format(*_scores(test, fits[s][0])) for s in SCALES]
        unseen.append([title, *cells])
        ratios.append([title, *[f"{times[s] / times[DEFAULT]:.1f}×" for s in SCALES]])
    names = [str(s) for s in SCALES]
    print_markdown("Objective on the opt half, by scale", ["table", *names], objectives)
    print_markdown("Accuracy / COBias on the test half", ["table", *names], unseen)
    print_markdown(f"Time of a fit over that at K = {DEFAULT}", ["table", *names], ratios)

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
