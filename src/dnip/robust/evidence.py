"""All evidence on class accuracies as weighted rows: labels, and unlabelled rows in expectation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from dnip.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.typing import Floats, Labels, Probabilities

# Labels that the expected accuracy of a class counts for: it is off by 0.06 or so, as the mean of
# 80 labels is.
_EXPECTED_LABELS = 80.0
# Memberships below this are drawn to be this or nothing: fewer rows, the same mass on average.
_LEAST_MEMBERSHIP = 0.1
# Log-odds within which a row is near the border of its class.
_NEAR = 1.0
# Keeps quotients of nothing by nothing at nothing.
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows, each of one class and with a mass in examples.

    Attributes
    ----------
    probabilities : ndarray of shape (R, N)
    labels : ndarray of shape (R,)
    mass : ndarray of shape (R,)
    target : ndarray of shape (N,), optional
        Class shares where the weights will be used, if they are known: the rows of a class count
        as a part of the error that is its share, whatever mass they have.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
    >>> labelled = Evidence(p, np.array([0, 1, 1]), np.ones(3))
    >>> labelled.class_means(np.array([1.0, 1.0, 0.0]), n_classes=2)
    array([1. , 0.5])
    """

    probabilities: Probabilities
    labels: Labels
    mass: Floats
    target: Floats | None = None

    def and_expected(
        self, probabilities: Probabilities, membership: Probabilities, rng: np.random.Generator
    ) -> Self:
        """Add rows whose class is known in probability: each counts for every class it may be.

        The accuracy of a class under any weights is then the posterior mean of the true one: that
        of its labels, drawn to that expected of the added rows, which counts as 80 labels.

        Parameters
        ----------
        probabilities, membership : ndarray of shape (M, N)
            Class probabilities of the rows, and how probably they are of each class.
        rng : numpy.random.Generator
            For memberships that are next to nothing.
        """
        n_classes = membership.shape[1]
        present = np.bincount(self.labels, minlength=n_classes) > 0
        parts = membership * present  # a class without labels is not fitted
        row, label = np.nonzero(parts > _LEAST_MEMBERSHIP * rng.random(parts.shape))
        part = np.maximum(parts[row, label], _LEAST_MEMBERSHIP)
        mass = _EXPECTED_LABELS * part / np.bincount(label, part, n_classes)[label]
        return type(self)(
            np.vstack([self.probabilities, probabilities[row]]),
            np.concatenate([self.labels, label]),
            np.concatenate([self.mass, mass]),
        )

    def as_problem(self, classes: Sequence[str]) -> Problem:
        """Return the rows as a problem to search on."""
        mass = self.mass
        if self.target is not None:
            support = self._support(len(classes))
            mass = mass * (self.target / np.maximum(support, _TINY))[self.labels] * mass.sum()
        return Problem.of(self.probabilities, self.labels, sample_weight=mass, classes=classes)

    def class_means(self, values: Floats, n_classes: int) -> Floats:
        """Return the mean of a value of every row over each class; 0 for a class without rows."""
        totals = np.bincount(self.labels, self.mass * values, n_classes)
        return np.asarray(totals / np.maximum(self._support(n_classes), _TINY))

    def slopes(self, log_odds: Floats) -> Floats:
        """Return the accuracy of each class that a unit of log-odds moves, shape (N,), above 0.

        Parameters
        ----------
        log_odds : ndarray of shape (R, N)
            Calibrated scores of the rows, up to a constant of each.
        """
        n_classes = log_odds.shape[1]
        rows = np.arange(len(self.labels))
        rivals = log_odds.copy()
        rivals[rows, self.labels] = -np.inf
        near = np.abs(log_odds[rows, self.labels] - rivals.max(axis=1)) < _NEAR
        moved = np.bincount(self.labels, self.mass * near, n_classes) + 0.5
        return np.asarray(moved / (self._support(n_classes) + 1) / (2 * _NEAR))

    def accuracy_gain(self, multipliers: Floats, shares: Floats) -> tuple[float, float, float]:
        """Return the accuracy under weights, its gain over the raw argmax, and the gain's error.

        Parameters
        ----------
        multipliers : ndarray of shape (N,)
            Weights, up to a common factor.
        shares : ndarray of shape (N,)
            How frequent each class is where the weights will be used.

        Returns
        -------
        accuracy, gain, standard_error : float
        """
        n_classes = len(shares)
        right = ((multipliers * self.probabilities).argmax(axis=1) == self.labels).astype(
            np.float64
        )
        gain = right - (self.probabilities.argmax(axis=1) == self.labels)
        support = self._support(n_classes)
        part = shares * (support > 0) / shares[support > 0].sum()
        mean = self.class_means(gain, n_classes)
        variance = self.class_means(gain**2, n_classes) - mean**2
        error = np.sqrt(part**2 @ (variance / np.maximum(support, _TINY)))
        return float(part @ self.class_means(right, n_classes)), float(part @ mean), float(error)

    def _support(self, n_classes: int) -> Floats:
        return np.bincount(self.labels, self.mass, n_classes).astype(np.float64)
