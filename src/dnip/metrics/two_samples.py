"""Tests of whether two samples come from one distribution, from few numbers of the first."""

from __future__ import annotations

from math import exp, lgamma, log, log1p

import numpy as np

from dnip.base.typing import Floats

# Terms of the series of Kolmogorov's distribution: the next is below 1e-80.
_TERMS = np.arange(1, 11)

# Of the series of the beta function, enough for samples of 20,000 rows.
_TERMS_OF_BETA = 200_000

# Directions with less than this part of the largest variance are rounding errors.
_LEAST_PART = 1e-8


def smirnov_p_value(distance: float, n_first: float, n_second: float) -> float:
    """Return the p value of the test of Kolmogorov and Smirnov.

    Parameters
    ----------
    distance : float
        The largest difference of the distribution functions of the samples, 0..1. The largest one
        at some places alone gives a p value that is too large rather than too small.
    n_first, n_second : float
        Rows of either sample. A weighted sample counts as (Σw)²/Σw² rows (Kish 1965).

    Returns
    -------
    float
        By the series of Kolmogorov, with the correction of Stephens (1970) for few rows.

    Examples
    --------
    >>> smirnov_p_value(0.05, 500, 500) > 0.5, smirnov_p_value(0.2, 500, 500) < 1e-8
    (True, True)
    """
    root = np.sqrt(n_first * n_second / (n_first + n_second))
    scaled = distance * (root + 0.12 + 0.11 / root)
    if scaled < 0.2:  # the series converges slowly there, to 1
        return 1.0
    signs = np.where(_TERMS % 2, 2.0, -2.0)
    return float(np.clip(signs @ np.exp(-2 * (_TERMS * scaled) ** 2), 0.0, 1.0))


def hotelling_p_value(mean: Floats, n_first: float, second: Floats) -> float:
    """Return the p value of Hotelling's T² test of equal means.

    The covariance is that of the second sample, so that nothing but the mean of the first one is
    needed. The result is the same for every basis of the columns.

    Parameters
    ----------
    mean : ndarray of shape (D,)
        Of the first sample.
    n_first : float
        Its rows.
    second : ndarray of shape (M, D)

    Returns
    -------
    float
        1 if M is not above D + 1, for then the test is not possible.

    References
    ----------
    Hotelling, "The generalization of Student's ratio" (1931).

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> hotelling_p_value(np.zeros(3), 500, rows) > 0.05
    True
    >>> hotelling_p_value(np.full(3, 0.5), 500, rows) < 1e-6
    True
    """
    n = len(second)
    away = second - second.mean(axis=0)
    variances, directions = np.linalg.eigh(away.T @ away / (n - 1))
    kept = variances > _LEAST_PART * max(float(variances[-1]), _LEAST_PART)
    dimensions = int(kept.sum())
    difference = directions.T @ (second.mean(axis=0) - mean)
    if not 0 < dimensions < n - 1:
        return 1.0
    squared = float((difference[kept] ** 2 / variances[kept]).sum()) / (1 / n + 1 / n_first)
    left = n - dimensions
    return f_tail(squared * left / (dimensions * (n - 1)), dimensions, left)


def f_tail(ratio: float, first: float, second: float) -> float:
    """Return how probable a larger value of Fisher's F distribution is.

    Parameters
    ----------
    ratio : float
        At least 0.
    first, second : float
        Degrees of freedom.

    Examples
    --------
    >>> round(f_tail(3.0, 3, 100), 4)
    0.0342
    """
    x = second / (second + first * ratio)
    return _incomplete_beta(second / 2, first / 2, x)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Return I_x(a, b), by a series of positive terms (Abramowitz and Stegun 26.5.4)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # where the terms of the series would rise first
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = exp(lgamma(a + b) - lgamma(a + 1) - lgamma(b) + a * log(x) + b * log1p(-x))
    n = np.arange(_TERMS_OF_BETA)
    return front * (1 + float(np.cumprod(x * (a + b + n) / (a + 1 + n)).sum()))
