"""Objectives reached: coordinate against annealing, by the paper and by the authors' code."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Objective, ProbabilityTable, Solution, solve
from dnip.solvers import Anneal, Solver

MOST_CLASSES = 20


def run(tables: list[Table]) -> None:
    """Print the table."""
    rows = []
    for name, opt, _ in tables:
        for smoothing in (1.0, 4000.0):
            objective = Objective(tau=0.2, smoothing=smoothing)

            def values(solver: str | Solver, n_seeds: int) -> list[float]:
                return [_fit(opt, objective, solver, seed).value for seed in range(n_seeds)]  # noqa: B023

            authors = min(values(Anneal(), 20))
            # chains of 100 classes take minutes
            paper = min(values(Anneal.paper(), 3)) if opt.n_classes <= MOST_CLASSES else math.nan
            ours = values("coordinate", 10)
            held = sum(not value > np.nanmin([authors, paper]) + 1e-12 for value in ours)
            rows.append(
                [
                    name,
                    f"{smoothing:g}",
                    f"{authors:.5f}",
                    f"{paper:.5f}",
                    f"{min(ours):.5f}",
                    f"{max(ours):.5f}",
                    f"{held} of 10",
                ]
            )
    print_markdown(
        "Objective Z on the opt half (β = 2.7, τ = 0.2, K = 30; lower is better)",
        [
            "table",
            "μ",
            "authors' schedule, best of 20 seeds",
            "the paper's annealing, best of 3",
            "coordinate, best of 10",
            "coordinate, worst of 10",
            "seeds no worse than annealing",
        ],
        rows,
    )


def _fit(
    table: ProbabilityTable, objective: Objective, solver: str | Solver, seed: int
) -> Solution:
    assert table.labels is not None
    return solve(table.probabilities, table.labels, objective, scale=30, solver=solver, seed=seed)
