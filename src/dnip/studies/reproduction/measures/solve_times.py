"""Seconds and objective of the published loops and of every solver here."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any, TypeVar

from dnip.fitting.fit import fit_table
from dnip.method.objective import Objective
from dnip.solvers import solve
from dnip.studies.benchmarking.peers import published as loops
from dnip.studies.reproduction.measures.variants import SCALE, rehearse
from dnip.studies.reproduction.protocol import cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnip.method.solution import Solution
    from dnip.tables import ProbabilityTable

_Result = TypeVar("_Result")

# Runs of what takes less than a second, of which the median is told.
_REPEATS, _QUICK = 5, 1.0


def measure_solve_times(
    opt: ProbabilityTable, *, dev_share: float, seed: int, time_limit: float
) -> dict[str, Any]:
    """Return seconds, objective and evaluations of each way to optimise the same objective.

    The objective is the published one (β = 2.7, τ = 0.2, μ = 4000, K = 30), but for ``fit``, which
    is ``dnip fit`` with its defaults, the score of the opt rows included. Each way is tried before
    its clock starts, so that nothing is compiled or loaded in the time that is told.

    Parameters
    ----------
    opt : ProbabilityTable
        The loops are left out where a class has no labelled rows.
    dev_share : float
        Part of it that is left aside, as everywhere.
    seed : int
    time_limit : float
        Seconds for the exact solver.

    Examples
    --------
    >>> from dnip.studies.demonstration import bundled_table
    >>> few = bundled_table("opt").draw(60, seed=0)
    >>> found = measure_solve_times(few, dev_share=0.1, seed=0, time_limit=60.0)
    >>> list(found["ways"]), found["ways"]["exact"]["status"], found["variable_space"]
    (['loops', 'anneal', 'coordinate', 'exact', 'fit'], 'optimal', 120)
    """
    rows = cut(opt, dev_share)[0].labelled()
    assert rows.labels is not None
    p, labels = rows.probabilities, rows.labels
    goal = Objective.published()
    as_lists = p.tolist(), labels.tolist()

    def run_loops() -> loops.Annealed:
        return loops.anneal(
            *as_lists,
            scale=SCALE,
            beta=goal.beta,
            tau=goal.tau,
            smoothing=goal.smoothing_over(len(labels)),
            seed=seed,
        )

    def run(solver: str, limit: float | None) -> Solution:
        return solve(
            p,
            labels,
            goal,
            scale=SCALE,
            solver=solver,
            seed=seed,
            time_limit=limit,
            classes=rows.classes,
        )

    ways: dict[str, Any] = {}
    if len(set(labels.tolist())) == rows.n_classes:  # they divide by the size of every class
        seconds, annealed = _timed(run_loops)
        ways["loops"] = {
            "seconds": seconds,
            "objective": annealed.value,
            "evaluations": annealed.evaluations,
        }
    rehearse(rows)
    for solver in ("anneal", "coordinate", "exact"):
        limit = time_limit if solver == "exact" else None
        seconds, solution = _timed(lambda: run(solver, limit))  # noqa: B023 - called at once
        ways[solver] = _summary(seconds, solution)
    fit_table(rows, seed=seed)
    seconds, fitted = _timed(lambda: fit_table(rows, seed=seed))
    ways["fit"] = _summary(seconds, fitted.solution)
    return {
        "rows": len(rows),
        "n_classes": rows.n_classes,
        "variable_space": rows.n_classes * SCALE,
        "ways": ways,
    }


def _timed(work: Callable[[], _Result]) -> tuple[float, _Result]:
    """Return the seconds that some work takes, and its result; medians where it is quick."""
    taken: list[float] = []
    while len(taken) < _REPEATS and not (taken and taken[0] > _QUICK):
        began = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken), result


def _summary(seconds: float, solution: Solution) -> dict[str, Any]:
    return {
        "seconds": seconds,
        "objective": solution.value,
        "evaluations": solution.evaluations,
        "status": solution.status.value,
        "lower_bound": solution.lower_bound,
        "gap": solution.gap,
    }
