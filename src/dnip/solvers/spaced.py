"""Landscapes of weights that are not k/K: geometric steps, or any weights.

On the continuous scale, each line gets weights of its own to choose from: one between any two
neighbouring weights at which a row flips. The open rows are kept as lists of candidates.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np

from dnip.method.problem import Problem
from dnip.method.scales import WIDEST, Spacing, WeightScale
from dnip.solvers.kernels.counting import count
from dnip.solvers.kernels.flips import find_rivals, list_workspace
from dnip.solvers.kernels.halving import find_level_flips
from dnip.solvers.kernels.rows import SparseRows, copy_rows, survey
from dnip.solvers.kernels.threads import Threads
from dnip.solvers.landscape import Landscape, Position

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dnip.base.typing import Confusion, Floats, Integers, WeightIndices
    from dnip.method.constraints import Demands
    from dnip.method.objective import ObjectiveLike
    from dnip.solvers.kernels.boxes import BoxRows
    from dnip.solvers.kernels.flips import Flips
    from dnip.solvers.passes import OptSet, Passes

# Room for rounding: a class that rounding may let win a row is a candidate of that row.
_ROUNDING = 1 + 1e-9
# Weights whose ratio is nearer to 1 than this count as equal. A weight between them would depend on
# rounding.
_SAME = 1e-12
# Thresholds nearer than this to a whole number of steps may be ties; rounding is much smaller.
_NEAR_A_TIE = 1e-8
# How far beyond the last flip of a line a weight may go, as a factor.
_BEYOND = 4.0
# K of the linear scale on which a descent over any weights begins. It runs compiled, and ends near
# the optimum of the continuous one.
_COARSE = 300
# Classes with equal weights tie where their probabilities do. A descent puts the lower class ahead
# by this factor, so that such ties end as under the tie rule.
_AHEAD = 1 + 2.0**-30


def landscape_over(
    problem: OptSet,
    objective: ObjectiveLike,
    scale: WeightScale,
    held: Mapping[int, float],
    demands: Demands | None = None,
) -> Landscape:
    """Return a problem seen through an objective, over the weights of a scale."""
    if scale.spacing is Spacing.LINEAR:
        return Landscape(problem, objective, scale, held, demands)
    if scale.spacing is Spacing.LOG:
        return GeometricLandscape(problem, objective, scale, held, demands)
    assert isinstance(problem, Problem)  # SearchSettings.check_in_passes has seen to it
    return ContinuousLandscape(problem, objective, scale, held, demands)


class ListedPasses:
    """Passes over rows as lists of candidates, for any weights within a factor of one another."""

    def __init__(self, problem: Problem, span: float) -> None:
        p, labels, mass = problem.probabilities, problem.labels, problem.mass
        if mass.strides == (0,):
            mass = mass[:1].copy()
        span *= _ROUNDING
        surveyed = survey(p, labels, mass, span, Threads())
        rows = copy_rows(p, labels, mass, span, surveyed, dense=False)
        assert isinstance(rows, SparseRows)
        self._rows = rows
        n_most = int(np.diff(rows.class_start).max())
        self._workspace = list_workspace(n_most, n_most + 2)

    def count(self, weights: Floats) -> Confusion:
        """Return the counts at weights of shape (N,)."""
        return count(self._rows, weights)

    def breakpoints(self, weights: Floats, c: int) -> Floats:
        """Return the weights of class `c` at which rows flip, the others having `weights`."""
        n_rows = find_rivals(self._rows, weights, c, self._workspace.rival, self._workspace.score)
        first = self._rows.class_start[c]
        p = self._rows.class_p[first : first + n_rows]
        with np.errstate(over="ignore"):  # infinite for tiny p
            return np.asarray(self._workspace.score[:n_rows] / p)

    def flips_over(self, levels: Floats, c: int) -> Flips:
        """Return the flips of class `c` over `levels`, the others where `breakpoints` had them."""
        find_level_flips(self._rows, c, levels, self._workspace)
        return self._workspace.flips


class GeometricLandscape(Landscape):
    """The objective over weight indices 1..K of geometric steps."""

    def draw_tops(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw heights in the upper quarter: some room for a class to rise, most of it below."""
        return rng.integers(3 * self.scale // 4, self.scale + 1, size).astype(np.float64)

    def least_top(self, rows: BoxRows) -> int:
        """Return a height above 1 that some index of every point reaches, or of a copy of it.

        Weights that are all a step higher predict alike, up to rounding. If rounding might decide a
        row that is very near to a tie, the height is 0, so that every point counts.
        """
        step = float(np.log(self.scale)) / (self.scale - 1) if self.scale > 1 else 1.0
        row = np.repeat(np.arange(len(rows.label)), np.diff(rows.row_start))
        for apart in range(1, self.n_classes):
            pairs = np.flatnonzero(row[apart:] == row[:-apart])
            differing = pairs[rows.row_p[pairs + apart] != rows.row_p[pairs]]
            steps = (rows.row_log_p[differing + apart] - rows.row_log_p[differing]) / step
            if (np.abs(steps - np.rint(steps)) < _NEAR_A_TIE).any():
                return 0
        return self.scale - 1

    def middle(self, point: Floats) -> float:
        """Return the index of the geometric middle of weights."""
        return float(np.rint(point.mean()))


class ContinuousLandscape(Landscape):
    """The objective over any weights within a factor of 10,000 of one another.

    Points are weights themselves, and `scale` is 0, because there are no indices. A line takes as
    long as sorting the rows that its class can win, O(M log M). So a descent begins on a linear
    scale, where lines are quick, and continues from there over any weights.
    """

    def __init__(
        self,
        problem: Problem,
        objective: ObjectiveLike,
        scale: WeightScale,
        held: Mapping[int, float],
        demands: Demands | None = None,
    ) -> None:
        self._listed = ListedPasses(problem, WIDEST)
        passes = cast("Passes", self._listed)  # the descents here find flips in their own way
        super().__init__(problem, objective, scale, held, demands, passes)
        self._coarse = None if held else Landscape(problem, objective, _COARSE, {}, demands)
        self._refined: dict[bytes, Position] = {}
        # a frozen class has weight 1, and no weight is above that
        self._ceiling = 1.0 if demands is not None and demands.frozen else np.inf

    def equal_weights(self) -> Floats:
        """Return the weights of the plain argmax."""
        return np.ones(self.n_classes)

    def lowest_weights(self) -> Floats:
        """Return weights as far below 1 as they go."""
        return np.full(self.n_classes, 1 / WIDEST)

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw weights, as far apart as those of the default linear scale."""
        return np.exp(rng.uniform(-np.log(30), 0.0, self.n_classes))

    def draw_tops(self, rng: np.random.Generator, size: int) -> Floats:
        """Return 0: weights can be moved along their ray without any effect."""
        return np.zeros(size)

    def middle(self, point: Floats) -> float:
        """Return the geometric middle of weights."""
        return float(np.exp(np.log(point).mean()))

    def descend(self, point: WeightIndices | Floats, order: Integers) -> Position:
        """Search the classes in turn, in the given order, until a whole round improves nothing.

        There is no descent on the linear scale if classes are held: they have no place on it.
        """
        return deque(self.approach(point, order), maxlen=1).pop()

    def approach(self, point: WeightIndices | Floats, order: Integers) -> Iterator[Position]:
        """Yield the end of a descent on the linear scale, then its end on the continuous one."""
        coarse = self._coarse
        if coarse is None:
            yield self._descend(point, order)
            return
        coarse.deadline = self.deadline
        before = coarse.evaluations
        nearest = np.rint(point * (_COARSE / point.max()))
        near = coarse.descend(np.clip(nearest, 1, _COARSE), order).point
        self.evaluations += coarse.evaluations - before
        key = near.tobytes()
        if key not in self._refined:
            yield self.stand(near / _COARSE)
            self._refined[key] = self._descend(near / _COARSE, order)
        yield self._refined[key]

    def _descend(self, point: WeightIndices | Floats, order: Integers) -> Position:
        """Descend over any weights.

        Every class goes to the middle of its best interval, even if it is in that interval already.
        """
        here = self._with_held(point * _AHEAD ** -np.arange(self.n_classes))
        confusion = self._listed.count(here)
        counts = confusion, confusion.sum(axis=0)
        value = np.inf
        turn = unmoved = 0
        while unmoved < len(order):
            c = int(order[turn % len(order)])
            turn += 1
            others = np.delete(here, c)
            line = make_line(
                self._listed.breakpoints(here, c),
                here[c],
                others.max() / WIDEST,
                min(others.min() * WIDEST, self._ceiling),
            )
            place = np.zeros(self.n_classes)
            place[c] = line.now
            flips = self._listed.flips_over(line.levels, c)
            reached = self._search_line(flips, place, *counts, c, len(line.levels))
            here[c] = line.levels[int(place[c]) - 1]
            unmoved = 1 if reached < value else unmoved + 1
            value = reached
            if self._is_over():
                break
        return Position(here, value)

    def _kick(self, point: Floats, factors: Floats, top: float, order: Integers) -> Floats:
        kicked = point.copy()
        kicked[order] *= factors[order]
        kicked = np.minimum(np.maximum(kicked, kicked.max() / WIDEST), self._ceiling)
        return kicked if self.held else bring_to_one(kicked)  # held weights stay where they are


def bring_to_one(weights: Floats) -> Floats:
    """Scale weights by a power of 2, which changes no prediction, so that the largest is in (½, 1].

    Examples
    --------
    >>> bring_to_one(np.array([0.5, 3.0]))
    array([0.125, 0.75 ])
    """
    return np.asarray(np.ldexp(weights, -int(np.ceil(np.log2(weights.max())))))


class Line(NamedTuple):
    """Weights of one class to choose from."""

    levels: Floats  # (L,) ascending
    now: int  # 1..L: the one that predicts as the present weight does


def make_line(breakpoints: Floats, now: float, low: float, high: float) -> Line:
    """Choose a weight from every interval between breakpoints, its geometric middle.

    Breakpoints that differ by little more than rounding count as one. The present weight is added
    as it is if it is so near a breakpoint that the middle of its interval may predict otherwise.

    Parameters
    ----------
    breakpoints : ndarray
        Weights at which rows flip, in any order.
    now : float
        The present weight, from `low` to `high`.
    low, high : float
        Least and greatest weight to choose; the present weight may be beyond them.

    Examples
    --------
    >>> make_line(np.array([0.5, 2.0, 2.0, 8.0]), 0.7, 0.1, 10.0)
    Line(levels=array([0.25      , 1.        , 4.        , 8.94427191]), now=2)
    """
    low, high = min(low, now), max(high, now)
    inside = np.sort(breakpoints[(breakpoints > low) & (breakpoints < high)])
    if len(inside) == 0:
        return Line(np.array([now]), 1)
    first, last = max(low, inside[0] / _BEYOND), min(high, inside[-1] * _BEYOND)
    edges = np.concatenate(([first], inside, [last]))
    lower, upper = edges[:-1], edges[1:]
    wide = upper > lower * (1 + _SAME)
    levels = np.sqrt(lower[wide] * upper[wide])
    interval = int(np.searchsorted(inside, now))
    clear = (interval == 0 or now > inside[interval - 1] * (1 + _SAME / 4)) and (
        interval == len(inside) or now < inside[interval] * (1 - _SAME / 4)
    )
    if clear and wide[interval]:
        return Line(levels, int(wide[:interval].sum()) + 1)
    place = int(np.searchsorted(levels, now))
    return Line(np.insert(levels, place, now), place + 1)
