"""A problem laid out for search: settled rows counted once, open rows kept.

Class n can win row m only if K·p_mn ≥ max_j p_mj: every index is at least 1, so the row's largest
probability never weighs less than itself, and rounding of products keeps that order. The classes
that can win a row are its *candidates*; a row with one candidate is *settled* for every weight.
Real tables have two to four candidates per row whatever N is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numba import types
from numba.extending import overload

from dnip.kernels.jit import jit

if TYPE_CHECKING:
    from dnip.typing import (
        Booleans,
        Confusion,
        Floats,
        Integers,
        Labels,
        Probabilities,
        SmallIntegers,
    )


class DenseRows(NamedTuple):
    """R open rows, class by class: for few classes, or rows that most classes can win."""

    columns: Probabilities  # (N, R) each class's probabilities
    label: SmallIntegers  # (R,) true class
    mass: Integers  # (R,) how many examples the row counts as
    settled: Confusion  # (N, N) counts of the settled rows


class SparseRows(NamedTuple):
    """R open rows as T (row, candidate) entries, by row and by class: for many classes."""

    row_start: Integers  # (R + 1,) where each row's entries start
    row_class: SmallIntegers  # (T,) candidates, ascending within a row
    row_p: Floats  # (T,) their probabilities
    class_start: Integers  # (N + 1,) where each class's entries start
    class_row: SmallIntegers  # (T,) open rows that the class can win, ascending
    class_p: Floats  # (T,) the class's probabilities there
    label: SmallIntegers  # (R,) true class
    mass: Integers  # (R,) how many examples the row counts as
    settled: Confusion  # (N, N) counts of the settled rows


Rows: TypeAlias = DenseRows | SparseRows

T = TypeVar("T")

#: Dense rows are worked on in blocks that stay in the processor's first cache.
BLOCK = 512


def by_layout(*, dense: Callable[..., T], sparse: Callable[..., T]) -> Callable[..., T]:
    """Give one name to the kernels of the two layouts; the first argument, the rows, decides.

    Compiled callers decide while they are compiled, others at each call.
    """

    def dispatch(rows: Rows, *arguments: object) -> T:
        return (dense if isinstance(rows, DenseRows) else sparse)(rows, *arguments)

    def choose(rows: types.NamedTuple, *_: types.Type) -> Callable[..., T]:
        kernel = dense if rows.instance_class is DenseRows else sparse

        def call(rows: Rows, *arguments: object) -> T:
            return kernel(rows, *arguments)

        return call

    overload(dispatch, strict=False)(choose)
    return dispatch


# Measured cost of one line search, in ns: a dense one visits every open row and class, a sparse
# one only the rows that its class can win, and there only the candidates.
_DENSE_ROW, _DENSE_CELL = 4.0, 0.25
_SPARSE_ROW, _SPARSE_ENTRY = 4.0, 5.0
# Dense flips are tallied per (index, true class, rival): a larger tally outgrows the cache.
_LARGEST_TALLY = 1 << 17


@jit
def _find_candidates(
    p: Probabilities, labels: Labels, mass: Integers, scale: float, settled: Confusion
) -> tuple[SmallIntegers, Integers]:
    """Count the candidates of each row, 0 for a settled one, and the rows of each class."""
    n_rows, n_classes = p.shape
    n_candidates = np.zeros(n_rows, np.uint32)
    class_size = np.zeros(n_classes, np.int64)
    for m in range(n_rows):
        top = 0
        for n in range(1, n_classes):
            if p[m, n] > p[m, top]:
                top = n
        count = 0
        for n in range(n_classes):
            if scale * p[m, n] >= p[m, top]:
                count += 1
        if count == 1:
            settled[labels[m], top] += mass[m]
        elif mass[m] > 0:
            n_candidates[m] = count
            for n in range(n_classes):
                if scale * p[m, n] >= p[m, top]:
                    class_size[n] += 1
    return n_candidates, class_size


@jit
def _fill_dense(p: Probabilities, is_open: Booleans, columns: Probabilities) -> None:
    r = 0
    for m in range(p.shape[0]):
        if is_open[m]:
            for n in range(p.shape[1]):
                columns[n, r] = p[m, n]
            r += 1


@jit
def _fill_sparse(
    p: Probabilities, n_candidates: SmallIntegers, scale: float, rows: SparseRows
) -> None:
    class_end = rows.class_start[:-1].copy()
    r = 0
    entry = 0
    for m in range(p.shape[0]):
        if n_candidates[m] == 0:
            continue
        top = p[m].max()
        for n in range(p.shape[1]):
            if scale * p[m, n] >= top:
                rows.row_class[entry] = n
                rows.row_p[entry] = p[m, n]
                rows.class_row[class_end[n]] = r
                rows.class_p[class_end[n]] = p[m, n]
                class_end[n] += 1
                entry += 1
        r += 1
        rows.row_start[r] = entry


def lay_out(p: Probabilities, labels: Labels, mass: Integers, scale: int) -> Rows:
    """Settle what can be settled and lay the open rows out for search.

    Parameters
    ----------
    p : ndarray of shape (M, N)
        Class probabilities.
    labels : ndarray of shape (M,)
        Class indices.
    mass : ndarray of shape (M,)
        How many examples each row counts as.
    scale : int
        K, the largest weight index.
    """
    n_classes = p.shape[1]
    settled = np.zeros((n_classes, n_classes), np.int64)
    n_candidates, class_size = _find_candidates(p, labels, mass, float(scale), settled)
    is_open = n_candidates > 0
    n_open = int(is_open.sum())
    n_entries = int(class_size.sum())
    label = labels[is_open].astype(np.uint32)
    open_mass = mass[is_open]

    visited = n_entries / n_classes
    dense_cost = n_open * (_DENSE_ROW + _DENSE_CELL * n_classes)
    sparse_cost = visited * (_SPARSE_ROW + _SPARSE_ENTRY * n_entries / max(n_open, 1))
    if scale * n_classes**2 <= _LARGEST_TALLY and dense_cost <= sparse_cost:
        columns = np.empty((n_classes, n_open))
        _fill_dense(p, is_open, columns)
        return DenseRows(columns, label, open_mass, settled)

    rows = SparseRows(
        row_start=np.zeros(n_open + 1, np.int64),
        row_class=np.empty(n_entries, np.uint32),
        row_p=np.empty(n_entries),
        class_start=np.concatenate(([0], np.cumsum(class_size))),
        class_row=np.empty(n_entries, np.uint32),
        class_p=np.empty(n_entries),
        label=label,
        mass=open_mass,
        settled=settled,
    )
    _fill_sparse(p, n_candidates, float(scale), rows)
    return rows
