"""Counts and flips of rows where they stand in the table, a run of open rows at a time.

The threads of a search each take a run; what they count adds up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.solvers.kernels.flips import Flips, add_flip, end_flips, start_flips
from dnip.solvers.kernels.jit import jit, lean
from dnip.solvers.kernels.levels import Levels, first_winning_indices
from dnip.solvers.kernels.rows import BLOCK

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers, ShortIntegers
    from dnip.solvers.kernels.rows import InPlaceRows


@jit
def count_in_place(rows: InPlaceRows, weights: Floats, first: int, last: int) -> Confusion:
    """Count the open rows first..last - 1 at weights of shape (N,)."""
    n_classes = len(weights)
    confusion = np.zeros((n_classes, n_classes), np.int64)
    weighted = len(rows.mass) > 1
    for r in range(first, last):
        m = rows.row[r]
        p = rows.p[m]
        best = -1.0
        winner = np.uint32(0)
        for j in range(n_classes):
            score = weights[j] * p[j]
            ahead = score > best
            winner = np.uint32(j) if ahead else winner
            best = score if ahead else best
        confusion[rows.label[m], winner] += rows.mass[m if weighted else 0]
    return confusion


@jit
def find_in_place(
    rows: InPlaceRows,
    weights: Floats,
    c: int,
    levels: Levels,
    first: int,
    last: int,
    rival: ShortIntegers,
    slot: ShortIntegers,
    tally: Integers,
) -> None:
    """Find the flips of class `c` in the open rows first..last - 1, the others having `weights`.

    Parameters
    ----------
    rival, slot : ndarray of shape (R,)
        Filled, for these rows, with the rivals and the indices at which the rows flip. With a
        tally, they are room for a block of rows, and of no further use.
    tally : ndarray of shape ((K + 2)·N·N,) or (0,)
        Filled with the mass per index, true class and rival.
    """
    tally[:] = 0
    tallied = len(tally) > 0
    n_classes = len(weights)
    others = weights.copy()
    others[c] = -1.0  # below every rival: a row's largest product is above 0
    weighted = len(rows.mass) > 1
    p_c = np.empty(BLOCK)
    best = np.empty(BLOCK)
    for start in range(first, last, BLOCK):
        row = rows.row[start : min(start + BLOCK, last)]
        n = len(row)
        at = 0 if tallied else start
        block_rival, block_slot = rival[at : at + n], slot[at : at + n]
        for i in range(n):
            p = rows.p[row[i]]
            row_best = -2.0
            row_rival = np.uint32(0)
            for j in range(n_classes):
                score = others[j] * p[j]
                ahead = score > row_best
                row_rival = np.uint32(j) if ahead else row_rival
                row_best = score if ahead else row_best
            best[i] = row_best
            block_rival[i] = row_rival
            p_c[i] = p[c]
        first_winning_indices(p_c, best, block_rival, c, levels, block_slot)
        if tallied:
            for i in range(n):
                cell = (block_slot[i] * n_classes + rows.label[row[i]]) * n_classes + block_rival[i]
                tally[cell] += rows.mass[row[i] if weighted else 0]


@lean
def list_in_place(
    rows: InPlaceRows, rival: ShortIntegers, slot: ShortIntegers, scale: int, flips: Flips
) -> None:
    """List the flips of all open rows."""
    weighted = len(rows.mass) > 1
    start_flips(slot, len(slot), scale, flips.start)
    for r in range(len(slot)):
        if slot[r] <= scale:
            m = rows.row[r]
            add_flip(flips, slot[r], rows.label[m], rival[r], rows.mass[m if weighted else 0])
    end_flips(scale, flips.start)
