"""Branch and bound over boxes: one depth-first search, from one box.

The search halves boxes and goes on with the better half. It ends after a number of boxes, or when
no box is left that could hold a better point. The caller keeps the queue and takes back what is
left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.boxes import Box, BoxRows, Contests, Scale, narrow, new_contests
from dnip.solvers.kernels.jit import inner, jit
from dnip.solvers.kernels.relaxation import Multipliers, raise_bound
from dnip.solvers.kernels.shaving import choose_class, shave
from dnip.solvers.kernels.sweep import Relaxation, Relaxed, new_relaxed
from dnip.solvers.kernels.values import MISSED, shortfall, value

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers, SmallIntegers
    from dnip.solvers.kernels.values import Memo, Terms

# Boxes of at most this many points are searched point by point.
_FEW_POINTS = 8
# Steps of the multipliers in a box, and how often it is shaved and bounded again.
_STEPS, _ROUNDS = 6, 2
# Shaving that takes less off the volume, in logarithms, is not worth another bound.
_WORTH_A_ROUND = 0.3

# Room for the open rows of all nodes, in lists of all rows; a search ends where it is full.
_ROW_LISTS = 24


class Instance(NamedTuple):
    """What to search: shared by all depth-first searches."""

    rows: BoxRows
    scale: Scale
    terms: Terms
    shortfall: Terms  # only the shortfall, to be minimised while no feasible point is known
    least_top: int  # points without a position this high are copies of others, and left out
    margin: float  # points that are better by less do not count


class Nodes(NamedTuple):
    """Boxes that may hold a better point, the next one last."""

    low: Integers  # (D, N)
    high: Integers  # (D, N)
    bound: Floats  # (D,)
    multipliers: Floats  # (D, 3, N): v, correct, wrong
    price: Floats  # (D, N + 1)


class Incumbent(NamedTuple):
    """The best point so far. Single numbers are arrays of one element, so that they can change."""

    value: Floats  # the best value so far
    point: Integers  # (N,) its positions on the scale, if this search found it
    improved: Integers  # whether this search found it
    n_points: Integers  # points evaluated


class NodeStack(NamedTuple):
    """The nodes of one depth-first search, and room to work in."""

    nodes: Nodes
    incumbent: Incumbent
    memo: Memo
    split: Integers  # (D,) class whose interval each node halves
    confusion: Confusion  # (D, N, N) settled rows of each node
    first: Integers  # (D,) where each node's open rows start in `rows`
    n_rows: Integers  # (D,)
    end: Integers  # (D,) from where `rows` is free while the node is the next one
    rows: SmallIntegers  # open rows of all nodes
    contests: Contests
    relaxed: Relaxed


def new_stack(rows: BoxRows, n_levels: int, memo: Memo) -> NodeStack:
    """Make room for a depth-first search over `rows` on a scale of `n_levels` weights."""
    n_rows, n_classes = len(rows.label), len(rows.settled)
    depth = 2 + 2 * n_classes * int(np.ceil(np.log2(n_levels + 1)))
    n_nodes = depth + 2

    def whole(*shape: int) -> Integers:
        return np.zeros(shape, np.int64)

    return NodeStack(
        nodes=Nodes(
            low=whole(n_nodes, n_classes),
            high=whole(n_nodes, n_classes),
            bound=np.zeros(n_nodes),
            multipliers=np.zeros((n_nodes, 3, n_classes)),
            price=np.zeros((n_nodes, n_classes + 1)),
        ),
        incumbent=Incumbent(np.zeros(1), whole(n_classes), whole(1), whole(1)),
        memo=memo,
        split=whole(n_nodes),
        confusion=whole(n_nodes, n_classes, n_classes),
        first=whole(n_nodes),
        n_rows=whole(n_nodes),
        end=whole(n_nodes),
        rows=np.empty(min(depth, _ROW_LISTS) * n_rows, np.uint32),
        contests=new_contests(n_rows, len(rows.row_p), n_classes),
        relaxed=new_relaxed(n_rows, n_classes),
    )


@jit
def search_depth_first(instance: Instance, stack: NodeStack, n_boxes: int) -> int:
    """Search the box in node 0 for points better than the best value.

    Returns how many nodes are left after `n_boxes` boxes, from node 0 on.
    """
    nodes, incumbent = stack.nodes, stack.incumbent
    parent = len(nodes.bound) - 1  # the last node is room for the one that is halved
    n_rows = len(instance.rows.label)
    for r in range(n_rows):
        stack.rows[r] = r
    _copy_node(stack, 0, parent)
    stack.confusion[parent] = instance.rows.settled
    stack.first[parent], stack.n_rows[parent], stack.end[parent] = 0, n_rows, n_rows
    height = n_seen = 0
    n_parts = 1
    while True:
        # look at the box, or at its two halves
        base, free = height, stack.end[parent]
        first, last = stack.first[parent], stack.first[parent] + stack.n_rows[parent]
        for part in range(n_parts):
            _copy_node(stack, parent, height)
            if n_parts == 2:
                _halve(instance.scale, nodes, stack.split[parent], height, upper=part == 1)
            stack.first[height] = free
            if _bound_node(instance, stack, height, stack.rows[first:last]):
                free += stack.n_rows[height]
                height += 1
        for d in range(base, height):
            stack.end[d] = free
        if height == base + 2 and nodes.bound[base] < nodes.bound[base + 1]:
            _copy_node(stack, base, parent)
            _copy_node(stack, base + 1, base)
            _copy_node(stack, parent, base + 1)
        n_seen += n_parts
        n_parts = 2
        # the next box that is worth it
        while height > 0 and nodes.bound[height - 1] >= incumbent.value[0] - instance.margin:
            height -= 1
        if height == 0 or n_seen >= n_boxes or height == parent:
            break
        if stack.end[height - 1] + 2 * stack.n_rows[height - 1] > len(stack.rows):
            break
        height -= 1
        _copy_node(stack, height, parent)
    return height


@inner
def _bound_node(instance: Instance, stack: NodeStack, d: int, source: SmallIntegers) -> bool:
    """Bound node `d` over the rows of `source`, or search it; say whether it is to be halved."""
    nodes, incumbent, memo = stack.nodes, stack.incumbent, stack.memo
    scale, terms, contests, relaxed = instance.scale, instance.terms, stack.contests, stack.relaxed
    box = Box(nodes.low[d], nodes.high[d])
    v_and_counts = nodes.multipliers[d]
    multipliers = Multipliers(v_and_counts[0], v_and_counts[1], v_and_counts[2], nodes.price[d])
    confusion = stack.confusion[d]
    first = stack.first[d]
    rounds = 0
    while True:
        if box.high.max() < instance.least_top:
            return False
        kept = stack.rows[first : first + len(source)]
        n_rows = narrow(instance.rows, scale, box, source, kept, confusion, contests)
        source = kept[:n_rows]
        stack.n_rows[d] = n_rows
        if n_rows == 0 or _few_points(box):
            _try_points(instance, stack, box, source, confusion)
            return False
        if len(terms.floors.correct) > 0:
            missing = shortfall(contests.most_correct, terms.floors, memo.true)
            if missing > 0:
                nodes.bound[d] = max(nodes.bound[d], MISSED * (1 + missing))
                if nodes.bound[d] >= incumbent.value[0]:
                    return False
        goal = incumbent.value[0] - instance.margin
        infeasible = goal >= MISSED
        relaxation = Relaxation(terms, memo, scale, contests, relaxed, np.inf, _STEPS)
        if infeasible:
            least = incumbent.value[0] / MISSED - 1
            goal = least - min(instance.margin, least / 2)
            relaxation = Relaxation(instance.shortfall, memo, scale, contests, relaxed, 1.0, _STEPS)
        bound = raise_bound(relaxation, box, confusion, multipliers, goal)
        if not infeasible:
            nodes.bound[d] = max(nodes.bound[d], bound)
        elif bound > 0:
            nodes.bound[d] = max(nodes.bound[d], MISSED * (1 + bound))
        if bound >= goal or nodes.bound[d] >= incumbent.value[0] - instance.margin:
            return False
        shaved = shave(relaxation, box, bound, goal)
        if shaved == np.inf:
            return False
        rounds += 1
        if (shaved < _WORTH_A_ROUND or rounds == _ROUNDS) and not _few_points(box):
            break
    stack.split[d] = choose_class(scale, box, contests)
    return True


@inner
def _few_points(box: Box) -> bool:
    n_points = 1.0
    for n in range(len(box.low)):
        n_points *= box.high[n] - box.low[n] + 1
    return n_points <= _FEW_POINTS


@inner
def _try_points(
    instance: Instance, stack: NodeStack, box: Box, open_rows: SmallIntegers, settled: Confusion
) -> None:
    """Evaluate every point of a box, or any one if no row is open."""
    rows, scale, incumbent = instance.rows, instance.scale, stack.incumbent
    n_classes = len(box.low)
    point = box.high.copy()
    confusion = np.empty_like(settled)
    while True:
        confusion[:] = settled
        for row in open_rows:
            best = -1.0
            winner = np.uint32(0)
            for e in range(rows.row_start[row], rows.row_start[row + 1]):
                c = rows.row_class[e]
                score = scale.weight[point[c]] * rows.row_p[e]
                if score > best:
                    best = score
                    winner = c
            confusion[rows.label[row], winner] += rows.counts[row]
        incumbent.n_points[0] += 1
        here = value(confusion, confusion.sum(axis=0), instance.terms, stack.memo)
        if here < incumbent.value[0]:
            incumbent.value[0] = here
            incumbent.improved[0] = 1
            incumbent.point[:] = point
        n = 0
        while n < n_classes and (point[n] == box.low[n] or len(open_rows) == 0):
            point[n] = box.high[n]
            n += 1
        if n == n_classes:
            return
        point[n] -= 1


@inner
def _halve(scale: Scale, nodes: Nodes, c: int, d: int, upper: bool) -> None:
    """Cut the interval of class `c` where it is halved, in logarithms."""
    low, high = nodes.low[d, c], nodes.high[d, c]
    goal = 0.5 * (scale.log_weight[low] + scale.log_weight[high])
    middle = low
    while middle + 1 < high and scale.log_weight[middle + 1] <= goal:
        middle += 1
    if upper:
        nodes.low[d, c] = middle + 1
    else:
        nodes.high[d, c] = middle


@inner
def _copy_node(stack: NodeStack, source: int, target: int) -> None:
    """Copy a node with its rows and counts."""
    nodes = stack.nodes
    nodes.low[target] = nodes.low[source]
    nodes.high[target] = nodes.high[source]
    nodes.bound[target] = nodes.bound[source]
    nodes.multipliers[target] = nodes.multipliers[source]
    nodes.price[target] = nodes.price[source]
    stack.split[target] = stack.split[source]
    stack.confusion[target] = stack.confusion[source]
    stack.first[target] = stack.first[source]
    stack.n_rows[target] = stack.n_rows[source]
    stack.end[target] = stack.end[source]
