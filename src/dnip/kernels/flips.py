"""Where rows flip: what changes as one class goes from index 1 to K.

As one class's index grows, every row flips at most once: from its *rival*, the best of the other
classes, to the class itself, at the smallest k with k·p ahead of the rival. Grouped by k, the
flips turn a line of K weight vectors into a walk over confusion matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.kernels.jit import jit
from dnip.kernels.rows import BLOCK, DenseRows, Rows, SparseRows, by_layout

if TYPE_CHECKING:
    from dnip.typing import Confusion, Floats, Integers, SmallIntegers


class Flips(NamedTuple):
    """Flips of one class in order of index: those at k are ``start[k]`` to ``start[k + 1]``."""

    start: Integers  # (K + 2,)
    true: SmallIntegers  # (F,) label of the flipping rows
    rival: SmallIntegers  # (F,) class that they leave
    mass: Integers  # (F,) how many examples they count as


class Workspace(NamedTuple):
    """Room for the flips of any class, and for what it takes to find them."""

    flips: Flips
    rival: SmallIntegers  # (B,) each row's rival, for a block of rows or all that a class can win
    score: Floats  # (B,) the rival's score
    slot: SmallIntegers  # (B,) where the row counts: its index k, or its cell of the tally
    tally: Integers  # (K + 2, N, N), flat: mass per index, true class and rival, for dense rows


def new_flips(scale: int, most: int) -> Flips:
    """Make room for up to `most` flips over indices 1..`scale`."""
    return Flips(
        np.zeros(scale + 2, np.int64),
        np.empty(most, np.uint32),
        np.empty(most, np.uint32),
        np.empty(most, np.int64),
    )


def new_workspace(rows: Rows, scale: int) -> Workspace:
    """Make room for the flips of any class of `rows` over indices 1..`scale`."""
    if isinstance(rows, DenseRows):
        return dense_workspace(len(rows.label), len(rows.settled), scale)
    return sparse_workspace(int(np.diff(rows.class_start).max()), scale)


def dense_workspace(n_rows: int, n_classes: int, scale: int) -> Workspace:
    """Make room for the flips of `n_rows` dense rows."""
    n_cells = (scale + 2) * n_classes**2
    return _workspace(scale, min(n_rows, n_cells), BLOCK, n_cells)


def sparse_workspace(n_rows: int, scale: int) -> Workspace:
    """Make room for the flips of a class that can win `n_rows` sparse rows."""
    return _workspace(scale, n_rows, n_rows, 0)


def _workspace(scale: int, n_flips: int, n_block: int, n_cells: int) -> Workspace:
    return Workspace(
        new_flips(scale, n_flips),
        np.empty(n_block, np.uint32),
        np.empty(n_block),
        np.empty(n_block, np.uint32),
        np.zeros(n_cells, np.int64),
    )


@jit
def first_winning_index(p: float, rival_score: float, ties_win: bool, scale: int) -> int:
    """Smallest k in 1..K for which k·p beats `rival_score`; K + 1 if there is none.

    The quotient says where to look; the products decide, under the tie rule of the prediction
    itself. Rounding moves the quotient by less than one, so two products settle it.
    """
    k = max(np.floor(rival_score / p), 1.0)  # infinite for tiny p: only the result is an integer
    losses = 0.0
    for step in range(2):
        score = (k + step) * p
        wins = (score > rival_score) | (ties_win & (score == rival_score))
        losses += 0.0 if wins else 1.0
    return int(min(k + losses, scale + 1.0))


@jit
def find_dense_flips(
    rows: DenseRows, indices: Floats, c: int, scale: int, workspace: Workspace
) -> None:
    """Find the flips of class `c`, the others standing at `indices`."""
    workspace.tally[:] = 0
    tally_dense_flips(rows, indices, c, scale, workspace)
    list_tally(workspace.tally, len(indices), scale, workspace.flips)


@jit
def tally_dense_flips(
    rows: DenseRows, indices: Floats, c: int, scale: int, workspace: Workspace
) -> None:
    """Add the flips of class `c` to the workspace's tally: branch-free over rows."""
    n_classes, n_rows = rows.columns.shape
    tally = workspace.tally
    for first in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - first)
        rival, best = workspace.rival[:n], workspace.score[:n]
        slot = workspace.slot[:n]
        best[:] = -1.0
        rival[:] = 0
        for j in range(n_classes):
            if j == c:
                continue
            index = indices[j]
            column = rows.columns[j, first : first + n]
            for i in range(n):
                score = index * column[i]
                ahead = score > best[i]
                rival[i] = j if ahead else rival[i]
                best[i] = score if ahead else best[i]
        column = rows.columns[c, first : first + n]
        label = rows.label[first : first + n]
        for i in range(n):
            k = first_winning_index(column[i], best[i], c < rival[i], scale)
            slot[i] = (k * n_classes + label[i]) * n_classes + rival[i]
        mass = rows.mass[first : first + n]
        for i in range(n):
            tally[slot[i]] += mass[i]


