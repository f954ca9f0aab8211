"""Exact line searches, coordinate descent, and the local search that goes on from its end.

A line is a class and the indices of all others. Searches return to the same lines again and again,
because descents from many starts end in the same few optima. So lines are remembered, and none is
searched twice. A 64-bit hash identifies a line. If two lines ever had the same hash, a search might
end at a worse point, but would still report it right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.flips import Flips, Workspace, count, find_flips, walk
from dnip.solvers.kernels.jit import jit, lean
from dnip.solvers.kernels.levels import Levels, nearest, weights_at
from dnip.solvers.kernels.values import Memo, Terms, value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dnip.base.typing import Booleans, Confusion, Floats, Integers, SmallIntegers
    from dnip.solvers.kernels.rows import Rows

# More lines than any descent searches.
_ALL = 1 << 62
# Lines that are remembered at most, twice over.
_LARGEST = 1 << 20


class Lines(NamedTuple):
    """A hash table with linear probing; once half full it takes no more."""

    key: NDArray[np.uint64]  # (C,) 0 where empty
    best: SmallIntegers  # (C,) a best index of the line
    value: Floats  # (C,) the objective there
    size: Integers  # (1,) lines held


def new_lines(expected: int) -> Lines:
    """Make room for about `expected` lines."""
    capacity = 1 << 4
    while capacity < 2 * expected and capacity < _LARGEST:
        capacity *= 2
    return Lines(
        np.zeros(capacity, np.uint64),
        np.zeros(capacity, np.uint32),
        np.zeros(capacity),
        np.zeros(1, np.int64),
    )


@jit
def mix(c: int, index: int) -> np.uint64:
    """Hash a class at an index (the finaliser of splitmix64)."""
    z = np.uint64(c + 1) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(index)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def find(lines: Lines, key: np.uint64) -> int:
    """Return the slot of a line, or the empty slot where it would go."""
    mask = np.uint64(len(lines.key) - 1)
    slot = key & mask
    while lines.key[slot] != np.uint64(0) and lines.key[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return int(slot)


@jit
def keep(lines: Lines, slot: int, key: np.uint64, index: int, value: float) -> None:
    """Put a line into the empty slot that `find` gave, while there is room."""
    if 2 * lines.size[0] < len(lines.key):
        lines.key[slot] = key
        lines.best[slot] = index
        lines.value[slot] = value
        lines.size[0] += 1


class Setup(NamedTuple):
    """What all descents on one problem share."""

    rows: Rows
    levels: Levels
    workspace: Workspace
    terms: Terms
    memo: Memo
    lines: Lines  # searched before; new ones are added


class Descent(NamedTuple):
    """The state of a descent. Single numbers are arrays of one element, so that they can change."""

    indices: Floats  # (N,)
    order: Integers  # (classes to search,)
    confusion: Confusion  # (N, N) counts at `indices`, if `counted`
    predicted: Integers  # (N,) their column sums
    hash: NDArray[np.uint64]  # (1,) of all indices
    turn: Integers  # (1,) classes looked at so far
    unmoved: Integers  # (1,) how many of these did not move, without a break
    counted: Booleans  # (1,) whether `confusion` is up to date; a known line does not change it
    value: Floats  # (1,) the objective at `indices`, infinite until a line is known


@lean
def settle(
    flips: Flips,
    terms: Terms,
    memo: Memo,
    indices: Floats,
    confusion: Confusion,
    predicted: Integers,
    c: int,
    scale: int,
) -> float:
    """Walk the line of class `c`, stop at its best index, and return the objective there.

    Indices and counts change in place. A class that is already at one of its best indices stays
    there; otherwise it goes to the lowest of them.
    """
    now = int(indices[c])
    walk(flips, c, now, 1, confusion, predicted)
    best = 1
    best_value = value(confusion, predicted, terms, memo)
    here = best_value
    now_value = best_value
    for k in range(2, scale + 1):
        if flips.start[k] < flips.start[k + 1]:
            walk(flips, c, k - 1, k, confusion, predicted)
            here = value(confusion, predicted, terms, memo)
            if here < best_value:
                best = k
                best_value = here
        if k == now:
            now_value = here
    if now_value <= best_value:
        best = now
    walk(flips, c, scale, best, confusion, predicted)
    indices[c] = best
    return best_value


@jit
def begin(indices: Floats, order: Integers) -> Descent:
    """Begin a descent from weight indices of shape (N,), which it changes in place."""
    n_classes = len(indices)
    here = np.zeros(1, np.uint64)
    for n in range(n_classes):
        here[0] ^= mix(n, int(indices[n]))
    return Descent(
        indices,
        order,
        np.zeros((n_classes, n_classes), np.int64),
        np.zeros(n_classes, np.int64),
        here,
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.bool_),
        np.full(1, np.inf),
    )


@jit
def next_class(descent: Descent, lines: Lines) -> int:
    """Follow the lines that were searched before; return the first class with an unknown line.

    The classes take turns in their order. When a whole round has moved none, the descent is at its
    end, and -1 is returned.
    """
    indices, order = descent.indices, descent.order
    while descent.unmoved[0] < len(order):
        c = order[descent.turn[0] % len(order)]
        now = int(indices[c])
        key = _others(descent, c) ^ mix(c, 0)
        slot = find(lines, key)
        if lines.key[slot] != key:
            return int(c)
        if lines.value[slot] < descent.value[0]:
            descent.value[0] = lines.value[slot]
            descent.counted[0] = descent.counted[0] and lines.best[slot] == now
            indices[c] = lines.best[slot]
        _turn(descent, c, now)
    return -1


@jit
def pass_class(descent: Descent, lines: Lines, now: int, value: float) -> None:
    """Record the line that `next_class` asked for: its class has gone from `now` to its best."""
    c = descent.order[descent.turn[0] % len(descent.order)]
    index = int(descent.indices[c])
    descent.indices[c] = now
    key = _others(descent, c) ^ mix(c, 0)
    keep(lines, find(lines, key), key, index, value)
    descent.value[0] = value
    descent.indices[c] = index
    _turn(descent, c, now)


@jit
def _others(descent: Descent, c: int) -> np.uint64:
    """Hash of all indices but that of `c`."""
    here: np.uint64 = descent.hash[0]
    return here ^ mix(c, int(descent.indices[c]))


@jit
def _turn(descent: Descent, c: int, before: int) -> None:
    index = int(descent.indices[c])
    descent.hash[0] ^= mix(c, before) ^ mix(c, index)
    descent.unmoved[0] = descent.unmoved[0] + 1 if index == before else 1
    descent.turn[0] += 1


@jit
def set_counts(descent: Descent, confusion: Confusion) -> None:
    """Record the counts at the descent's indices."""
    predicted = descent.predicted
    predicted[:] = 0
    for i in range(len(predicted)):
        for j in range(len(predicted)):
            descent.confusion[i, j] = confusion[i, j]
            predicted[j] += confusion[i, j]
    descent.counted[0] = True


