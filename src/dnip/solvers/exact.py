"""Branch and bound over boxes of weight indices: the optimum with a proof, or with a gap."""

from __future__ import annotations

import heapq
import itertools
import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from dnip.base.typing import Floats, Integers
from dnip.base.validation import check_number
from dnip.method.scales import Spacing
from dnip.solvers.coordinate import Coordinate
from dnip.solvers.driver import Solver
from dnip.solvers.kernels.exact import DepthFirst
from dnip.solvers.kernels.rows import Rows
from dnip.solvers.kernels.values import MISSED
from dnip.solvers.landscape import Landscape, Proposal

# Values nearer than this count as equal: far above the rounding of Z, far below one example.
_ROUNDING = 1e-10
# The gap is reported again when it has shrunk to this part of the last report.
_WORTH_REPORTING = 0.98
# Ratios nearer than this to a whole number of steps, in nats, may be ties; rounding is smaller.
_NEAR_A_TIE = 1e-11
# Classes of which a proof is tried at most: a search holds hundreds of matrices of them.
_MOST_CLASSES = 100
# Depth-first searches between two looks at the clock. Their number does not depend on the machine,
# so that the same seed gives the same solution everywhere.
_SEARCHES = 4
# Steps of the multipliers in a box, and rounds of many steps in the box of all points.
_STEPS, _ROUNDS_AT_ROOT = 6, 4
# Boxes in the queue, the only memory that grows; beyond it the search goes on depth first.
_MOST_OPEN = 200_000
# Boxes that one search may bound, and open rows that it may read, whichever comes first.
_MOST_BOXES, _MOST_ROWS = 128, 2_000_000


@dataclass(frozen=True)
class Exact(Solver):
    """Branch and bound with Lagrangian bounds on exact counts, best box first.

    It starts from what :class:`Coordinate` finds. A box of weight indices gets a lower bound from a
    linear relaxation of the objective (see ``kernels/exact.pyx``). Then it is shaved
    and halved. Small boxes are evaluated point by point, under the tie rule of the prediction.
    Whenever the search ends, it has the best point, a bound that no weight indices can beat, and
    the gap between the two. Beyond 100 classes it ends with what :class:`Coordinate` has found.

    Parameters
    ----------
    gap : float, default=0.0
        Stop when the best value is proven to be within this of the optimum, in units of the
        objective.

    Examples
    --------
    >>> from dnip import solve
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> solution = solve(p, [0, 1, 0, 1], solver=Exact())
    >>> solution.status.value, solution.gap
    ('optimal', 0.0)
    """

    gap: float = 0.0

    name: ClassVar[str] = "exact"
    takes_any_objective: ClassVar[bool] = False
    proves: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("gap", self.gap, at_least=0)

    def search(self, landscape: Landscape, rng: np.random.Generator) -> Iterator[Proposal]:
        """Yield the best point so far with the bound so far, again and again."""
        best = landscape.settle(landscape.evaluate(landscape.equal_weights()))
        for proposal in map(landscape.settle, Coordinate().search(landscape, rng)):
            if proposal.value < best.value:
                best = proposal
            yield proposal
        if landscape.n_classes > _MOST_CLASSES:
            return

        searches = _Searches(landscape)
        queue = _Queue()
        queue.push([_root(landscape)])
        reported_gap = math.inf
        rounds = itertools.count(1)
        with ThreadPoolExecutor(min(_SEARCHES, n_cores()), "dnip") as pool:
            while queue.bound < best.value - max(self.gap, _ROUNDING):
                search = partial(searches.search, best.value, next(rounds) <= _ROUNDS_AT_ROOT)
                for left, n_points, better in pool.map(search, range(_SEARCHES), queue.pop()):
                    queue.push(left)
                    landscape.evaluations += n_points
                    if better is not None and better.value < best.value:
                        best = better
                bound = min(queue.bound, best.value)
                statistics = {}
                if bound < MISSED and best.value - bound < _WORTH_REPORTING * reported_gap:
                    reported_gap = best.value - bound
                    statistics = {"lower_bound": bound, "open_boxes": float(len(queue))}
                yield Proposal(best.point, best.value, statistics, bound)
        proven = queue.bound >= best.value - _ROUNDING
        yield replace(best, lower_bound=best.value if proven else queue.bound)


