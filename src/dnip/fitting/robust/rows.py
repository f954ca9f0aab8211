"""Rows to count class accuracies on: labelled ones, and unlabelled ones in expectation."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from dnip.method.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Floats, Integers, Labels, Probabilities

# How many labels the expected accuracy of a class counts as. Its error is about 0.09, as is that of
# the accuracy on 30 labels.
_EXPECTED_LABELS = 30.0
# Smaller memberships are left out: they are many rows that hardly count.
_LEAST_MEMBERSHIP = 0.005


class CountedRows(NamedTuple):
    """Rows, the class of each, and how many labels each counts as.

    Examples
    --------
    >>> p = np.array([[0.8, 0.2], [0.4, 0.6]])
    >>> labelled = CountedRows(p, np.array([0, 1]), np.ones(2))
    >>> both = labelled.and_expected(p[:1], np.array([[0.75, 0.25]]), np.ones(1))
    >>> both.labels, both.counts
    (array([0, 1, 0, 1]), array([ 1.,  1., 30., 30.]))
    """

    probabilities: Probabilities  # (R, N)
    labels: Labels  # (R,)
    counts: Floats  # (R,)

    def and_expected(
        self, probabilities: Probabilities, membership: Probabilities, weight: Floats
    ) -> Self:
        """Add rows with known class probabilities: each counts for every class that it may be.

        The accuracy of a class is then a mean of the accuracy on its labels and of the expected
        accuracy on these rows, which counts as 30 labels.

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
        counts = _EXPECTED_LABELS * part / np.bincount(label, part, n_classes)[label]
        return type(self)(
            np.concatenate([self.probabilities, probabilities[row]]),
            np.concatenate([self.labels, label]),
            np.concatenate([self.counts, counts]),
        )

    def as_problem(self, classes: Sequence[str], shares: Floats) -> Problem:
        """Return the rows as a problem whose classes have the given shares."""
        support = np.bincount(self.labels, self.counts, len(classes))
        part = np.where(support > 0, shares, 0.0) / np.where(support > 0, support, 1.0)
        counts = self.counts * part[self.labels] * (support.sum() / (part * support).sum())
        return Problem.trusted(self.probabilities, self.labels, classes, counts)


def draw_per_class(labels: Labels, n_classes: int, rng: np.random.Generator, most: int) -> Integers:
    """Return row numbers in ascending order: all rows of a class, or a sample of `most`.

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
