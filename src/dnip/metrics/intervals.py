"""The confidence interval of each metric, and of what changes between two sets of weights."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.typing import Counts, Floats
from dnip.base.validation import check_level
from dnip.metrics.confusion import cobias_of
from dnip.metrics.expectation import SingleGap, central, draw_accuracies, hits_and_sizes
from dnip.metrics.gaps import GapTest, difference_of, gap_correlation


def _z_score(level: float) -> float:
    """Return how many standard deviations hold a normal variable with this probability.

    Examples
    --------
    >>> round(_z_score(0.9), 3)
    1.645
    """
    return NormalDist().inv_cdf((1 + level) / 2)


def wilson(hits: ArrayLike, sizes: ArrayLike, level: float) -> Floats:
    """Return the score interval of proportions.

    It keeps its level on few rows, unlike plain resampling: 5 right of 5 give [0.65, 1], where
    resampling gives [1, 1].

    Parameters
    ----------
    hits, sizes : array-like of shape (N,)
        Successes and trials.
    level : float
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (N, 2)
        Low and high; ``nan`` where there were no trials.

    References
    ----------
    Wilson, "Probable inference, the law of succession, and statistical inference" (1927); Brown,
    Cai and DasGupta, "Interval estimation for a binomial proportion" (2001).

    Examples
    --------
    >>> wilson([5, 30], [5, 60], 0.9).round(2)
    array([[0.65, 1.  ],
           [0.4 , 0.6 ]])
    """
    k, n = (np.asarray(counts, dtype=np.float64) for counts in (hits, sizes))
    z = _z_score(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(n > 0, k / n, np.nan)
    middle = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(np.maximum(n * p * (1 - p), 0) + z * z / 4)
    bounds = np.stack([np.maximum(middle - half, 0), np.minimum(middle + half, 1)], axis=-1)
    bounds[k == 0, 0] = 0
    bounds[k == n, 1] = 1
    bounds[n == 0] = np.nan
    return np.asarray(bounds)


def paired_bounds(gained: ArrayLike, lost: ArrayLike, sizes: ArrayLike, level: float) -> Floats:
    """Return the interval of the difference of two proportions on the same rows.

    Only rows that one of both got right count. One row is added to either side, so that none in a
    few rows does not mean none at all.

    Parameters
    ----------
    gained, lost : array-like of shape (N,)
        Rows that only the second, and that only the first got right.
    sizes : array-like of shape (N,)
        All rows.
    level : float

    Returns
    -------
    ndarray of shape (N, 2)
        Of second less first; ``nan`` where there were no rows.

    References
    ----------
    Bonett and Price, "Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data" (2012).

    Examples
    --------
    >>> paired_bounds([12], [3], [100], 0.9).round(3)
    array([[0.023, 0.153]])
    """
    b, c, n = (np.asarray(counts, dtype=np.float64) for counts in (gained, lost, sizes))
    up, down = (b + 1) / (n + 2), (c + 1) / (n + 2)
    half = _z_score(level) * np.sqrt((up + down - (up - down) ** 2) / (n + 2))
    bounds = np.stack([up - down - half, up - down + half], axis=-1).clip(-1, 1)
    bounds[n == 0] = np.nan
    return np.asarray(bounds)


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
        return list(map(float, wilson([right.sum()], [n], level)[0]))
    centre = min(max(value - (n - 1) * mean, value / 2), (1 + value) / 2)
    factor = float(np.exp(_z_score(level) * np.sqrt(variance) / (centre * (1 - centre))))
    odds = centre / (1 - centre)
    low, high = odds / factor, odds * factor
    return [float(low / (1 + low)), float(high / (1 + high))]


#: Draws of class accuracies for a worst class.
_DRAWS = 2_000
# The ends of two intervals are less correlated than the values. Measured: with the whole
# correlation, 90 % intervals hold the change of COBias 83 % of the time; with half of it, 88 %.
_TOGETHER = 0.5
# The draws are the same at every call.
_SEED = 0

#: The metrics whose change on the same rows has an interval.
PAIRED = ("accuracy", "cobias")

#: Low and high.
Interval = list[float]


def accuracy_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of the accuracy."""
    hits, sizes = hits_and_sizes(confusion)
    return list(map(float, wilson([hits.sum()], [sizes.sum()], level)[0]))


def class_accuracy_intervals(confusion: Counts, level: float) -> list[Interval | None]:
    """Return the interval of each class accuracy; None for a class without rows."""
    sizes = confusion.sum(axis=1)
    bounds = wilson(np.diag(confusion), sizes, level).tolist()
    return [ends if size else None for ends, size in zip(bounds, sizes, strict=True)]


def balanced_accuracy_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of the unweighted mean of the class accuracies.

    The distances of each from its Wilson limits add up in squares.

    References
    ----------
    Zou, Huang and Zhang, "A note on confidence interval estimation for a linear function of
    binomial proportions" (2009).

    Examples
    --------
    >>> [round(end, 2) for end in balanced_accuracy_interval(np.array([[8, 2], [4, 6]]), 0.9)]
    [0.52, 0.82]
    """
    hits, sizes = hits_and_sizes(confusion)
    p, ends = hits / sizes, wilson(hits, sizes, level).T
    below, above = (np.sqrt(((p - end) ** 2).sum()) / len(p) for end in ends)
    return [float(p.mean() - below), float(p.mean() + above)]


def worst_class_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of the lowest class accuracy, from draws of all of them."""
    worst = draw_accuracies(*hits_and_sizes(confusion), _DRAWS, _rng()).min(axis=1)
    return central(worst, level)


