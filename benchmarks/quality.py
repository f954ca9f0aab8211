"""Objectives reached: coordinate against the published annealing and against long chains."""

from __future__ import annotations

from benchmarks.tables import Table, print_markdown
from dnip import Objective, ProbabilityTable, Solution, solve
from dnip.solvers import Anneal, Solver

#: 100 times the published number of moves per temperature.
LONG_CHAIN = Anneal(max_generated=600, max_accepted=300)


def run(tables: list[Table]) -> None:
    """Print the table."""
    rows = []
    for name, opt, _ in tables:
        for smoothing in (1.0, 4000.0):
            objective = Objective(tau=0.2, smoothing=smoothing)

            def values(solver: str | Solver, n_seeds: int) -> list[float]:
                return [_fit(opt, objective, solver, seed).value for seed in range(n_seeds)]  # noqa: B023

            published = min(values("anneal", 20))
            chain = min(values(LONG_CHAIN, 3))
            ours = values("coordinate", 10)
            held = sum(value <= min(published, chain) + 1e-12 for value in ours)
            rows.append(
                [
                    name,
                    f"{smoothing:g}",
                    f"{published:.5f}",
                    f"{chain:.5f}",
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
            "paper preset, best of 20 seeds",
            "100× moves, best of 3",
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
