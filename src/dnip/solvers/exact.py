"""Branch and bound over boxes of weight indices: the optimum with a proof, or with a gap."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numba
import numpy as np

from dnip.base.validation import check_integer, check_number
from dnip.method.objective import Objective
from dnip.method.problem import Problem
from dnip.solvers.coordinate import Coordinate
from dnip.solvers.driver import Proposal, Solver
from dnip.solvers.kernels.boxes import Scale, lay_out_boxes
from dnip.solvers.kernels.branching import Instance, search_depth_first
from dnip.solvers.kernels.nodes import new_stack
from dnip.solvers.kernels.values import MISSED, Terms, new_memo
from dnip.solvers.landscape import Position, compile_terms

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Integers
    from dnip.solvers.landscape import Landscape

# Values nearer than this count as equal: far above the rounding of Z, far below one example.
_ROUNDING = 1e-10
# The gap is reported again when it has shrunk to this part of the last report.
_WORTH_REPORTING = 0.98
# Depth-first searches between two looks at the clock. Their number does not depend on the machine,
# so that the same seed gives the same solution everywhere.
_SEARCHES = 4
# Boxes that one of them may bound, and open rows that it may read, whichever comes first.
_MOST_BOXES, _MOST_ROWS = 128, 2_000_000


@dataclass(frozen=True)
class Exact(Solver):
    """Branch and bound with Lagrangian bounds on exact counts, best box first.

    It starts from what :class:`Coordinate` finds. A box of weight indices gets a lower bound from a
    linear relaxation of the objective (see ``dnip.solvers.kernels.relaxation``). Then it is shaved
    and halved. Small boxes are evaluated point by point, under the tie rule of the prediction.
    Whenever the search ends, it has the best point, a bound that no weight indices can beat, and
    the gap between the two.

    Parameters
    ----------
    gap : float, default=0.0
        Stop when the best value is proven to be within this of the optimum, in units of the
        objective.
    max_open : int, default=200_000
        Most boxes to keep in the queue, the only memory that grows. After that, the search goes on
        depth first, which needs no more memory.

    Examples
    --------
    >>> from dnip import solve
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> solution = solve(p, [0, 1, 0, 1], solver=Exact())
    >>> solution.status.value, solution.gap
    ('optimal', 0.0)
    """

    gap: float = 0.0
    max_open: int = 200_000

    name: ClassVar[str] = "exact"
    searches_in_passes: ClassVar[bool] = False
    takes_any_objective: ClassVar[bool] = False
    is_directed: ClassVar[bool] = True
    proves: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("gap", self.gap, at_least=0)
        check_integer("max_open", self.max_open, at_least=1)

    def search(self, landscape: Landscape, rng: np.random.Generator) -> Iterator[Proposal]:
        """Yield the best point so far with the bound so far, again and again."""
        problem, objective = landscape.problem, landscape.objective
        assert isinstance(problem, Problem)  # SearchSettings has checked what the solver declares
        assert isinstance(objective, Objective)
        best = landscape.stand(landscape.equal_weights())
        for proposal in Coordinate().search(landscape, rng):
            if proposal.value < best.value:
                best = Position(proposal.point.copy(), proposal.value)
            yield proposal

        searcher = _DepthFirst(landscape, problem, objective)
        queue = _Queue(self.max_open)
        queue.push([_root(landscape, best)])
        reported_gap = math.inf
        with ThreadPoolExecutor(min(_SEARCHES, numba.config.NUMBA_NUM_THREADS), "dnip") as pool:
            while queue.bound < best.value - max(self.gap, _ROUNDING):
                search = partial(searcher.search, best.value)
                for end in pool.map(search, range(_SEARCHES), queue.pop()):
                    queue.push(end.left)
                    landscape.evaluations += end.n_points
                    if end.best is not None and end.best.value < best.value:
                        best = end.best
                bound = min(queue.bound, best.value)
                statistics = {}
                if bound < MISSED and best.value - bound < _WORTH_REPORTING * reported_gap:
                    reported_gap = best.value - bound
                    statistics = {"lower_bound": bound, "open_boxes": float(len(queue))}
                yield Proposal(*best, statistics, lower_bound=bound)
        proven = queue.bound >= best.value - _ROUNDING
        yield Proposal(*best, lower_bound=best.value if proven else queue.bound)


def _lay_out(landscape: Landscape, problem: Problem, objective: Objective) -> Instance:
    weight = landscape.levels
    low, high = _bounds(landscape)
    terms = compile_terms(objective, problem, landscape.floors)
    rows = lay_out_boxes(
        problem.probabilities, problem.labels, problem.mass, weight[low], weight[high]
    )
    return Instance(
        rows,
        Scale(weight, np.log(weight)),
        terms,
        Terms(0.0, 0.0, 0.0, 0.0, terms.smoothing, floors=terms.floors),
        # unless a class is held, every point has a copy that reaches this high and predicts alike
        least_top=0 if landscape.held else landscape.least_top(rows),
        margin=_ROUNDING,
    )


def _bounds(landscape: Landscape) -> tuple[Integers, Integers]:
    """Return the lowest and the highest position of every class, (N,) each."""
    low = np.zeros(landscape.n_classes, np.int64)
    high = np.full(landscape.n_classes, landscape.scale - 1)
    for c, index in landscape.held.items():
        low[c] = high[c] = int(index) - 1
    return low, high


class _Node(NamedTuple):
    """A box that may hold a better point, and the multipliers of its bound."""

    low: Integers  # (N,) positions on the scale
    high: Integers  # (N,)
    bound: float
    multipliers: Floats  # (3, N): v, correct, wrong
    price: Floats  # (N + 1,)


def _root(landscape: Landscape, best: Position) -> _Node:
    """Return the box of all weight indices, with planes that touch at the counts of `best`."""
    confusion = landscape.confusion(best.point.astype(np.int64)) / landscape.problem.unit
    correct = np.diag(confusion)
    multipliers = np.array([np.zeros_like(correct), correct, confusion.sum(axis=0) - correct])
    price = np.zeros(len(correct) + 1)
    return _Node(*_bounds(landscape), -math.inf, multipliers, price)


class _Queue:
    """Open boxes, the one with the lowest bound first; beyond `max_open`, the newest first."""

    def __init__(self, max_open: int) -> None:
        self._max_open = max_open
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
            if len(self._heap) < self._max_open:
                heapq.heappush(self._heap, (box.bound, next(self._count), box))
            else:
                self._newest.append(box)

    def pop(self) -> list[_Node]:
        """Take the next boxes to search."""
        boxes: list[_Node] = []
        while len(boxes) < _SEARCHES and (self._newest or self._heap):
            boxes.append(self._newest.pop() if self._newest else heapq.heappop(self._heap)[2])
        return boxes


class _SearchEnd(NamedTuple):
    """What one depth-first search came to."""

    left: list[_Node]
    best: Position | None
    n_points: int


class _DepthFirst:
    """Depth-first searches of one landscape, several at a time, each on a stack of its own."""

    def __init__(self, landscape: Landscape, problem: Problem, objective: Objective) -> None:
        self._instance = _lay_out(landscape, problem, objective)
        rows, n_levels = self._instance.rows, len(self._instance.scale.weight)
        memos = (
            new_memo(problem.class_mass, self._instance.terms.smoothing) for _ in range(_SEARCHES)
        )
        self._stacks = [new_stack(rows, n_levels, memo) for memo in memos]
        self._n_boxes = max(min(_MOST_ROWS // max(len(rows.label), 1), _MOST_BOXES), 1)

    def search(self, best_value: float, place: int, node: _Node) -> _SearchEnd:
        """Search a box for points better than `best_value`; return what is left of it."""
        stack = self._stacks[place]
        nodes, incumbent = stack.nodes, stack.incumbent
        nodes.low[0], nodes.high[0], nodes.bound[0] = node.low, node.high, node.bound
        nodes.multipliers[0], nodes.price[0] = node.multipliers, node.price
        incumbent.value[0] = best_value
        incumbent.n_points[0] = incumbent.improved[0] = 0
        n_left = search_depth_first(self._instance, stack, self._n_boxes)
        left = [_Node(*(array[i].copy() for array in nodes)) for i in range(n_left)]
        best = None
        if incumbent.improved[0]:
            best = Position(incumbent.point.astype(np.float64) + 1.0, float(incumbent.value[0]))
        return _SearchEnd(left, best, int(incumbent.n_points[0]))
