"""Counts and flips of rows where they stand in the table, a run of open rows at a time.

The threads of a search each take a run; what they count adds up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.kernels.flips import first_winning_index
from dnip.kernels.jit import jit
from dnip.kernels.rows import BLOCK

if TYPE_CHECKING:
    from dnip.kernels.rows import InPlaceRows
    from dnip.typing import Confusion, Floats, Integers


@jit
def count_in_place(rows: InPlaceRows, indices: Floats, first: int, last: int) -> Confusion:
    """Count the open rows first..last - 1 at weight indices of shape (N,)."""
    n_classes = len(indices)
    confusion = np.zeros((n_classes, n_classes), np.int64)
    weighted = len(rows.mass) > 1
    for r in range(first, last):
        m = rows.row[r]
        p = rows.p[m]
        best = -1.0
        winner = np.uint32(0)
        for j in range(n_classes):
            score = indices[j] * p[j]
            ahead = score > best
            winner = np.uint32(j) if ahead else winner
            best = score if ahead else best
        confusion[rows.label[m], winner] += rows.mass[m if weighted else 0]
    return confusion


@jit
def tally_in_place(
    rows: InPlaceRows,
    indices: Floats,
    c: int,
    scale: int,
    first: int,
    last: int,
    tally: Integers,
) -> None:
    """Tally the flips of class `c` per (index, true class, rival), the others at `indices`.

    Parameters
    ----------
    tally : ndarray of shape ((K + 2)·N·N,)
        Filled with the flips of the open rows first..last - 1.
    """
    tally[:] = 0
    n_classes = len(indices)
    others = indices.copy()
    others[c] = -1.0  # below every rival: a row's largest product is above 0
    weighted = len(rows.mass) > 1
    p_c = np.empty(BLOCK)
    best = np.empty(BLOCK)
    rival = np.empty(BLOCK, np.uint32)
    slot = np.empty(BLOCK, np.uint32)
    for start in range(first, last, BLOCK):
        row = rows.row[start : min(start + BLOCK, last)]
        n = len(row)
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
            rival[i] = row_rival
            p_c[i] = p[c]
        for i in range(n):
            slot[i] = first_winning_index(p_c[i], best[i], c < rival[i], scale)
        for i in range(n):
            cell = (slot[i] * n_classes + rows.label[row[i]]) * n_classes + rival[i]
            tally[cell] += rows.mass[row[i] if weighted else 0]
