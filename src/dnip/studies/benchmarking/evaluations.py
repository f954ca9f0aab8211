"""The objective at weight indices: in plain NumPy, and compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.method.problem import Problem
from dnip.solvers import Landscape

if TYPE_CHECKING:
    from dnip.base.typing import Counts, Floats, Labels, Probabilities, WeightIndices
    from dnip.method.objective import Objective
    from dnip.studies.benchmarking.arena import Arena, ObjectiveFunction


class PlainObjective:
    """Z in plain NumPy: reweight, argmax, confusion counts, value.

    What does not depend on the weights is computed once. Every class must have examples.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.
    objective : Objective
        Its β, τ and μ are used.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import Objective
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]])
    >>> z = PlainObjective(p, np.array([0, 1, 0, 1]), Objective(beta=1.0, tau=0.0))
    >>> z(np.array([30, 30])), z(np.array([15, 30]))
    (1.5, 0.0)
    """

    def __init__(self, probabilities: Probabilities, labels: Labels, objective: Objective) -> None:
        self._p = probabilities
        self._n_rows, self._n = probabilities.shape
        self._label_cells = labels * self._n
        self._beta, self._tau = objective.beta, objective.tau
        self._mu = objective.smoothing_over(self._n_rows)
        self._true = np.bincount(labels, minlength=self._n)
        n, m, mu = self._n, self._n_rows, self._mu
        # Σ_{i<j} |A_i - A_j| = Σ_i (2i - n + 1) A_i over ascending A
        self._ranks = (2 * np.arange(n) - n + 1) / (n * (n - 1) / 2)
        self._pmi_constant = float(
            n * (2 * np.log(m + mu * n) - np.log(m + mu * n * n)) - np.log(self._true + mu).sum()
        )

    def __call__(self, indices: WeightIndices | Floats) -> float:
        """Return Z at weight indices of shape (N,)."""
        return self.at(np.argmax(self._p * indices, axis=1))

    def at(self, predictions: Labels) -> float:
        """Return Z of predictions of shape (M,)."""
        n = self._n
        counts = np.bincount(self._label_cells + predictions, minlength=n * n)
        return self.of(counts.reshape(n, n))

    def of(self, confusion: Counts) -> float:
        """Return Z of confusion counts of shape (N, N)."""
        correct = confusion.diagonal()
        cobias = self._ranks @ np.sort(correct / self._true)
        pmi = np.log((correct + self._mu) / (confusion.sum(axis=0) + self._mu)).sum()
        error = 1 - correct.sum() / self._n_rows
        return float(error + self._beta * cobias - self._tau * (pmi + self._pmi_constant))


def evaluate_in_numpy(arena: Arena) -> ObjectiveFunction:
    """Return the evaluation that a user would write in NumPy."""
    return PlainObjective(arena.probabilities, arena.labels, arena.objective)


def evaluate_on_kernels(arena: Arena) -> ObjectiveFunction:
    """Return this package's compiled evaluation."""
    problem = Problem.of(arena.probabilities, arena.labels)
    landscape = Landscape(problem, arena.objective, arena.scale, held={})
    return lambda indices: landscape.stand(indices).value
