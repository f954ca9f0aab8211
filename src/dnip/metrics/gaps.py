"""Intervals of the gaps between class accuracies."""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, sqrt
from typing import NamedTuple

import numpy as np

from dnip.base.typing import Counts, Floats

#: From class accuracies (..., N) to how unequal they are (...,): 0 for equal ones. It grows when
#: all of them move away from their mean by the same factor.
Gap = Callable[["Floats"], "Floats"]

# True gaps that are tried, between which the answer is interpolated.
_STEPS = 24
# Draws of each: enough for the smallest tail, and fewer for many classes, as the mean over them
# varies little.
_LEAST_DRAWS, _MOST_DRAWS, _DRAWN_CELLS = 200, 4_000, 100_000
_TAIL_DRAWS = 30
# Draws for a correlation.
_PAIRED_DRAWS = 400
# How far the true gap may lie beyond the observed one, in standard deviations of one accuracy.
_REACH = 4.0
# Rows added as right and as wrong, so that a few rows without errors leave a chance of errors.
_PSEUDO = 0.1
_LEAST_DEVIATION = 1e-12
# Differences given to accuracies that are all equal.
_APART = 1e-3
_SEED = 0


class Bounds(NamedTuple):
    """A confidence interval and its middle, which is too low as often as too high."""

    low: float
    middle: float
    high: float


class GapTest:
    """Which true gaps rows of each class are compatible with, at any level.

    The gap of few rows is larger than the true one, as equally accurate classes differ by chance.
    Resampling the rows adds to it once more, so percentiles of the bootstrap nearly always miss a
    small true gap. Here, class accuracies are moved to a hypothetical gap, on the line from their
    mean through the observed ones, and rows are drawn from them. The hypothetical gap is kept if
    the observed gap lies in the central part of those drawn. Rows can look more equal than rows of
    equal classes usually do. Then the high end is computed relative to how rare such rows are, so
    that the interval does not shrink to zero.

    Parameters
    ----------
    hits, sizes : ndarray of shape (N,)
        Rows predicted right, and all rows, of each class; at least one row of each.
    gap : callable
        See `Gap`.
    rng : numpy.random.Generator
    level : float, default=0.9
        The highest level that bounds will be asked for.

    References
    ----------
    DiCiccio and Romano, "Nonparametric confidence limits by resampling methods and least favorable
    families" (1990); Read, "Presentation of search results: the CLs technique" (2002).

    Examples
    --------
    >>> from dnip.metrics.confusion import cobias_of
    >>> hits, sizes = np.array([9.0, 7.0, 6.0]), np.array([10.0, 10.0, 10.0])
    >>> test = GapTest(hits, sizes, cobias_of, np.random.default_rng(0))
    >>> round(test.observed, 2), [round(bound, 1) for bound in test.bounds(0.9)]
    (0.2, [0.0, 0.2, 0.4])
    """

    def __init__(
        self, hits: Floats, sizes: Floats, gap: Gap, rng: np.random.Generator, level: float = 0.9
    ) -> None:
        self.observed = float(gap(hits / sizes))
        family = _family(hits, sizes)
        self._true = gap(family)
        most = int(np.clip(_DRAWN_CELLS // len(hits), _LEAST_DRAWS, _MOST_DRAWS))
        draws = int(np.clip(_TAIL_DRAWS / (1 - level), min(_LEAST_DRAWS, most), most))
        whole = sizes.astype(np.int64)
        self._below, self._tails = np.empty(len(family)), np.empty(len(family))
        for i, accuracies in enumerate(family):
            drawn = gap(rng.binomial(whole, accuracies, (draws, len(hits))) / sizes)
            tied = np.isclose(drawn, self.observed, rtol=0, atol=1e-9)
            self._below[i] = ((drawn < self.observed) & ~tied).mean() + tied.mean() / 2
            deviation = max(float(drawn.std()), _LEAST_DEVIATION)
            self._tails[i] = erfc((float(drawn.mean()) - self.observed) / deviation / sqrt(2)) / 2

    def bounds(self, level: float) -> Bounds:
        """Return the interval of a level."""
        tail = (1 - level) / 2
        low, middle = (_where(self._below, part, self._true) for part in (1 - tail, 0.5))
        # far out, where there are no draws, the tails are those of a normal variable
        below = self._below if self._below[0] > tail else self._tails
        rare = min(tail * (1 + below[0]) / 2, below[0] / 2)
        return Bounds(low, middle, max(middle, _where(below, rare, self._true)))


def _family(hits: Floats, sizes: Floats) -> Floats:
    """Return class accuracies from equal to far apart, shape (T, N)."""
    likely = (hits + _PSEUDO) / (sizes + 2 * _PSEUDO)
    mean = likely.mean()
    away = likely - mean
    ranks = np.argsort(np.argsort(away, kind="stable"))
    away = away + _APART * (ranks - ranks.mean()) / len(ranks)
    away /= np.abs(away).mean()
    chance = float(np.sqrt(mean * (1 - mean) / sizes).mean())
    farthest = float(np.abs(likely - mean).mean()) + _REACH * chance
    return np.asarray(np.clip(mean + np.linspace(0, farthest, _STEPS)[:, None] * away, 0, 1))


def _where(below: Floats, level: float, true: Floats) -> float:
    """Return the true gap at which the observed one exceeds this part of the draws."""
    falling = np.minimum.accumulate(below)
    if falling[0] <= level:
        return float(true[0])
    if falling[-1] > level:
        return float(true[-1])
    after = int(np.argmax(falling <= level))
    before = after - 1
    part = (falling[before] - level) / (falling[before] - falling[after])
    return float(true[before] + part * (true[after] - true[before]))


def difference_of(first: Bounds, second: Bounds, correlation: float = 0.0) -> Bounds:
    """Return the bounds of second less first, from the bounds of each.

    The deviations add up as those of estimates with this correlation do.

    References
    ----------
    Zou and Donner, "Construction of confidence limits about effect measures" (2008).

    Examples
    --------
    >>> [round(bound, 3) for bound in difference_of(Bounds(0.2, 0.3, 0.35), Bounds(0, 0.1, 0.12))]
    [-0.312, -0.2, -0.098]
    """
    middle = second.middle - first.middle
    below = _joint(second.middle - second.low, first.high - first.middle, correlation)
    above = _joint(second.high - second.middle, first.middle - first.low, correlation)
    return Bounds(float(middle - below), middle, float(middle + above))


def _joint(one: float, other: float, correlation: float) -> float:
    return sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0))


