"""Branch and bound over boxes: one dive, depth first, from one box.

A dive halves boxes, better half first, until it has looked at as many as it may or none is left
that could hold a better point. What is left goes back to the caller, who keeps the queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.boxes import SAME, Box, BoxRows, Contests, Scale, narrow, new_contests
from dnip.solvers.kernels.jit import inner, jit
from dnip.solvers.kernels.relaxation import Multipliers, Relaxed, new_relaxed, raise_bound
from dnip.solvers.kernels.values import MISSED, shortfall, value

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers, SmallIntegers
    from dnip.solvers.kernels.values import Memo, Terms

# Boxes of at most this many points are searched point by point.
_FEW_POINTS = 8
# Steps of the multipliers in a box, and how often it is shaved and looked at again.
_STEPS, _ROUNDS = 6, 2
# Shaving that takes less off the volume, in logarithms, is not worth a second look.
_WORTH_A_LOOK = 0.3
# Room for the open rows of the nodes of a dive, in lists of all rows; a dive ends where it is full.
_ROW_LISTS = 24


class Terrain(NamedTuple):
    """What all dives share."""

    rows: BoxRows
    scale: Scale
    terms: Terms
    hunt: Terms  # of the shortfall alone, while no point is known that misses no floor
    least_top: int  # points without a position this high are copies of others, and left out
    margin: float  # points that are better by less do not count


class Nodes(NamedTuple):
    """Boxes that may hold a better point, the next one last."""

    low: Integers  # (D, N)
    high: Integers  # (D, N)
    bound: Floats  # (D,)
    v: Floats  # (D, N) multipliers
    correct: Floats  # (D, N)
    wrong: Floats  # (D, N)
    price: Floats  # (D, N + 1)


class Dive(NamedTuple):
    """Room for one dive."""

    nodes: Nodes
    split: Integers  # (D,) class whose interval each node halves
    confusion: Confusion  # (D, N, N) settled rows of each node
    first: Integers  # (D,) where each node's open rows start in `rows`
    n_rows: Integers  # (D,)
    end: Integers  # (D,) from where `rows` is free while the node is the next one
    rows: SmallIntegers  # open rows of all nodes
    contests: Contests
    relaxed: Relaxed


class Found(NamedTuple):
    """What dives have come to, one element each."""

    value: Floats  # the best value so far
    point: Integers  # (N,) its positions on the scale, if the dive found it
    improved: Integers  # whether it did
    n_points: Integers  # points evaluated


def new_nodes(n_nodes: int, n_classes: int) -> Nodes:
    """Make room for boxes."""
    return Nodes(
        np.zeros((n_nodes, n_classes), np.int64),
        np.zeros((n_nodes, n_classes), np.int64),
        np.zeros(n_nodes),
        np.zeros((n_nodes, n_classes)),
        np.zeros((n_nodes, n_classes)),
        np.zeros((n_nodes, n_classes)),
        np.zeros((n_nodes, n_classes + 1)),
    )


def new_dive(rows: BoxRows, n_levels: int) -> Dive:
    """Make room for dives over `rows` on a scale of `n_levels` weights."""
    n_rows, n_classes = len(rows.label), len(rows.settled)
    depth = 2 + 2 * n_classes * int(np.ceil(np.log2(n_levels + 1)))
    return Dive(
        nodes=new_nodes(depth + 2, n_classes),
        split=np.zeros(depth + 2, np.int64),
        confusion=np.zeros((depth + 2, n_classes, n_classes), np.int64),
        first=np.zeros(depth + 2, np.int64),
        n_rows=np.zeros(depth + 2, np.int64),
        end=np.zeros(depth + 2, np.int64),
        rows=np.empty(min(depth, _ROW_LISTS) * n_rows, np.uint32),
        contests=new_contests(n_rows, len(rows.row_p), n_classes),
        relaxed=new_relaxed(n_rows, n_classes),
    )


def new_found(n_classes: int) -> Found:
    """Make an empty record."""
    return Found(
        np.zeros(1),
        np.zeros(n_classes, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )


@jit
def search_boxes(terrain: Terrain, memo: Memo, dive: Dive, found: Found, n_boxes: int) -> int:
    """Search the box in node 0 for points better than the best value.

    Returns how many nodes are left after `n_boxes` boxes, from node 0 on.
    """
    nodes = dive.nodes
    parent = len(nodes.bound) - 1  # the last node is room for the one that is halved
    n_rows = len(terrain.rows.label)
    for r in range(n_rows):
        dive.rows[r] = r
    _copy(dive, 0, parent)
    _set(dive.confusion[parent], terrain.rows.settled)
    dive.first[parent], dive.n_rows[parent], dive.end[parent] = 0, n_rows, n_rows
    height = n_seen = 0
    n_parts = 1
    while True:
        # look at the box, or at its two halves
        base, free = height, dive.end[parent]
        first, last = dive.first[parent], dive.first[parent] + dive.n_rows[parent]
        for part in range(n_parts):
            _copy(dive, parent, height)
            if n_parts == 2:
                _halve(terrain.scale, nodes, dive.split[parent], height, upper=part == 1)
            dive.first[height] = free
            if _look(terrain, memo, dive, found, height, dive.rows[first:last]):
                free += dive.n_rows[height]
                height += 1
        for d in range(base, height):
            dive.end[d] = free
        if height == base + 2 and nodes.bound[base] < nodes.bound[base + 1]:
            _copy(dive, base, parent)
            _copy(dive, base + 1, base)
            _copy(dive, parent, base + 1)
        n_seen += n_parts
        n_parts = 2
        # the next box that is worth it
        while height > 0 and nodes.bound[height - 1] >= found.value[0] - terrain.margin:
            height -= 1
        if height == 0 or n_seen >= n_boxes or height == parent:
            break
        if dive.end[height - 1] + 2 * dive.n_rows[height - 1] > len(dive.rows):
            break
        height -= 1
        _copy(dive, height, parent)
    return height


@inner
def _set(target: Confusion, source: Confusion) -> None:
    n_classes = len(target)
    for i in range(n_classes):
        for j in range(n_classes):
            target[i, j] = source[i, j]


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
def _copy(dive: Dive, source: int, target: int) -> None:
    nodes = dive.nodes
    nodes.bound[target] = nodes.bound[source]
    dive.split[target] = dive.split[source]
    dive.first[target] = dive.first[source]
    dive.n_rows[target] = dive.n_rows[source]
    dive.end[target] = dive.end[source]
    n_classes = nodes.low.shape[1]
    for i in range(n_classes + 1):
        nodes.price[target, i] = nodes.price[source, i]
    for i in range(n_classes):
        nodes.low[target, i] = nodes.low[source, i]
        nodes.high[target, i] = nodes.high[source, i]
        nodes.v[target, i] = nodes.v[source, i]
        nodes.correct[target, i] = nodes.correct[source, i]
        nodes.wrong[target, i] = nodes.wrong[source, i]
        for j in range(n_classes):
            dive.confusion[target, i, j] = dive.confusion[source, i, j]


@inner
def _look(
    terrain: Terrain, memo: Memo, dive: Dive, found: Found, d: int, source: SmallIntegers
) -> bool:
    """Bound node `d` over the rows of `source`, or search it; say whether it is to be halved."""
    nodes, contests, relaxed = dive.nodes, dive.contests, dive.relaxed
    scale, terms = terrain.scale, terrain.terms
    box = Box(nodes.low[d], nodes.high[d])
    multipliers = Multipliers(nodes.v[d], nodes.correct[d], nodes.wrong[d], nodes.price[d])
    confusion = dive.confusion[d]
    first = dive.first[d]
    rounds = 0
    while True:
        if not _has_top(box, terrain.least_top):
            return False
        kept = dive.rows[first : first + len(source)]
        n_rows = narrow(terrain.rows, scale, box, source, kept, confusion, contests)
        source = kept[:n_rows]
        dive.n_rows[d] = n_rows
        if n_rows == 0 or _few_points(box):
            _try_points(terrain, memo, box, source, confusion, found)
            return False
        if len(terms.floors.correct) > 0:
            missing = shortfall(contests.most_correct, terms.floors, memo.true)
            if missing > 0:
                nodes.bound[d] = max(nodes.bound[d], MISSED * (1 + missing))
                if nodes.bound[d] >= found.value[0]:
                    return False
        goal = found.value[0] - terrain.margin
        hunting = goal >= MISSED
        used, dearest = terms, np.inf
        if hunting:
            least = found.value[0] / MISSED - 1
            goal = least - min(terrain.margin, least / 2)
            used, dearest = terrain.hunt, 1.0
        bound = raise_bound(
            used,
            memo,
            scale,
            box,
            confusion,
            contests,
            multipliers,
            relaxed,
            goal,
            _STEPS,
            dearest,
        )
        if not hunting:
            nodes.bound[d] = max(nodes.bound[d], bound)
        elif bound > 0:
            nodes.bound[d] = max(nodes.bound[d], MISSED * (1 + bound))
        if bound >= goal or nodes.bound[d] >= found.value[0] - terrain.margin:
            return False
        shaved = _shave(scale, box, contests, relaxed, bound, goal)
        if shaved == np.inf:
            return False
        rounds += 1
        if (shaved < _WORTH_A_LOOK or rounds == _ROUNDS) and not _few_points(box):
            break
    dive.split[d] = _choose(scale, box, contests)
    return True


@inner
def _has_top(box: Box, least_top: int) -> bool:
    highest = 0
    for n in range(len(box.high)):
        highest = max(highest, box.high[n])
    return highest >= least_top


@inner
def _few_points(box: Box) -> bool:
    n_points = 1.0
    for n in range(len(box.low)):
        n_points *= box.high[n] - box.low[n] + 1
    return n_points <= _FEW_POINTS


@inner
def _try_points(
    terrain: Terrain,
    memo: Memo,
    box: Box,
    open_rows: SmallIntegers,
    settled: Confusion,
    found: Found,
) -> None:
    """Evaluate every point of a box, or any one if no row is open."""
    rows, scale = terrain.rows, terrain.scale
    n_classes = len(box.low)
    point = np.empty(n_classes, np.int64)
    for n in range(n_classes):
        point[n] = box.high[n]
    confusion = np.empty((n_classes, n_classes), np.int64)
    predicted = np.empty(n_classes, np.int64)
    while True:
        _set(confusion, settled)
        for row in open_rows:
            best = -1.0
            winner = np.uint32(0)
            for e in range(rows.row_start[row], rows.row_start[row + 1]):
                c = rows.row_class[e]
                score = scale.weight[point[c]] * rows.row_p[e]
                if score > best:
                    best = score
                    winner = c
            confusion[rows.label[row], winner] += rows.mass[row]
        for j in range(n_classes):
            predicted[j] = 0
            for i in range(n_classes):
                predicted[j] += confusion[i, j]
        found.n_points[0] += 1
        here = value(confusion, predicted, terrain.terms, memo)
        if here < found.value[0]:
            found.value[0] = here
            found.improved[0] = 1
            for n in range(n_classes):
                found.point[n] = point[n]
        n = 0
        while n < n_classes and (point[n] == box.low[n] or len(open_rows) == 0):
            point[n] = box.high[n]
            n += 1
        if n == n_classes:
            return
        point[n] -= 1


@inner
def _shave(
    scale: Scale, box: Box, contests: Contests, relaxed: Relaxed, bound: float, goal: float
) -> float:
    """Cut off the ends of intervals where the bound reaches `goal`.

    Returns the logarithm of what the volume shrank by, infinite if nothing is left.
    """
    shaved = 0.0
    for c in range(len(box.low)):
        for end in range(2):
            width = box.high[c] - box.low[c] + 1
            n = (width + 1) // 2
            while n > 0:
                low, high = box.low[c], box.high[c]
                if end == 0:
                    high = low + n - 1
                else:
                    low = high - n + 1
                if bound + _gain(scale, box, contests, relaxed, c, low, high) >= goal:
                    if n == width:
                        return np.inf
                    shaved += np.log(width / (width - n))
                    if end == 0:
                        box.low[c] = high + 1
                    else:
                        box.high[c] = low - 1
                    break
                n //= 2
    return shaved


@inner
def _gain(
    scale: Scale, box: Box, contests: Contests, relaxed: Relaxed, c: int, low: int, high: int
) -> float:
    """How much the bound rises when class `c` is held between `low` and `high`."""
    n_classes = len(box.low)
    gain = 0.0
    for q in range(contests.n_pairs[0]):
        a, b = contests.pair[q] // n_classes, contests.pair[q] % n_classes
        if c not in (a, b):
            continue
        if a == c:
            lowest = scale.log_weight[low] - scale.log_weight[box.high[b]]
            highest = scale.log_weight[high] - scale.log_weight[box.low[b]]
        else:
            lowest = scale.log_weight[box.low[a]] - scale.log_weight[high]
            highest = scale.log_weight[box.high[a]] - scale.log_weight[low]
        first, last = contests.start[q], contests.start[q + 1]
        x = first
        while x < last and contests.threshold[x] < lowest - SAME:
            x += 1
        least = np.inf
        inside = x
        while x < last and contests.threshold[x] <= highest + SAME:
            least = min(least, relaxed.value[x])
            x += 1
        if x == inside:
            # between two thresholds, where the cost is no less than at either of them
            least = relaxed.least[q]
            if x > first and relaxed.value[x - 1] < np.inf:
                least = max(least, relaxed.value[x - 1])
            if x < last and relaxed.value[x] < np.inf:
                least = max(least, relaxed.value[x])
        if least < np.inf:
            gain += least - relaxed.least[q]
    return gain


@inner
def _choose(scale: Scale, box: Box, contests: Contests) -> int:
    """Return the class to halve: one with many contests and a wide interval."""
    n_classes = len(box.low)
    weight = np.empty(n_classes)
    for n in range(n_classes):
        weight[n] = 1e-9  # a class without contests is halved last
    for q in range(contests.n_pairs[0]):
        a, b = contests.pair[q] // n_classes, contests.pair[q] % n_classes
        for x in range(contests.start[q], contests.start[q + 1]):
            weight[a] += contests.mass[x]
            weight[b] += contests.mass[x]
    chosen = -1
    most = 0.0
    for c in range(n_classes):
        width = scale.log_weight[box.high[c]] - scale.log_weight[box.low[c]]
        if weight[c] * width > most:
            most = weight[c] * width
            chosen = c
    return chosen
