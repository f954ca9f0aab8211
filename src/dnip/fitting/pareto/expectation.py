"""The COBias to expect on new rows, where class accuracies are known from few rows."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from dnip.metrics import class_accuracies

if TYPE_CHECKING:
    from dnip.base.typing import Counts


def expected_cobias(confusion: Counts) -> float:
    """Return the expected COBias of new rows: the mean expected gap over pairs of classes.

    An accuracy a from n rows has a standard error of about √(a(1−a)/n). Weights that make measured
    accuracies equal leave the true ones apart by about as much. The expected gap is the mean
    absolute value of a normal variable around the measured difference.

    Parameters
    ----------
    confusion : ndarray of shape (N, N)
        Counts, rows true.

    Examples
    --------
    >>> few, many = np.array([[6, 4], [4, 6]]), np.array([[600, 400], [400, 600]])
    >>> round(expected_cobias(few), 3), round(expected_cobias(many), 3)
    (0.176, 0.017)
    """
    size = np.asarray(confusion.sum(axis=1), np.float64)
    rates = class_accuracies(confusion)
    present = np.flatnonzero(size > 0)
    hedged = (np.diag(confusion) + 1) / (size + 2)  # a rate of 0 or 1 is uncertain too
    with np.errstate(divide="ignore"):
        variance = hedged * (1 - hedged) / size
    gaps = [
        _folded_mean(float(rates[i] - rates[j]), float(variance[i] + variance[j]))
        for i, j in itertools.combinations(present.tolist(), 2)
    ]
    return math.fsum(gaps) / len(gaps)


def _folded_mean(mean: float, variance: float) -> float:
    """Return the mean of the absolute value of a normal variable, at most 1."""
    deviation = math.sqrt(variance)
    tail = math.exp(-(mean**2) / (2 * variance))
    beyond = mean * math.erf(mean / (deviation * math.sqrt(2)))
    return min(deviation * math.sqrt(2 / math.pi) * tail + beyond, 1.0)