def gap_correlation(
    agreement: Counts, before: float, after: float, gap: Gap, rng: np.random.Generator
) -> float:
    """Return the correlation, 0 to 1, of the gaps of two sets of weights on the same rows.

    Rows are resampled, class by class. The changes are added to accuracies that have the estimated
    true gaps, as chance acts differently on a gap that is nearly closed. `agreement` is as for
    :func:`dnip.metrics.intervals.difference_intervals`, without classes that have no rows.

    Examples
    --------
    >>> from dnip.metrics.confusion import cobias_of
    >>> same = np.array([[[8, 0], [0, 12]], [[2, 0], [0, 18]]])
    >>> round(gap_correlation(same, 0.3, 0.3, cobias_of, np.random.default_rng(0)), 2)
    1.0
    """
    sizes = agreement.sum(axis=(1, 2))
    cells = agreement.reshape(-1, 4)
    parts = [
        rng.multinomial(n, row / n, _PAIRED_DRAWS) for row, n in zip(cells, sizes, strict=True)
    ]
    drawn = np.stack(parts, axis=1) / sizes[:, None]
    observed = cells / sizes[:, None]
    moved = []
    for columns, true in (((2, 3), before), ((1, 3), after)):
        seen = observed[:, columns].sum(axis=1)
        mean = seen.mean()
        factor = min(true / max(float(gap(seen)), _LEAST_DEVIATION), 1.0)
        noise = drawn[..., columns].sum(axis=-1) - seen
        moved.append(gap(mean + factor * (seen - mean) + noise))
    first, second = (values - values.mean() for values in moved)
    power = sqrt(float(first @ first) * float(second @ second))
    return max(float(first @ second) / power, 0.0) if power > _LEAST_DEVIATION else 0.0
