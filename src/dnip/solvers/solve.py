"""From probabilities and labels to a solution."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dnip.method.problem import Problem
from dnip.method.scales import DEFAULT_SCALE
from dnip.solvers.search import find_optimum
from dnip.solvers.settings import SearchSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dnip.method.constraints import Constraints
    from dnip.method.objective import ConfusionFunction, ObjectiveLike
    from dnip.method.scales import WeightScale
    from dnip.method.solution import Solution
    from dnip.solvers.driver import Progress, Solver


def solve(
    probabilities: ArrayLike,
    labels: ArrayLike,
    objective: ObjectiveLike | ConfusionFunction | None = None,
    *,
    scale: int | str | WeightScale = DEFAULT_SCALE,
    solver: str | Solver = "coordinate",
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = None,
    classes: Sequence[str] | None = None,
    constraints: Constraints | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Find weight indices ξ, one per class, that minimise an objective on an opt set.

    Examples are predicted as argmax_n ω_n·p_mn (equation 3), where ω_n is the weight with the index
    ξ_n; a tie goes to the lowest class.

    Parameters
    ----------
    probabilities : array-like or DataFrame of shape (M, N)
        Class probabilities; a large matrix of float64 or float32 is not copied.
    labels : array-like of shape (M,)
        Class indices 0..N-1 or class names, of at least two classes. A class without examples is
        not fitted: its index becomes the geometric middle of the fitted ones, and a warning names
        it.
    objective : Objective or callable, optional
        What to minimise; ``Objective()`` by default. Any function of a confusion matrix (N, N)
        works too, but is slower: it is called for each candidate.
    scale : int, str or WeightScale, default="log:1000"
        ``"log:K"``: indices are 1..K and weights K geometric steps from 1/K to 1. K alone: weights
        ξ/K, as in the paper. ``"continuous"``: any weights, without indices; for the coordinate
        solver only.
    solver : str or Solver, default="coordinate"
        ``"coordinate"``, ``"exact"``, ``"anneal"``, ``"exhaustive"``, or a solver with settings
        of its own.
    seed : int, default=0
        Of the solver's random choices; the same seed gives the same solution.
    sample_weight : array-like of shape (M,), optional
        How much each example counts.
    time_limit : float, optional
        Seconds after which the best so far is returned.
    classes : sequence of str, optional
        Class names in column order; by default the columns of a data frame.
    constraints : Constraints, optional
        What the weights must satisfy on these examples. In any case, a class that the raw argmax
        gets right on some examples stays right on at least one, unless the constraints allow
        silence or the objective is the published one.
    progress : callable, optional
        Called with a :class:`~dnip.method.solution.TraceEntry` at every event.

    Returns
    -------
    Solution

    Raises
    ------
    InvalidInputError
        For input or settings that break their contract.
    InfeasibleError
        If no weights on the scale satisfy the constraints, or none were found.

    Warns
    -----
    DNIPWarning
        For classes without examples.

    Examples
    --------
    >>> from dnip import Objective, solve
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> solution = solve(p, [0, 1, 0, 1], Objective(beta=2.7, tau=0.2), scale=30)
    >>> solution.terms["error"], solution.terms["cobias"]
    (0.0, 0.0)
    """
    began = time.perf_counter()
    settings = SearchSettings(
        objective,
        scale=scale,
        solver=solver,
        seed=seed,
        time_limit=time_limit,
        constraints=constraints,
    )
    problem = Problem.of(probabilities, labels, sample_weight=sample_weight, classes=classes)
    return find_optimum(problem, settings, began, progress=progress)
