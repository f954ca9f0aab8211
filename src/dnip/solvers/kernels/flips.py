"""Confusion counts at one point, and where rows flip as one class goes from index 1 to K."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, NamedTuple

import numpy as np

from dnip.base.typing import Confusion, Floats, Integers, SmallIntegers
from dnip.solvers.kernels.door import Struct, kernel
from dnip.solvers.kernels.levels import Levels
from dnip.solvers.kernels.rows import BLOCK, Rows

# Measured: listing a row and walking over it takes as long as clearing and reading this many cells
# of a tally.
_CELLS_PER_ROW = 8


class Flips(NamedTuple):
    """Flips of one class in order of index: those at k are ``start[k]`` to ``start[k + 1]``."""

    start: Annotated[Integers, "n_starts"]  # (K + 2,)
    true: SmallIntegers  # (F,) label of the flipping rows
    rival: SmallIntegers  # (F,) class that they leave
    counts: Integers  # (F,) how many examples they count as


class Workspace(NamedTuple):
    """Memory for the flips of any class, and for the numbers that are needed to find them."""

    flips: Flips
    rival: SmallIntegers  # (B,) each row's rival, for a block of rows or all that a class can win
    score: Floats  # (B,) the rival's score
    slot: SmallIntegers  # (B,) the index at which the row flips
    tally: Annotated[
        Integers, "n_cells"
    ]  # (K + 2, N, N), flat: counts per index, true class and rival; none if listed
    weights: Floats  # (N,) room
    confusion: Confusion  # (N, N) room
    predicted: Integers  # (N,) room


def new_flips(scale: int, most: int) -> Flips:
    """Make room for up to `most` flips over indices 1..`scale`."""
    return Flips(
        np.zeros(scale + 2, np.int64),
        np.empty(most, np.uint32),
        np.empty(most, np.uint32),
        np.empty(most, np.int64),
    )


def new_workspace(rows: Rows, scale: int) -> Workspace:
    """Make room for the flips of any class of `rows` over indices 1..`scale`.

    Flips of dense rows are tallied where that is faster than to list them one by one.
    """
    n_cells = 0
    n_classes = len(rows.settled)
    if rows.is_dense:
        n_flips = n_found = len(rows.label)
        cells = (scale + 2) * n_classes**2
        if cells <= _CELLS_PER_ROW * n_flips:
            n_flips, n_found, n_cells = min(n_flips, cells), BLOCK, cells
    else:
        n_flips = n_found = int(np.diff(rows.class_start).max())
    return Workspace(
        new_flips(scale, n_flips),
        np.empty(n_found, np.uint32),
        np.empty(n_found),
        np.empty(n_found, np.uint32),
        np.zeros(n_cells, np.int64),
        np.empty(n_classes),
        np.empty((n_classes, n_classes), np.int64),
        np.empty(n_classes, np.int64),
    )


_count = kernel("count", NoneType, Rows, Floats, Confusion)
_add_flips = kernel("add_flips", NoneType, Flips, int, Flips)
_end_flips = kernel("end_flips", NoneType, int, Integers)


def count(rows: Rows | Struct, weights: Floats) -> Confusion:
    """Return confusion counts of shape (N, N) of rows at weights of shape (N,)."""
    confusion = np.empty((len(weights), len(weights)), np.int64)
    _count(rows, weights, confusion)
    return confusion


#: Fill the workspace with the flips of a class, the others having weights of shape (N,).
find_flips = kernel("find_flips", NoneType, Rows, Floats, int, Levels, Workspace)


def join_flips(parts: list[Flips], scale: int, joined: Flips) -> None:
    """Put the flips of parts of a table together; `joined` must have room for all."""
    joined.start[:] = np.sum([flips.start for flips in parts], axis=0)
    for flips in parts:
        _add_flips(flips, scale, joined)
    _end_flips(scale, joined.start)


#: Change the counts, in place, as a class goes from one index to another.
walk = kernel("walk", NoneType, Flips, int, int, int, Confusion, Integers, int)
