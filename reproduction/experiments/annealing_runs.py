"""Annealing with chains of λNK moves against the proven optimum."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dnip.fitting.settings import AUTHORS
from dnip.method.objective import Objective
from dnip.solvers import Anneal, Solver, solve
from reproduction.experiments.costs import rehearse
from reproduction.methods import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.method.solution import Solution
    from dnip.tables import ProbabilityTable

# Values nearer than this are the same.
_SAME = 1e-6


def measure_convergence(
    opt: ProbabilityTable,
    *,
    dev_share: float,
    scale: int,
    factors: Sequence[float],
    n_seeds: int,
    time_limit: float,
) -> dict[str, Any]:
    """Return gaps to the optimum: of annealing by chain length, and of other solvers.

    Parameters
    ----------
    opt : ProbabilityTable
    dev_share : float
        The share of `opt` that is the dev split, which is not used.
    scale : int
        K.
    factors : sequence of float
        λ: each temperature has λNK moves.
    n_seeds : int
        Runs with each λ.
    time_limit : float
        Seconds for the exact solver. Where it proves nothing, the best value of all runs counts as
        the optimum.

    Examples
    --------
    >>> from dnip.comparing.demonstration import bundled_table
    >>> few = bundled_table("opt").draw(60, seed=0)
    >>> settings = {"scale": 5, "factors": [1.0], "n_seeds": 1, "time_limit": 60.0}
    >>> found = measure_convergence(few, dev_share=0.1, **settings)
    >>> found["proven"], [run["gaps"][0] >= 0 for run in found["annealing"]]
    (True, [True])
    """
    rows = cut(opt, dev_share)[0].labelled()
    assert rows.labels is not None
    p, labels, size = rows.probabilities, rows.labels, rows.n_classes * scale

    def run(solver: str | Solver, seed: int = 0, limit: float | None = None) -> Solution:
        return solve(
            p,
            labels,
            Objective.published(),
            scale=scale,
            solver=solver,
            seed=seed,
            time_limit=limit,
        )

    solvers: dict[Any, str | Solver] = {factor: Anneal.paper(factor) for factor in factors}
    rehearse(rows)
    best = run("exact", limit=time_limit)
    found, seconds = {}, {}
    others: dict[Any, str | Solver] = {"authors": AUTHORS.solver, "coordinate": "coordinate"}
    for name, solver in {**solvers, **others}.items():
        began = time.perf_counter()
        found[name] = [run(solver, seed) for seed in range(n_seeds)]
        seconds[name] = (time.perf_counter() - began) / n_seeds
    optimum = min(one.value for one in [best, *(one for ones in found.values() for one in ones)])

    def summary(name: Any) -> dict[str, Any]:  # noqa: ANN401 - a key of `found`
        return {
            "evaluations": found[name][0].evaluations,
            "seconds": seconds[name],
            "gaps": [gap_above(one, optimum) for one in found[name]],
            "reached_after": [reached_after(one, optimum) for one in found[name]],
        }

    return {
        "rows": len(rows),
        "n_classes": rows.n_classes,
        "scale": scale,
        "variable_space": size,
        "raw": best.trace[0].incumbent,
        "optimum": optimum,
        "lower_bound": best.lower_bound,
        "proven": best.status.value == "optimal",
        "exact_seconds": best.seconds,
        "coordinate": summary("coordinate"),
        "authors": summary("authors"),
        "annealing": [{"factor": factor, **summary(factor)} for factor in factors],
    }


def gap_above(solution: Solution, optimum: float) -> float:
    """Return how far a solution is above the optimum, 0 where only rounding parts them."""
    gap = solution.value - optimum
    return gap if gap > _SAME else 0.0


def reached_after(solution: Solution, optimum: float) -> int | None:
    """Return how many objective values were computed until the optimum was found, if it was."""
    for entry in solution.trace:
        if entry.incumbent <= optimum + _SAME:
            return entry.evaluations
    return None
