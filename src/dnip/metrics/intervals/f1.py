"""The interval of macro-F1, a smooth function of the confusion matrix: the jackknife."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.metrics.intervals.proportions import wilson, z_score

if TYPE_CHECKING:
    from dnip.base.typing import Counts


def macro_f1_interval(confusion: Counts, level: float) -> list[float]:
    """Return the interval of macro-F1: one row left out at a time, on the scale of log-odds.

    The jackknife also estimates the bias of few rows, and the interval is shifted by it. All rows
    of a cell are alike, so one step per cell is enough. Without any error, or without any success,
    the interval of the accuracy is returned.

    Parameters
    ----------
    confusion : ndarray of shape (N, N)
        Counts, rows true, columns predicted.
    level : float

    References
    ----------
    Efron and Stein, "The jackknife estimate of variance" (1981).

    Examples
    --------
    >>> low, high = macro_f1_interval(np.array([[40, 10], [10, 40]]), 0.9)
    >>> round(low, 2), round(high, 2)
    (0.73, 0.86)
    """
    counts = np.asarray(confusion, dtype=np.float64)
    n = counts.sum()
    right, size = np.diag(counts), counts.sum(axis=0) + counts.sum(axis=1)
    n_seen = np.count_nonzero(size)
    f1 = 2 * right / np.maximum(size, 1)
    # what leaving out a row changes: an error counts in the sizes of two classes
    without_error = 2 * right / np.maximum(size - 1, 1) - f1
    change = without_error[:, None] + without_error
    np.fill_diagonal(change, 2 * np.maximum(right - 1, 0) / np.maximum(size - 2, 1) - f1)
    change /= n_seen
    mean = float((counts * change).sum() / n)
    variance = (n - 1) / n * float((counts * (change - mean) ** 2).sum())
    value = float(f1.sum()) / n_seen
    if not 0 < value < 1:
        bounds: list[float] = wilson([right.sum()], [n], level)[0].tolist()
        return bounds
    centre = min(max(value - (n - 1) * mean, value / 2), (1 + value) / 2)
    factor = float(np.exp(z_score(level) * np.sqrt(variance) / (centre * (1 - centre))))
    odds = centre / (1 - centre)
    low, high = odds / factor, odds * factor
    return [float(low / (1 + low)), float(high / (1 + high))]
