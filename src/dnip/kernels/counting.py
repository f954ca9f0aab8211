"""Confusion counts under the prediction rule: argmax of ξ_n·p_mn, lowest class on a tie."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dnip.kernels.jit import jit
from dnip.kernels.rows import DenseRows, Rows, SparseRows, by_layout

if TYPE_CHECKING:
    from dnip.typing import Confusion, Floats


@jit
def _count_dense(rows: DenseRows, indices: Floats) -> Confusion:
    confusion = rows.settled.copy()
    n_classes, n_rows = rows.columns.shape
    best = np.full(n_rows, -1.0)
    winner = np.zeros(n_rows, np.int32)
    for n in range(n_classes):
        index = indices[n]
        column = rows.columns[n]
        for r in range(n_rows):
            score = index * column[r]
            ahead = score > best[r]
            winner[r] = n if ahead else winner[r]
            best[r] = score if ahead else best[r]
    for r in range(n_rows):
        confusion[rows.label[r], winner[r]] += rows.mass[r]
    return confusion


@jit
def _count_sparse(rows: SparseRows, indices: Floats) -> Confusion:
    confusion = rows.settled.copy()
    for r in range(len(rows.label)):
        winner = -1
        best = -1.0
        for entry in range(rows.row_start[r], rows.row_start[r + 1]):
            score = indices[rows.row_class[entry]] * rows.row_p[entry]
            if score > best:
                best = score
                winner = rows.row_class[entry]
        confusion[rows.label[r], winner] += rows.mass[r]
    return confusion


#: Confusion counts of shape (N, N) of rows at weight indices of shape (N,).
count: Callable[[Rows, Floats], Confusion] = by_layout(dense=_count_dense, sparse=_count_sparse)
