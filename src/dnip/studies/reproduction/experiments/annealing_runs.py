"""Annealing with chains of λNK moves against the proven optimum."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from dnip.method.objective import Objective
from dnip.solvers import Anneal, solve
from dnip.studies.reproduction.experiments.costs import rehearse
from dnip.studies.reproduction.methods import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.method.solution import Solution
    from dnip.tables import ProbabilityTable

#: Last temperatures on the scale of M·Z: that of the published schedule, and a cold one. At the
#: cold one, a move that loses one example is accepted once in e¹⁰ times.
SCHEDULES = {"published": 200.0, "cold": 0.1}
# Values nearer than this are the same.
_SAME = 1e-9


def measure_convergence(
    opt: ProbabilityTable,
    *,
    dev_share: float,
    scale: int,
    factors: Sequence[float],
    n_seeds: int,
    time_limit: float,
) -> dict[str, Any]:
    """Return gaps to the optimum: of annealing by chain length, and of the default solver.

    Parameters
    ----------
    opt : ProbabilityTable
    dev_share : float
        The share of `opt` that is the dev split, which is not used.
    scale : int
        K.
    factors : sequence of float
        λ: each temperature has λNK moves, at least one.
    n_seeds : int
        Runs with each λ and schedule.
    time_limit : float
        Seconds for the exact solver. Where it proves nothing, the best value of all runs counts as
        the optimum.

    Examples
    --------
    >>> from dnip.studies.demonstration import bundled_table
    >>> few = bundled_table("opt").draw(60, seed=0)
    >>> settings = {"scale": 5, "factors": [1.0], "n_seeds": 1, "time_limit": 60.0}
    >>> found = measure_convergence(few, dev_share=0.1, **settings)
    >>> found["proven"], [run["schedule"] for run in found["runs"]]
    (True, ['published', 'cold'])
    >>> all(run["gaps"][0] >= 0 for run in found["runs"])
    True
    """
    rows = cut(opt, dev_share)[0].labelled()
    assert rows.labels is not None
    p, labels = rows.probabilities, rows.labels
    objective = Objective.published()

    def anneal(solver: Anneal, seed: int) -> Solution:
        return solve(p, labels, objective, scale=scale, solver=solver, seed=seed)

    rehearse(rows)
    best = solve(p, labels, objective, scale=scale, solver="exact", time_limit=time_limit)
    ended = []
    for schedule, t_min in SCHEDULES.items():
        for factor in factors:
            length = max(1, round(factor * rows.n_classes * scale))
            solver = Anneal(t_min=t_min, max_generated=length, max_accepted=length)
            began = time.perf_counter()
            solutions = [anneal(solver, seed) for seed in range(n_seeds)]
            seconds = (time.perf_counter() - began) / n_seeds
            ended.append((schedule, factor, length, solver, solutions, seconds))
    began = time.perf_counter()
    descents = [solve(p, labels, objective, scale=scale, seed=seed) for seed in range(n_seeds)]
    descent_seconds = (time.perf_counter() - began) / n_seeds
    annealed = [solution for *_, solutions, _ in ended for solution in solutions]
    optimum = min(solution.value for solution in [best, *descents, *annealed])
    return {
        "rows": len(rows),
        "n_classes": rows.n_classes,
        "scale": scale,
        "variable_space": rows.n_classes * scale,
        "raw": best.trace[0].incumbent,
        "optimum": optimum,
        "lower_bound": best.lower_bound,
        "proven": best.status.value == "optimal",
        "exact_seconds": best.seconds,
        "coordinate": {
            "evaluations": descents[0].evaluations,
            "seconds": descent_seconds,
            "gaps": [gap_above(solution, optimum) for solution in descents],
        },
        "runs": [
            {
                "schedule": schedule,
                "factor": factor,
                "chain": length,
                "temperatures": temperatures(solver),
                "evaluations": solutions[0].evaluations,
                "seconds": seconds,
                "gaps": [gap_above(solution, optimum) for solution in solutions],
                "reached_after": [reached_after(solution, optimum) for solution in solutions],
            }
            for schedule, factor, length, solver, solutions, seconds in ended
        ],
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


def temperatures(solver: Anneal) -> int:
    """Return how many temperatures a schedule has: log_α(T_min / T_max), and the first.

    Examples
    --------
    >>> temperatures(Anneal())
    135
    """
    return math.floor(math.log(solver.t_min / solver.t_max) / math.log(solver.cooling)) + 1
