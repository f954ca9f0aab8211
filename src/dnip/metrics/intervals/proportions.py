"""Intervals of proportions, of their mean, and of their difference on the same rows."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dnip.base.typing import Floats


def z_score(level: float) -> float:
    """Return how many standard deviations hold a normal variable with this probability.

    Examples
    --------
    >>> round(z_score(0.9), 3)
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
    z = z_score(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(n > 0, k / n, np.nan)
    middle = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(np.maximum(n * p * (1 - p), 0) + z * z / 4)
    bounds = np.stack([np.maximum(middle - half, 0), np.minimum(middle + half, 1)], axis=-1)
    bounds[k == 0, 0] = 0
    bounds[k == n, 1] = 1
    bounds[n == 0] = np.nan
    return np.asarray(bounds)


def mean_bounds(hits: Floats, sizes: Floats, level: float) -> tuple[float, float]:
    """Return the interval of the unweighted mean of independent proportions.

    The distances of each proportion from its Wilson limits add up in squares.

    References
    ----------
    Zou, Huang and Zhang, "A note on confidence interval estimation for a linear function of
    binomial proportions" (2009).

    Examples
    --------
    >>> low, high = mean_bounds(np.array([8.0, 6.0]), np.array([10.0, 10.0]), 0.9)
    >>> round(low, 2), round(high, 2)
    (0.52, 0.82)
    """
    p = hits / sizes
    low, high = wilson(hits, sizes, level).T
    below, above = (np.sqrt(((p - limit) ** 2).sum()) / len(p) for limit in (low, high))
    return float(p.mean() - below), float(p.mean() + above)


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
    half = z_score(level) * np.sqrt((up + down - (up - down) ** 2) / (n + 2))
    bounds = np.stack([up - down - half, up - down + half], axis=-1).clip(-1, 1)
    bounds[n == 0] = np.nan
    return np.asarray(bounds)
