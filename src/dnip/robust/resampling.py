"""How far the optimum would have moved on other rows: the Bayesian bootstrap."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dnip.errors import DNIPWarning
from dnip.solvers import Coordinate, Search

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnip.constraints import Constraints
    from dnip.objective import ObjectiveLike
    from dnip.robust.evidence import Evidence
    from dnip.scales import WeightScale
    from dnip.typing import Floats

#: Resamples of a robust fit.
SAMPLES = 8
# A resample needs a good optimum, not the best: noise is what it is drawn for.
_EFFORT = 0.3


def resampled_optima(
    evidence: Evidence,
    goal: ObjectiveLike,
    classes: Sequence[str],
    scale: WeightScale,
    rng: np.random.Generator,
    time_limit: float | None = None,
    absent: Collection[int] = (),
    constraints: Constraints | None = None,
) -> Floats:
    """Return the log-weights of optima of the same rows under random masses (Rubin 1981).

    Each search takes `time_limit` seconds at most.

    Returns
    -------
    ndarray of shape (8, N)
        Each with mean 0.
    """
    search = Search(
        goal,
        scale,
        Coordinate(_EFFORT),
        time_limit=time_limit,
        absent=absent,
        constraints=constraints,
    )
    optima = np.empty((SAMPLES, len(classes)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # the search for the optimum itself has told
        for optimum in optima:
            mass = evidence.mass * rng.standard_exponential(len(evidence.mass))
            problem = replace(evidence, mass=mass).as_problem(classes)
            optimum[:] = np.log(search.solve(problem, time.perf_counter()).weights)
    return np.asarray(optima - optima.mean(axis=1, keepdims=True))


def repeatable_part(optima: Floats, smooth: Floats) -> float:
    """Return how much of the way from the smooth estimator to the optimum is no chance, 0..1.

    One less the mean variance of the optima over the mean squared way (James and Stein 1961).

    Parameters
    ----------
    optima : ndarray of shape (R, N)
    smooth : ndarray of shape (N,)
        Log-weights.

    Examples
    --------
    >>> round(repeatable_part(np.array([[0.5, -0.5], [0.7, -0.7]]), np.zeros(2)), 2)
    0.94
    """
    way = optima.mean(axis=0) - (smooth - smooth.mean())
    chance = optima.var(axis=0, ddof=1).mean()
    return max(0.0, 1 - float(chance) / max(float((way**2).mean()), np.finfo(np.float64).tiny))
