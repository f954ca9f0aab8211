"""Counts and flips of rows that stay in the table.

Several threads may share a table: each takes a part of the open rows, and the results add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.solvers.kernels.flips import Flips, add_flip, end_flips, start_flips
from dnip.solvers.kernels.jit import jit, lean
from dnip.solvers.kernels.levels import Levels, first_winning_indices
from dnip.solvers.kernels.rows import BLOCK

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers, ShortIntegers, SmallIntegers
    from dnip.solvers.kernels.rows import InPlaceRows


@jit
def count_in_place(rows: InPlaceRows, weights: Floats) -> Confusion:
    """Count the open rows at weights of shape (N,)."""
    n_classes = len(weights)
    confusion = np.zeros((n_classes, n_classes), np.int64)
    weighted = len(rows.mass) > 1
    for m in rows.row:
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
    rival: ShortIntegers,
    slot: ShortIntegers,
    tally: Integers,
) -> None:
    """Find the flips of class `c` in the R open rows; the other classes have `weights`.

    Parameters
    ----------
    rival, slot : ndarray of shape (R,) or (BLOCK,)
        Filled with each row's rival and the index at which the row flips. With a tally, there must
        be room for one block of rows.
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
    for start in range(0, len(rows.row), BLOCK):
        row = rows.row[start : start + BLOCK]
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
    rows: InPlaceRows,
    row: SmallIntegers,
    rival: ShortIntegers,
    slot: ShortIntegers,
    scale: int,
    flips: Flips,
) -> None:
    """List the flips of some table rows, each with its rival and the index at which it flips."""
    weighted = len(rows.mass) > 1
    start_flips(slot, len(slot), scale, flips.start)
    for i in range(len(slot)):
        if slot[i] <= scale:
            m = row[i]
            add_flip(flips, slot[i], rows.label[m], rival[i], rows.mass[m if weighted else 0])
    end_flips(scale, flips.start)
