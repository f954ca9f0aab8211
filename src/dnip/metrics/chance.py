"""What rows say beyond chance: of their classes, and of another sample."""

from __future__ import annotations

import math

import numpy as np

from dnip.base.typing import Floats, Integers, Labels, Probabilities

# How probable it may be that chance alone is taken for a signal.
_LEVEL = 0.02

# Of twice as many rows, and so many besides the most frequent class, nothing found is a sign.
_LEAST_ROWS = 20

#: Of more rows or cells a sample is taken.
MOST_ROWS, MOST_CELLS = 5_000, 1_000_000
_SHUFFLES, _SEED = 249, 0x516
_LEAST_PROBABILITY = 1e-7

# Terms of the series of Kolmogorov's distribution: the next is below 1e-80.
_TERMS = np.arange(1, 11)

# Of the series of the beta function, enough for samples of 20,000 rows.
_TERMS_OF_BETA = 200_000

# Directions with less than this part of the largest variance are rounding errors.
_LEAST_VARIANCE = 1e-8


def has_signal(probabilities: Probabilities, labels: Labels) -> bool | None:
    """Return whether classes are more probable on their own rows than on others, beyond chance.

    A class whose probabilities rank its own rows above the others has a positive score z, that of
    the rank-sum test (Mann and Whitney 1947). Ranks are the mean of those of p and of ln p less its
    mean over the classes, which finds more than either. The sum of max(z, 0)² over classes is
    compared with the same under shuffled labels, so the level is exact. Only the order of rows
    counts, so a model that always answers the same may have a signal.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.

    Returns
    -------
    bool or None
        None where nothing is found in fewer than 40 rows, or 20 besides the most frequent class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p, y = rng.dirichlet([1, 1, 1], 300), np.arange(300) % 3
    >>> has_signal(p, y), has_signal(p, p.argmax(axis=1)), has_signal(p[:9], y[:9])
    (False, True, None)
    """
    n_classes, rng = probabilities.shape[1], np.random.default_rng(_SEED)
    n_rows = min(len(labels), MOST_ROWS, max(MOST_CELLS // n_classes, 1))
    if n_rows < len(labels):
        drawn = np.sort(rng.choice(len(labels), n_rows, replace=False))
        probabilities, labels = probabilities[drawn], labels[drawn]
    sizes = np.bincount(labels, minlength=n_classes)
    spread = np.sqrt(sizes * (n_rows - sizes) / max(n_rows - 1, 1))
    log_p = np.log(np.maximum(probabilities, _LEAST_PROBABILITY))
    scores = probabilities, log_p - log_p.mean(axis=1, keepdims=True)
    ranks = np.mean([[_ranks(column) for column in values.T] for values in scores], axis=0).T

    def strength(y: Integers) -> float:
        sums = np.bincount(y, ranks[np.arange(n_rows), y], n_classes)
        return float((np.maximum(sums[spread > 0] / spread[spread > 0], 0) ** 2).sum())

    strongest, n_present = strength(labels), np.count_nonzero(spread)
    # the mean of z² by chance is 1 at most, so no shuffles are needed (Markov's inequality)
    if strongest * _LEVEL >= n_present > 0:
        return True
    as_strong = 1  # these labels themselves
    for _ in range(_SHUFFLES):
        # rounding may set equal sums apart
        as_strong += strength(rng.permutation(labels)) >= strongest * (1 - 1e-9)
        if as_strong > _LEVEL * (_SHUFFLES + 1):
            return False if min(n_rows // 2, n_rows - sizes.max()) >= _LEAST_ROWS else None
    return True


def _ranks(column: Floats) -> Floats:
    """Return ranks with mean 0 and standard deviation 1; equal values have equal ranks."""
    order = np.sort(column)
    ranks = np.searchsorted(order, column) + np.searchsorted(order, column, side="right")
    spread = ranks.std()
    return np.asarray((ranks - ranks.mean()) / (spread if spread > 0 else 1.0))


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


def rates_p_value(first: float, n_first: float, second: float, n_second: float) -> float:
    """Return the p value of two rates being equal: the normal test, with Yates' correction.

    Parameters
    ----------
    first, second : float
        The rates, 0..1.
    n_first, n_second : float
        Rows of either. A weighted sample counts as (Σw)²/Σw² rows (Kish 1965).

    Examples
    --------
    >>> round(rates_p_value(0.4, 50, 0.6, 50), 3), rates_p_value(0.0, 50, 0.0, 50)
    (0.072, 1.0)
    """
    sizes = 1 / n_first + 1 / n_second
    rate = (n_first * first + n_second * second) / (n_first + n_second)
    spread = math.sqrt(rate * (1 - rate) * sizes)
    away = abs(first - second) - sizes / 2
    return math.erfc(away / spread / math.sqrt(2)) if away > 0 and spread > 0 else 1.0


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
    counted = variances > _LEAST_VARIANCE * max(float(variances[-1]), _LEAST_VARIANCE)
    dimensions = int(counted.sum())
    difference = directions.T @ (second.mean(axis=0) - mean)
    if not 0 < dimensions < n - 1:
        return 1.0
    squared = float((difference[counted] ** 2 / variances[counted]).sum()) / (1 / n + 1 / n_first)
    left = n - dimensions
    return _f_tail(squared * left / (dimensions * (n - 1)), dimensions, left)


def _f_tail(ratio: float, first: float, second: float) -> float:
    """Return how probable a larger value of Fisher's F distribution is.

    Parameters
    ----------
    ratio : float
        At least 0.
    first, second : float
        Degrees of freedom.

    Examples
    --------
    >>> round(_f_tail(3.0, 3, 100), 4)
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
    front = math.exp(
        math.lgamma(a + b)
        - math.lgamma(a + 1)
        - math.lgamma(b)
        + a * math.log(x)
        + b * math.log1p(-x)
    )
    n = np.arange(_TERMS_OF_BETA)
    return front * (1 + float(np.cumprod(x * (a + b + n) / (a + 1 + n)).sum()))
