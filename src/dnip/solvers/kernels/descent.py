"""Exact line searches, coordinate descent, and the local search that goes on from its end."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dnip.base.typing import Booleans, Confusion, Floats, Integers, SmallIntegers
from dnip.solvers.kernels.door import Struct, call, kernels
from dnip.solvers.kernels.flips import Flips, Workspace
from dnip.solvers.kernels.levels import Levels
from dnip.solvers.kernels.rows import Rows
from dnip.solvers.kernels.values import Memo, Terms

Hashes: TypeAlias = NDArray[np.uint64]

# Lines that are remembered at most, twice over.
_LARGEST = 1 << 20


class Lines(NamedTuple):
    """A hash table with linear probing; once half full it takes no more."""

    key: Hashes  # (C,) 0 where empty
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
    hash: Hashes  # (1,) of all indices
    turn: Integers  # (1,) classes looked at so far
    unmoved: Integers  # (1,) how many of these did not move, without a break
    counted: Booleans  # (1,) whether `confusion` is up to date; a known line does not change it
    value: Floats  # (1,) the objective at `indices`, infinite until a line is known


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
    counts = confusion, predicted
    return float(call(kernels.settle_line, flips, terms, memo, indices, *counts, c, scale))


def begin(indices: Floats, order: Integers) -> Descent:
    """Begin a descent from weight indices of shape (N,), which it changes in place."""
    n_classes = len(indices)
    descent = Descent(
        indices,
        np.ascontiguousarray(order),
        np.zeros((n_classes, n_classes), np.int64),
        np.zeros(n_classes, np.int64),
        np.zeros(1, np.uint64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.bool_),
        np.zeros(1),
    )
    call(kernels.begin_descent, descent)
    return descent


def next_class(descent: Descent, lines: Lines) -> int:
    """Follow the lines that were searched before; return the first class with an unknown line.

    The classes take turns in their order. When a whole round has moved none, the descent is at its
    end, and -1 is returned.
    """
    return int(call(kernels.next_class_of, descent, lines))


def pass_class(descent: Descent, lines: Lines, now: int, value: float) -> None:
    """Record the line that `next_class` asked for: its class has gone from `now` to its best."""
    call(kernels.pass_class_of, descent, lines, now, value)


def set_counts(descent: Descent, confusion: Confusion) -> None:
    """Record the counts at the descent's indices."""
    descent.confusion[:] = confusion
    descent.predicted[:] = confusion.sum(axis=0)
    descent.counted[0] = True


def descend(setup: Setup | Struct, descent: Descent, most: int) -> int:
    """Search the classes in turn until a whole round moves none, or `most` lines are searched.

    A class that is at one of its best indices stays there. A line that was searched before is not
    searched again. Returns how many lines were searched; fewer than `most` mean that the descent
    is at its end.
    """
    return int(call(kernels.descend_from, setup, descent, most))


def kick(indices: Floats, factors: Floats, top: float, order: Integers, levels: Levels) -> Floats:
    """Move the classes of `order` away from a local optimum: scaled, then rounded to the scale.

    Parameters
    ----------
    indices, factors : ndarray of shape (N,)
        The optimum, and what each weight is multiplied by.
    top : float
        The index that the largest weight gets; 0 leaves it as it is.
    """
    kicked = np.empty_like(indices)
    sizes = len(order), levels, len(indices)
    call(kernels.kick_from, indices, factors, top, order, *sizes, kicked)
    return kicked


def explore(
    setup: Setup | Struct,
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
    trial = begin(indices.copy(), orders[0].copy())
    reached = np.array([value])
    kicks = factors, tops, orders
    n_searches = call(
        kernels.explore_from, setup, trial, indices, reached, *kicks, len(tops), enough
    )
    return float(reached[0]), int(n_searches)