def _least_top(landscape: Landscape, rows: Rows) -> int:
    """Return an index that some class of every point, or of a copy of it, reaches.

    On a linear scale ξ and 2ξ predict alike, so some index is above K/2. On a geometric one weights
    that are all a step higher predict alike, up to rounding, so one is K. If rounding might decide
    a row that is very near to a tie, or a class is held, it is 1, so that every point counts.
    """
    scale, levels = landscape.scale, landscape.levels
    if landscape.held:
        return 1
    if landscape.spacing is Spacing.LINEAR:
        return scale // 2 + 1
    step = np.log(levels[-1] / levels[0]) / (scale - 1) if scale > 1 else 1.0
    p = np.asarray(rows.row_p)
    row = np.repeat(np.arange(rows.n_rows), np.diff(rows.row_start))
    for apart in range(1, landscape.n_classes):
        pairs = np.flatnonzero(row[apart:] == row[:-apart])
        differing = pairs[p[pairs + apart] != p[pairs]]
        nats = np.log(p[differing + apart] / p[differing])
        if (np.abs(nats - np.rint(nats / step) * step) < _NEAR_A_TIE).any():
            return 1
    return scale


class _Node(NamedTuple):
    """A box that may hold a better point, and the multipliers of its bound."""

    low: Integers  # (N,) weight indices
    high: Integers  # (N,)
    bound: float
    v: Floats  # (N,)
    price: Floats  # (N + 1,)


def _root(landscape: Landscape) -> _Node:
    """Return the box of all weight indices."""
    n = landscape.n_classes
    low, high = np.ones(n, np.int64), np.full(n, landscape.scale)
    for c, index in landscape.held.items():
        if c not in landscape.following:
            low[c] = high[c] = int(index)
    return _Node(low, high, -math.inf, np.zeros(n), np.zeros(n + 1))


class _Queue:
    """Open boxes, the one with the lowest bound first; beyond the most, the newest first."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, _Node]] = []
        self._newest: list[_Node] = []
        self._count = itertools.count()

    @property
    def bound(self) -> float:
        """The lowest bound of all open boxes, infinite if there is none."""
        lowest = self._heap[0][0] if self._heap else math.inf
        return min(lowest, min((box.bound for box in self._newest), default=math.inf))

    def __len__(self) -> int:
        return len(self._heap) + len(self._newest)

    def push(self, boxes: list[_Node]) -> None:
        """Add boxes."""
        for box in boxes:
            if len(self._heap) < _MOST_OPEN:
                heapq.heappush(self._heap, (box.bound, next(self._count), box))
            else:
                self._newest.append(box)

    def pop(self) -> list[_Node]:
        """Take the next boxes to search."""
        boxes: list[_Node] = []
        while len(boxes) < _SEARCHES and (self._newest or self._heap):
            boxes.append(self._newest.pop() if self._newest else heapq.heappop(self._heap)[2])
        return boxes


class _Searches:
    """Depth-first searches of one landscape, several at a time, each with room of its own."""

    def __init__(self, landscape: Landscape) -> None:
        rows = landscape.lay_out(sparse=True)
        least_top = _least_top(landscape, rows)
        self._searches = [
            DepthFirst(
                rows,
                landscape.compile(),
                landscape.compile(only_floors=True),
                least_top=least_top,
                margin=_ROUNDING,
            )
            for _ in range(_SEARCHES)
        ]
        self._n_boxes = max(min(_MOST_ROWS // max(rows.n_rows, 1), _MOST_BOXES), 1)

    def search(
        self, best_value: float, at_root: bool, thread: int, node: _Node
    ) -> tuple[list[_Node], int, Proposal | None]:
        """Return what is left of a box, how many points were tried, and one below `best_value`.

        The box of all points is bounded with more care, and not halved. All searches begin with the
        shares of rows that its bound gave to rivals.
        """
        search, n_boxes, n_steps = self._searches[thread], self._n_boxes, _STEPS
        if at_root:
            n_boxes, n_steps = 1, min(len(node.low) ** 2, _STEPS * n_boxes)
        for array, values in zip(search.nodes, node, strict=True):
            array[0] = values
        n_left = search.search(best_value, n_boxes, n_steps)
        if at_root:
            for other in self._searches:
                other.shares[:] = search.shares
        left = [_Node(*(array[i].copy() for array in search.nodes)) for i in range(n_left)]
        best = None
        if search.improved:
            best = Proposal(search.point.astype(np.float64), search.value)
        return left, search.n_points, best


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