@jit
def list_tally(tally: Integers, n_classes: int, scale: int, flips: Flips) -> None:
    """List what a tally of shape (K + 2, N, N), flat, holds at the indices 1..K."""
    n_flips = 0
    cell = n_classes**2
    for k in range(1, scale + 1):
        flips.start[k] = n_flips
        for i in range(n_classes):
            for j in range(n_classes):
                if tally[cell] > 0:
                    flips.true[n_flips] = i
                    flips.rival[n_flips] = j
                    flips.mass[n_flips] = tally[cell]
                    n_flips += 1
                cell += 1
    flips.start[scale + 1] = n_flips


@jit
def find_rivals(
    rows: SparseRows, indices: Floats, c: int, rival: SmallIntegers, best: Floats
) -> int:
    """Find class `c`'s rival and its score in each row that `c` can win; return how many."""
    first = rows.class_start[c]
    n_rows = rows.class_start[c + 1] - first
    for i in range(n_rows):
        r = rows.class_row[first + i]
        row_rival = -1
        row_best = -1.0
        for entry in range(rows.row_start[r], rows.row_start[r + 1]):
            j = rows.row_class[entry]
            score = indices[j] * rows.row_p[entry]
            ahead = (score > row_best) & (j != c)
            row_rival = j if ahead else row_rival
            row_best = score if ahead else row_best
        rival[i] = row_rival
        best[i] = row_best
    return int(n_rows)


@jit
def find_sparse_flips(
    rows: SparseRows, indices: Floats, c: int, scale: int, workspace: Workspace
) -> None:
    """Find the flips of class `c`, the others standing at `indices`, in the rows it can win."""
    rival, best, slot = workspace.rival, workspace.score, workspace.slot
    n_rows = find_rivals(rows, indices, c, rival, best)
    first = rows.class_start[c]
    for i in range(n_rows):
        slot[i] = first_winning_index(rows.class_p[first + i], best[i], c < rival[i], scale)
    list_sparse_flips(rows, c, scale, workspace)


@jit
def list_sparse_flips(rows: SparseRows, c: int, scale: int, workspace: Workspace) -> None:
    """List the flips of class `c` by the indices that stand in the workspace's `slot`."""
    flips, rival, slot = workspace.flips, workspace.rival, workspace.slot
    first = rows.class_start[c]
    n_rows = rows.class_start[c + 1] - first
    start_flips(slot, n_rows, scale, flips.start)
    for i in range(n_rows):
        if slot[i] <= scale:
            r = rows.class_row[first + i]
            add_flip(flips, slot[i], rows.label[r], rival[i], rows.mass[r])
    end_flips(scale, flips.start)


# A counting sort in three steps: flips are few and go straight to where they belong.


@jit
def start_flips(slot: SmallIntegers, n: int, scale: int, start: Integers) -> None:
    """Make `start[k]` the place of the first flip at k, for n flips at the indices `slot`."""
    start[:] = 0
    for i in range(n):
        if slot[i] <= scale:
            start[slot[i] + 1] += 1
    for k in range(2, scale + 2):
        start[k] += start[k - 1]


@jit
def add_flip(flips: Flips, k: int, true: int, rival: int, mass: int) -> None:
    """Put a flip in its place, and move the start of those at k behind it."""
    at = flips.start[k]
    flips.start[k] += 1
    flips.true[at] = true
    flips.rival[at] = rival
    flips.mass[at] = mass


@jit
def end_flips(scale: int, start: Integers) -> None:
    """Move each start, which filling took to its end, back."""
    for k in range(scale + 1, 0, -1):
        start[k] = start[k - 1]
    start[1] = 0


#: Fill the workspace with the flips of a class, the others standing at weight indices.
find_flips: Callable[[Rows, Floats, int, int, Workspace], None] = by_layout(
    dense=find_dense_flips, sparse=find_sparse_flips
)


@jit
def add_flips(part: Flips, scale: int, flips: Flips) -> None:
    """Put each flip of a part in its place; `flips.start` must have room for it."""
    for k in range(1, scale + 1):
        for i in range(part.start[k], part.start[k + 1]):
            add_flip(flips, k, part.true[i], part.rival[i], part.mass[i])


@jit
def walk(
    flips: Flips, c: int, origin: int, target: int, confusion: Confusion, predicted: Integers
) -> None:
    """Carry the counts from index `origin` of class `c`, 1..K, to index `target`, in place."""
    low, high = min(origin, target), max(origin, target)
    for i in range(flips.start[low + 1], flips.start[high + 1]):
        mass = flips.mass[i] if target > origin else -flips.mass[i]
        confusion[flips.true[i], flips.rival[i]] -= mass
        confusion[flips.true[i], c] += mass
        predicted[flips.rival[i]] -= mass
        predicted[c] += mass
