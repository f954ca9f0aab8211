"""What one choice of weights does on labelled rows, as counts that a page can draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.method.prediction import decide, reweight
from dnip.metrics import accuracy, class_accuracies, cobias, worst_class_accuracy
from dnip.metrics.confusion import count_pairs
from dnip.metrics.intervals import wilson

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers, Labels, Probabilities

#: Bars of a histogram of probabilities.
BINS = 20


@dataclass(frozen=True, eq=False)
class Measured:
    """Counts of labelled rows under one choice of weights.

    Attributes
    ----------
    confusion : ndarray of shape (N, N)
        Rows true, columns predicted.
    own : ndarray of shape (N, BINS)
        For each class, how many of its rows give it a probability in each bin from 0 to 1.
    sure : ndarray of shape (2, BINS)
        How many wrong and how many right decisions have a probability in each bin.
    """

    confusion: Confusion
    own: Integers
    sure: Integers

    def to_dict(self, level: float) -> dict[str, Any]:
        """Return counts, metrics and Wilson intervals of class accuracies, ready for JSON.

        Parameters
        ----------
        level : float
            Of the intervals, between 0 and 1.
        """
        rates = class_accuracies(self.confusion)
        bounds = wilson(np.diag(self.confusion), self.confusion.sum(axis=1), level)
        return {
            "accuracy": round(accuracy(self.confusion), 4),
            "cobias": round(cobias(self.confusion), 4),
            "worst": round(worst_class_accuracy(self.confusion), 4),
            "rates": [
                None if np.isnan(rate) else [round(float(value), 4) for value in (rate, *ends)]
                for rate, ends in zip(rates, bounds, strict=True)
            ],
            "confusion": [_sparse(row) for row in self.confusion],
            "own": self.own.tolist(),
            "sure": self.sure.tolist(),
        }


def measure(probabilities: Probabilities, labels: Labels, multipliers: Floats) -> Measured:
    """Count labelled rows under weights.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.
    multipliers : ndarray of shape (N,)
        What probabilities are multiplied by; ones for the plain argmax.

    Examples
    --------
    >>> p, y = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1])
    >>> found = measure(p, y, np.array([1.0, 2.0]))
    >>> found.confusion
    array([[1, 0],
           [0, 1]])
    """
    n_rows, n_classes = probabilities.shape
    predicted = decide(probabilities, multipliers)
    new = reweight(probabilities, multipliers)
    rows = np.arange(n_rows)
    return Measured(
        count_pairs(labels, predicted, n_classes, n_classes),
        count_pairs(labels, _bin(new[rows, labels]), n_classes, BINS),
        count_pairs(predicted == labels, _bin(new[rows, predicted]), 2, BINS),
    )


def _bin(values: Floats) -> Integers:
    return np.minimum((values * BINS).astype(np.int64), BINS - 1)


def _sparse(row: Integers) -> list[int]:
    """Return places and counts, one after the other, without zeros: most of many classes are 0."""
    places = np.flatnonzero(row)
    return np.column_stack([places, row[places]]).ravel().tolist()
