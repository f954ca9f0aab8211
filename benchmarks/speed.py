"""A whole coordinate fit against plain NumPy evaluations and the loops of the authors' code."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from benchmarks.race.evaluations import plain_evaluation
from benchmarks.race.peers import published
from benchmarks.tables import Table, print_markdown
from dnip import Objective, solve

REPEATS = 9


def seconds(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """Median wall time of a call."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def run(tables: list[Table]) -> None:
    """Print the table: the published problem, beside its loops, and the default one."""
    objective = Objective.published()
    rows = []
    for name, opt, _ in tables:
        p, labels = opt.probabilities, opt.labels
        assert labels is not None
        indices = np.full(opt.n_classes, 30)
        plain = plain_evaluation(p, labels, objective)
        unit = seconds(lambda: plain(indices), 50)  # noqa: B023
        fits = [solve(p, labels, objective, scale=30, seed=seed) for seed in range(REPEATS)]
        default = statistics.median(solve(p, labels, seed=seed).seconds for seed in range(REPEATS))
        fit = statistics.median(solution.seconds for solution in fits[1:])
        loops, loops_seconds = None, 0.0
        if opt.n_classes <= 20:  # 100 classes take the loops minutes
            began = time.perf_counter()
            loops = published.anneal(p.tolist(), labels.tolist())
            loops_seconds = time.perf_counter() - began
        rows.append(
            [
                name,
                f"{len(p):,} × {opt.n_classes}",
                f"{unit * 1e3:.3f}",
                f"{fit * 1e3:.1f}",
                f"{fit / unit:.0f}",
                f"{default * 1e3:.1f}",
                f"{max(solution.value for solution in fits):.5f}",
                "–" if loops is None else f"{loops_seconds:.2f}",
                "–" if loops is None else f"{loops_seconds / fit:,.0f}×",
                "–" if loops is None else f"{loops.value:.5f}",
            ]
        )
    print_markdown(
        "Speed of one plain fit (published settings; warm)",
        [
            "table",
            "M × N",
            "unit, ms",
            "fit, ms",
            "fit, units",
            "default settings, ms",
            "worst Z of 9 fits",
            "authors' loops, s",
            "ratio",
            "Z of the loops",
        ],
        rows,
    )
