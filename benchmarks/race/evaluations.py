"""The objective at weight indices: in plain NumPy, and compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from benchmarks.race.plain_objective import PlainObjective
from dnip.method.problem import Problem
from dnip.solvers import Landscape

if TYPE_CHECKING:
    from benchmarks.race.arena import Arena, ObjectiveFunction
    from dnip.base.typing import Floats, Labels, Probabilities, WeightIndices
    from dnip.method.objective import Objective


def plain_evaluation(
    probabilities: Probabilities, labels: Labels, objective: Objective
) -> ObjectiveFunction:
    """Return what a user would write in NumPy: reweight, argmax, confusion counts, value.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import Objective
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]])
    >>> z = plain_evaluation(p, np.array([0, 1, 0, 1]), Objective(beta=1.0, tau=0.0))
    >>> z(np.array([30, 30])), z(np.array([15, 30]))
    (1.5, 0.0)
    """
    n = probabilities.shape[1]
    cells = labels * n
    value = PlainObjective(labels, n, objective)

    def evaluate(indices: WeightIndices | Floats) -> float:
        predictions = np.argmax(probabilities * indices, axis=1)
        counts = np.bincount(cells + predictions, minlength=n * n).reshape(n, n)
        return float(value(counts))

    return evaluate


def evaluate_in_numpy(arena: Arena) -> ObjectiveFunction:
    """Return the evaluation that a user would write in NumPy."""
    return plain_evaluation(arena.probabilities, arena.labels, arena.objective)


def evaluate_on_kernels(arena: Arena) -> ObjectiveFunction:
    """Return this package's compiled evaluation."""
    problem = Problem.of(arena.probabilities, arena.labels)
    landscape = Landscape(problem, arena.objective, arena.scale, held={})
    return lambda indices: landscape.evaluate(indices).value
