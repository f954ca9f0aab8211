"""Confusion counts under the prediction rule: argmax of ω_n·p_mn, lowest class on a tie."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from dnip.solvers.kernels.jit import jit
from dnip.solvers.kernels.rows import BLOCK, DenseRows, Rows, SparseRows, by_layout

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats


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
            confusion[rows.label[first + i], winner[i]] += rows.mass[first + i]
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
        confusion[rows.label[r], winner] += rows.mass[r]
    return confusion


#: Confusion counts of shape (N, N) of rows at weights of shape (N,).
count: Callable[[Rows, Floats], Confusion] = by_layout(dense=_count_dense, sparse=_count_sparse)
