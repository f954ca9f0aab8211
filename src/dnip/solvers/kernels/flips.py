"""Confusion counts at one point, and where rows flip as one class goes from index 1 to K.

Counts follow the prediction rule: argmax of ω_n·p_mn, the lowest class on a tie.

As the index of one class grows, each row flips at most once: from its *rival*, the best of the
other classes, to the class itself. It flips at the smallest index whose weight times p is ahead of
the rival's product. Flips in order of index give the confusion matrix at all K indices in one walk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.jit import jit, lean
from dnip.solvers.kernels.levels import Levels, first_winning_indices
from dnip.solvers.kernels.rows import BLOCK, DenseRows, Rows, SparseRows, by_layout

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers, SmallIntegers

# Measured: listing a row and walking over it takes as long as clearing and reading this many cells
# of a tally.
_CELLS_PER_ROW = 8


class Flips(NamedTuple):
    """Flips of one class in order of index: those at k are ``start[k]`` to ``start[k + 1]``."""

    start: Integers  # (K + 2,)
    true: SmallIntegers  # (F,) label of the flipping rows
    rival: SmallIntegers  # (F,) class that they leave
    counts: Integers  # (F,) how many examples they count as


class Workspace(NamedTuple):
    """Memory for the flips of any class, and for the numbers that are needed to find them."""

    flips: Flips
    rival: SmallIntegers  # (B,) each row's rival, for a block of rows or all that a class can win
    score: Floats  # (B,) the rival's score
    slot: SmallIntegers  # (B,) the index at which the row flips
    tally: Integers  # (K + 2, N, N), flat: examples per index, true class and rival; none if listed


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
    if isinstance(rows, DenseRows):
        n_flips = n_found = len(rows.label)
        cells = (scale + 2) * len(rows.settled) ** 2
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
    )


@jit
def _count_dense(rows: DenseRows, weights: Floats) -> Confusion:
    confusion = rows.settled.copy()
    n_classes, n_rows = rows.columns.shape
    best = np.empty(BLOCK)
    winner = np.empty(BLOCK, np.uint32)
    for first in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - first)
        best[:] = -1.0
        for j in range(n_classes):
            weight = weights[j]
            column = rows.columns[j, first : first + n]
            for i in range(n):
                score = weight * column[i]
                ahead = score > best[i]
                winner[i] = j if ahead else winner[i]
                best[i] = score if ahead else best[i]
        for i in range(n):
            confusion[rows.label[first + i], winner[i]] += rows.counts[first + i]
    return confusion


@jit
def _count_sparse(rows: SparseRows, weights: Floats) -> Confusion:
    confusion = rows.settled.copy()
    for r in range(len(rows.label)):
        winner = -1
        best = -1.0
        for entry in range(rows.row_start[r], rows.row_start[r + 1]):
            score = weights[rows.row_class[entry]] * rows.row_p[entry]
            if score > best:
                best = score
                winner = rows.row_class[entry]
        confusion[rows.label[r], winner] += rows.counts[r]
    return confusion


#: Confusion counts of shape (N, N) of rows at weights of shape (N,).
count: Callable[[Rows, Floats], Confusion] = by_layout(dense=_count_dense, sparse=_count_sparse)


@lean
def find_dense_flips(
    rows: DenseRows, weights: Floats, c: int, levels: Levels, workspace: Workspace
) -> None:
    """Find the flips of class `c`, the others having weights of shape (N,)."""
    flips, scale = workspace.flips, levels.size
    if len(workspace.tally) > 0:
        workspace.tally[:] = 0
        tally_dense_flips(rows, weights, c, levels, workspace)
        list_tally(workspace.tally, len(weights), scale, flips)
        return
    n_rows = len(rows.label)
    for first in range(0, n_rows, BLOCK):
        last = min(first + BLOCK, n_rows)
        rival, slot = workspace.rival[first:last], workspace.slot[first:last]
        _find_dense_slots(rows, weights, c, levels, first, workspace.score, rival, slot)
    start_flips(workspace.slot, n_rows, scale, flips.start)
    for r in range(n_rows):
        k = workspace.slot[r]
        if k <= scale:
            add_flip(flips, k, rows.label[r], workspace.rival[r], rows.counts[r])
    end_flips(scale, flips.start)


@lean
def tally_dense_flips(
    rows: DenseRows, weights: Floats, c: int, levels: Levels, workspace: Workspace
) -> None:
    """Add the flips of class `c` to the workspace's tally."""
    n_rows, n_classes = len(rows.label), len(weights)
    tally = workspace.tally
    for first in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - first)
        rival, slot = workspace.rival[:n], workspace.slot[:n]
        _find_dense_slots(rows, weights, c, levels, first, workspace.score, rival, slot)
        label, counts = rows.label[first : first + n], rows.counts[first : first + n]
        for i in range(n):
            slot[i] = (slot[i] * n_classes + label[i]) * n_classes + rival[i]
        for i in range(n):
            tally[slot[i]] += counts[i]