def cobias_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of COBias."""
    bounds = _cobias_test(*hits_and_sizes(confusion), level).bounds(level)
    return [bounds.low, bounds.high]


def cobias_single_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of COBias_single, given the odd classes of these rows."""
    test = GapTest(*hits_and_sizes(confusion), SingleGap(confusion), _rng(), level)
    bounds = test.bounds(level)
    return [bounds.low, bounds.high]


def effective_rows(support: Floats, target: Floats) -> float:
    """Return how many equally weighted rows tell the error rate as precisely: (Σ w)² / Σ w².

    Parameters
    ----------
    support : ndarray of shape (N,)
        Labelled rows of each class.
    target : ndarray of shape (N,)
        Class shares that they are weighed to (Kish 1965).

    Examples
    --------
    >>> effective_rows(np.array([3.0, 1.0]), np.array([0.5, 0.5]))
    3.0
    """
    counted = (support > 0) & (target > 0)
    shares = target[counted] / target[counted].sum()
    return float(1 / (shares**2 / support[counted]).sum())


def accuracy_change(agreement: Counts, level: float, target: Floats | None = None) -> Interval:
    """Return the interval of what changes in accuracy between two sets of weights.

    Parameters
    ----------
    agreement, level, target
        As for `difference_intervals`.

    Examples
    --------
    >>> agreement = np.array([[[2, 2], [8, 88]], [[30, 40], [2, 28]]])
    >>> [round(bound, 2) for bound in accuracy_change(agreement, 0.9)]
    [0.1, 0.22]
    """
    sizes = agreement.sum(axis=(1, 2))
    shares, n_effective = sizes.astype(np.float64), float(sizes.sum())
    if target is not None:
        shares, n_effective = target * (sizes > 0), effective_rows(sizes, target)
    weight = shares / shares.sum() * n_effective / np.maximum(sizes, 1)
    gained, lost = weight @ agreement[:, 0, 1], weight @ agreement[:, 1, 0]
    return list(map(float, paired_bounds([gained], [lost], [n_effective], level)[0]))


def difference_intervals(
    agreement: Counts, level: float = 0.9, target: Floats | None = None
) -> dict[str, Any]:
    """Return the intervals of what changes between two sets of weights on the same rows.

    Parameters
    ----------
    agreement : ndarray of shape (N, 2, 2)
        Rows of each class by whether the first and whether the second set got them right.
    level : float, default=0.9
    target : ndarray of shape (N,), optional
        Class shares that the accuracy is for; classes without a share do not count.

    Returns
    -------
    dict
        ``[low, high]`` of second less first for ``accuracy`` and ``cobias``, and a list of them,
        None for a class without rows, under ``class_accuracies``.

    Examples
    --------
    >>> agreement = np.array([[[2, 2], [8, 88]], [[30, 40], [2, 28]]])
    >>> intervals = difference_intervals(agreement)
    >>> [round(bound, 2) for bound in intervals["accuracy"]]
    [0.1, 0.22]
    >>> [round(bound, 2) for bound in intervals["cobias"]]
    [-0.55, -0.31]
    """
    check_level("confidence", level)
    if target is not None:
        agreement = agreement * (target > 0)[:, None, None]
    sizes = agreement.sum(axis=(1, 2)).astype(np.float64)
    gained, lost = agreement[:, 0, 1], agreement[:, 1, 0]
    present = np.flatnonzero(sizes)
    by_class = paired_bounds(gained, lost, sizes, level).tolist()
    first, second = agreement[:, 1, :].sum(axis=1), agreement[:, :, 1].sum(axis=1)
    before, after = (
        _cobias_test(hits[present].astype(np.float64), sizes[present], level).bounds(level)
        for hits in (first, second)
    )
    together = gap_correlation(agreement[present], before.middle, after.middle, cobias_of, _rng())
    change = difference_of(before, after, _TOGETHER * together)
    return {
        "accuracy": accuracy_change(agreement, level, target),
        "cobias": [change.low, change.high],
        "class_accuracies": [by_class[c] if n else None for c, n in enumerate(sizes)],
    }


def _cobias_test(hits: Floats, sizes: Floats, level: float = 0.9) -> GapTest:
    """Return the test that gives intervals of COBias, at levels up to this one.

    Examples
    --------
    >>> bounds = _cobias_test(np.array([45.0, 30.0]), np.array([50.0, 50.0])).bounds(0.9)
    >>> round(bounds.low, 2), round(bounds.high, 2)
    (0.15, 0.43)
    """
    return GapTest(hits, sizes, cobias_of, _rng(), level)


def _rng() -> np.random.Generator:
    return np.random.default_rng(_SEED)