@jit
def descend(setup: Setup, descent: Descent, most: int) -> int:
    """Search the classes in turn until a whole round moves none, or `most` lines are searched.

    A class that is at one of its best indices stays there. A line that was searched before is not
    searched again. Returns how many lines were searched; fewer than `most` mean that the descent
    is at its end.
    """
    levels, workspace, indices = setup.levels, setup.workspace, descent.indices
    for n_searches in range(most):
        c = next_class(descent, setup.lines)
        if c < 0:
            return n_searches
        weights = weights_at(levels, indices)
        if not descent.counted[0]:
            set_counts(descent, count(setup.rows, weights))
        find_flips(setup.rows, weights, c, levels, workspace)
        now = int(indices[c])
        counts = descent.confusion, descent.predicted
        value = settle(workspace.flips, setup.terms, setup.memo, indices, *counts, c, levels.size)
        pass_class(descent, setup.lines, now, value)
    return most


@jit
def kick(indices: Floats, factors: Floats, top: float, order: Integers, levels: Levels) -> Floats:
    """Move the classes of `order` away from a local optimum: scaled, then rounded to the scale.

    Parameters
    ----------
    indices, factors : ndarray of shape (N,)
        The optimum, and what each weight is multiplied by.
    top : float
        The index that the largest weight gets; 0 leaves it as it is.
    """
    kicked = indices.copy()
    largest = 0.0
    for c in order:
        kicked[c] = levels.weight[int(indices[c])] * factors[c]
        largest = max(largest, kicked[c])
    height = levels.weight[int(top)] / largest if top > 0 else 1.0
    for c in order:
        kicked[c] = nearest(kicked[c] * height, levels)
    return kicked


@jit
def explore(
    setup: Setup,
    indices: Floats,
    value: float,
    factors: Floats,
    tops: Floats,
    orders: Integers,
    enough: int,
) -> tuple[float, int]:
    """Kick and descend again and again; a point that is no worse is the next to be kicked.

    Parameters
    ----------
    setup : Setup
    indices : ndarray of shape (N,)
        A local optimum; changed in place.
    value : float
        The objective there.
    factors, tops, orders : ndarray of shape (B, N), (B,), (B, classes to search)
        One kick each, and the order in which to search from there.
    enough : int
        Line searches after which no further kick is tried.

    Returns
    -------
    value : float
        The objective at the end.
    n_searches : int
        Lines that had to be searched.
    """
    n_searches = 0
    for b in range(len(tops)):
        trial = begin(kick(indices, factors[b], tops[b], orders[b], setup.levels), orders[b])
        n_searches += descend(setup, trial, _ALL)
        if trial.value[0] <= value:
            value = trial.value[0]
            indices[:] = trial.indices
        if n_searches >= enough:
            break
    return value, n_searches
