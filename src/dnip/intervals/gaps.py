"""Intervals of COBias and its like, which few rows overstate: the bootstrap test, inverted."""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from dnip.typing import Floats

#: From class accuracies (..., N) to how unequal they are (...,): 0 for equal ones, and growing when
#: all of them move away from their mean by the same factor.
Gap = Callable[["Floats"], "Floats"]

# True gaps that are tried, between which the answer is interpolated.
_STEPS = 24
# Draws of each: as many as the least tail needs, and fewer for so many classes that a gap, a mean
# over all of them, varies little.
_LEAST_DRAWS, _MOST_DRAWS, _DRAWN_CELLS = 200, 4_000, 100_000
_TAIL_DRAWS = 30
# Standard deviations of one class accuracy beyond the observed gap that a true one may lie.
_REACH = 4.0
# Rows added to either side, so that all of a few rows right leaves a chance of errors.
_PSEUDO = 0.1
_LEAST_DEVIATION = 1e-12
# Where all accuracies are equal no class is above another: they are set apart by this.
_APART = 1e-3


class Bounds(NamedTuple):
    """A confidence interval and its middle, the value that is as probably too low as too high."""

    low: float
    middle: float
    high: float


def gap_bounds(
    hits: Floats, sizes: Floats, gap: Gap, level: float, rng: np.random.Generator
) -> Bounds:
    """Return the true gaps under which the observed one would be no surprise.

    A gap of few rows is larger than the true one: rows of equally accurate classes differ by
    chance. Resampling the rows overstates it once more, so the percentiles of the bootstrap miss a
    small true gap nearly always. Here class accuracies are set at a hypothetical gap, on the line
    from their mean through those observed; rows are drawn from these; and the gap is kept where the
    observed one lies within the central part `level` of those of the draws. Rows may happen
    to look more equal than equal classes do; so that this is not taken to say that there is no gap
    at all, the high end also asks how rare they are relative to that.

    Parameters
    ----------
    hits, sizes : ndarray of shape (N,)
        Rows predicted right, and all rows, of each class; at least one row of each.
    gap : callable
        See `Gap`.
    level : float
    rng : numpy.random.Generator

    References
    ----------
    DiCiccio and Romano, "Nonparametric confidence limits by resampling methods and least favorable
    families" (1990); Read, "Presentation of search results: the CLs technique" (2002).

    Examples
    --------
    >>> from dnip.metrics.cobias import cobias_of
    >>> hits, sizes = np.array([9.0, 7.0, 6.0]), np.array([10.0, 10.0, 10.0])
    >>> bounds = gap_bounds(hits, sizes, cobias_of, 0.9, np.random.default_rng(0))
    >>> round(float(cobias_of(hits / sizes)), 2), round(bounds.low, 2), round(bounds.middle, 2)
    (0.2, 0.0, 0.16)
    """
    observed = float(gap(hits / sizes))
    family = _family(hits, sizes)
    true = gap(family)
    draws = int(np.clip(_DRAWN_CELLS // len(hits), _LEAST_DRAWS, _MOST_DRAWS))
    draws = int(np.clip(_TAIL_DRAWS / (1 - level), min(_LEAST_DRAWS, draws), draws))
    below, mean, deviation = (np.empty(len(family)) for _ in range(3))
    for i, accuracies in enumerate(family):
        drawn = gap(rng.binomial(sizes.astype(np.int64), accuracies, (draws, len(hits))) / sizes)
        tied = np.isclose(drawn, observed, rtol=0, atol=1e-9)
        below[i] = ((drawn < observed) & ~tied).mean() + tied.mean() / 2
        mean[i], deviation[i] = drawn.mean(), drawn.std()
    tail = (1 - level) / 2
    low, middle = (_where(below, part, true) for part in (1 - tail, 0.5))
    if below[0] <= tail:  # far out, where no draws are, the tails are those of a normal
        standard = (observed - mean) / np.maximum(deviation, _LEAST_DEVIATION)
        below = np.array([erfc(-z / sqrt(2)) / 2 for z in standard.tolist()])
    rare = min(tail * (1 + below[0]) / 2, below[0] / 2)
    return Bounds(low, middle, _where(below, rare, true))


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


def difference_of(first: Bounds, second: Bounds) -> Bounds:
    """Return the bounds of second less first, from the bounds of each.

    The deviations add up in squares, as those of independent estimates do. Two gaps on the same
    rows go together weakly: COBias after reweighting is small and mostly chance.

    References
    ----------
    Zou and Donner, "Construction of confidence limits about effect measures" (2008).

    Examples
    --------
    >>> [round(bound, 3) for bound in difference_of(Bounds(0.2, 0.3, 0.35), Bounds(0, 0.1, 0.12))]
    [-0.312, -0.2, -0.098]
    """
    middle = second.middle - first.middle
    below = np.hypot(second.middle - second.low, first.high - first.middle)
    above = np.hypot(second.high - second.middle, first.middle - first.low)
    return Bounds(float(middle - below), middle, float(middle + above))
