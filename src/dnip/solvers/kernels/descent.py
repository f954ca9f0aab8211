"""Exact line searches, coordinate descent, and the local search that goes on from its end."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dnip.base.typing import Booleans, Confusion, Floats, Integers, SmallIntegers
from dnip.solvers.kernels.door import Struct, kernel
from dnip.solvers.kernels.flips import Flips, Workspace
from dnip.solvers.kernels.levels import Levels
from dnip.solvers.kernels.rows import Rows
from dnip.solvers.kernels.values import Memo, Terms

Hashes: TypeAlias = NDArray[np.uint64]

# Lines that are remembered at most, twice over.
_LARGEST = 1 << 20


class Lines(NamedTuple):
    """A hash table with linear probing; once half full it takes no more."""

    key: Annotated[Hashes, "capacity"]  # (C,) 0 where empty
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

    indices: Annotated[Floats, "n_classes"]  # (N,)
    order: Annotated[Integers, "n_order"]  # (classes to search,)
    confusion: Confusion  # (N, N) counts at `indices`, if `counted`
    predicted: Integers  # (N,) their column sums
    hash: Hashes  # (1,) of all indices
    turn: Integers  # (1,) classes looked at so far
    unmoved: Integers  # (1,) how many of these did not move, without a break
    counted: Booleans  # (1,) whether `confusion` is up to date; a known line does not change it
    value: Floats  # (1,) the objective at `indices`, infinite until a line is known


#: Walk the line of a class, stop at its best index, and return the objective there.
settle = kernel("settle", float, Flips, Terms, Memo, Floats, Confusion, Integers, int, int)
#: Follow the lines searched before; return the first class with an unknown line, or -1 at the end.
next_class = kernel("next_class", int, Descent, Lines)
#: Record the line that `next_class` asked for: its class has gone from an index to its best.
pass_class = kernel("pass_class", NoneType, Descent, Lines, int, float)
#: Search the classes in turn until a whole round moves none, or enough lines are searched.
descend = kernel("descend", int, Setup, Descent, int)

_begin = kernel("begin", NoneType, Descent)
_explore = kernel(
    "explore", int, Setup, Descent, Floats, Floats, Floats, Floats, Integers, int, int
)
_kick = kernel("kick", NoneType, Floats, Floats, float, Integers, int, Levels, int, Floats)


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
    _begin(descent)
    return descent


def set_counts(descent: Descent, confusion: Confusion) -> None:
    """Record the counts at the descent's indices."""
    descent.confusion[:] = confusion
    descent.predicted[:] = confusion.sum(axis=0)
    descent.counted[0] = True


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
    _kick(indices, factors, top, order, len(order), levels, len(indices), kicked)
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
    n_searches = _explore(setup, trial, indices, reached, *kicks, len(tops), enough)
    return float(reached[0]), n_searches
