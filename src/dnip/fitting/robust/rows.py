"""Rows that class accuracies are counted on: labelled ones, and unlabelled ones in expectation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from dnip.method.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Floats, Integers, Labels, Probabilities

# How many labels the expected accuracy of a class is worth: it is off by about 0.09, as the
# accuracy on 30 labels is.
_EXPECTED_LABELS = 30.0
# Smaller memberships are left out: many rows, and hardly any mass.
_LEAST_MEMBERSHIP = 0.005


class CountedRows(NamedTuple):
    """Rows, each of one class, and how many labels each is worth.

    Examples
    --------
    >>> p = np.array([[0.8, 0.2], [0.4, 0.6]])
    >>> labelled = CountedRows(p, np.array([0, 1]), np.ones(2))
    >>> both = labelled.and_expected(p[:1], np.array([[0.75, 0.25]]), np.ones(1))
    >>> both.labels, both.mass
    (array([0, 1, 0, 1]), array([ 1.,  1., 30., 30.]))
    """

    probabilities: Probabilities  # (R, N)
    labels: Labels  # (R,)
    mass: Floats  # (R,)

    def and_expected(
        self, probabilities: Probabilities, membership: Probabilities, weight: Floats
    ) -> Self:
        """Add rows whose class is known in probability: each counts for every class it may be.

        A class accuracy is then the mean of that on its labels and of the expected one on these
        rows, which counts as 30 labels.

        Parameters
        ----------
        probabilities, membership : ndarray of shape (M, N)
            Class probabilities of the rows, and how probably each is of each class.
        weight : ndarray of shape (M,)
            How much each row counts.
        """
        n_classes = membership.shape[1]
        present = np.bincount(self.labels, minlength=n_classes) > 0
        row, label = np.nonzero((membership >= _LEAST_MEMBERSHIP) & present)
        part = membership[row, label] * weight[row]
        mass = _EXPECTED_LABELS * part / np.bincount(label, part, n_classes)[label]
        return type(self)(
            np.concatenate([self.probabilities, probabilities[row]]),
            np.concatenate([self.labels, label]),
            np.concatenate([self.mass, mass]),
        )

    def as_problem(self, classes: Sequence[str], shares: Floats) -> Problem:
        """Return the rows as a problem to search on, in which classes are as frequent as given."""
        support = np.bincount(self.labels, self.mass, len(classes))
        part = np.where(support > 0, shares, 0.0) / np.where(support > 0, support, 1.0)
        mass = self.mass * part[self.labels] * (support.sum() / (part * support).sum())
        return Problem.trusted(self.probabilities, self.labels, classes, mass)


def draw_per_class(labels: Labels, n_classes: int, rng: np.random.Generator, most: int) -> Integers:
    """Return ascending row numbers: all of a class, or a sample of so many.

    Examples
    --------
    >>> draw_per_class(np.array([0, 1, 1, 1]), 2, np.random.default_rng(0), most=1).size
    2
    """
    drawn = []
    for c in range(n_classes):
        rows = np.flatnonzero(labels == c)
        if len(rows) > most:
            rows = rng.choice(rows, most, replace=False)
        drawn.append(rows)
    return np.sort(np.concatenate(drawn))