@lean
def _find_dense_slots(
    rows: DenseRows,
    weights: Floats,
    c: int,
    levels: Levels,
    first: int,
    score: Floats,
    rival: SmallIntegers,
    slot: SmallIntegers,
) -> None:
    """Find the rivals and flips of a block of rows from `first` on: branch-free over rows."""
    n = len(slot)
    best = score[:n]
    best[:] = -1.0
    rival[:] = 0
    for j in range(len(weights)):
        if j == c:
            continue
        weight = weights[j]
        column = rows.columns[j, first : first + n]
        for i in range(n):
            here = weight * column[i]
            ahead = here > best[i]
            rival[i] = j if ahead else rival[i]
            best[i] = here if ahead else best[i]
    first_winning_indices(rows.columns[c, first : first + n], best, rival, c, levels, slot)


@lean
def list_tally(tally: Integers, n_classes: int, scale: int, flips: Flips) -> None:
    """List the flips in a tally of shape (K + 2, N, N), flat, at the indices 1..K."""
    n_flips = 0
    cell = n_classes**2
    for k in range(1, scale + 1):
        flips.start[k] = n_flips
        for i in range(n_classes):
            for j in range(n_classes):
                if tally[cell] > 0:
                    flips.true[n_flips] = i
                    flips.rival[n_flips] = j
                    flips.counts[n_flips] = tally[cell]
                    n_flips += 1
                cell += 1
    flips.start[scale + 1] = n_flips


@lean
def find_sparse_flips(
    rows: SparseRows, weights: Floats, c: int, levels: Levels, workspace: Workspace
) -> None:
    """Find the flips of class `c`, the others having weights of shape (N,)."""
    flips, rival, best, slot = workspace.flips, workspace.rival, workspace.score, workspace.slot
    first = rows.class_start[c]
    n_rows = rows.class_start[c + 1] - first
    for i in range(n_rows):
        r = rows.class_row[first + i]
        row_rival = -1
        row_best = -1.0
        for entry in range(rows.row_start[r], rows.row_start[r + 1]):
            j = rows.row_class[entry]
            score = weights[j] * rows.row_p[entry]
            ahead = (score > row_best) & (j != c)
            row_rival = j if ahead else row_rival
            row_best = score if ahead else row_best
        rival[i] = row_rival
        best[i] = row_best
    p = rows.class_p[first : first + n_rows]
    first_winning_indices(p, best, rival, c, levels, slot[:n_rows])
    start_flips(slot, n_rows, levels.size, flips.start)
    for i in range(n_rows):
        if slot[i] <= levels.size:
            r = rows.class_row[first + i]
            add_flip(flips, slot[i], rows.label[r], rival[i], rows.counts[r])
    end_flips(levels.size, flips.start)


# A counting sort in three steps: start, add, end.


@lean
def start_flips(slot: SmallIntegers, n: int, scale: int, start: Integers) -> None:
    """Make `start[k]` the place of the first flip at k, for n flips at the indices `slot`."""
    start[:] = 0
    for i in range(n):
        if slot[i] <= scale:
            start[slot[i] + 1] += 1
    for k in range(2, scale + 2):
        start[k] += start[k - 1]


@lean
def add_flip(flips: Flips, k: int, true: int, rival: int, n: int) -> None:
    """Put a flip in its place, and move the start of those at k behind it."""
    at = flips.start[k]
    flips.start[k] += 1
    flips.true[at] = true
    flips.rival[at] = rival
    flips.counts[at] = n


@lean
def end_flips(scale: int, start: Integers) -> None:
    """Move each start back: filling has moved it to its end."""
    for k in range(scale + 1, 0, -1):
        start[k] = start[k - 1]
    start[1] = 0


#: Fill the workspace with the flips of a class, the others having weights of shape (N,).
find_flips: Callable[[Rows, Floats, int, Levels, Workspace], None] = by_layout(
    dense=find_dense_flips, sparse=find_sparse_flips
)


@lean
def add_flips(part: Flips, scale: int, flips: Flips) -> None:
    """Put each flip of a part in its place; `flips.start` must have room for it."""
    for k in range(1, scale + 1):
        for i in range(part.start[k], part.start[k + 1]):
            add_flip(flips, k, part.true[i], part.rival[i], part.counts[i])


@lean
def walk(
    flips: Flips, c: int, origin: int, target: int, confusion: Confusion, predicted: Integers
) -> None:
    """Change the counts, in place, as class `c` goes from index `origin` to index `target`."""
    low, high = min(origin, target), max(origin, target)
    sign = 1 if target > origin else -1
    gained = 0
    for i in range(flips.start[low + 1], flips.start[high + 1]):
        true, rival, n = flips.true[i], flips.rival[i], sign * flips.counts[i]
        confusion[true, rival] -= n
        confusion[true, c] += n
        predicted[rival] -= n
        gained += n
    predicted[c] += gained
