"""A problem laid out for search: settled rows counted once, open rows kept.

The *span* is the largest ratio of two weights. Class n can win row m only if p_mn times the span is
at least max_j p_mj. Rounding does not matter: on a linear scale products keep their order, and on
other scales the span is a little larger. The classes that can win a row are its *candidates*. A row
with one candidate is *settled* for all weights. Real tables have two to four candidates per row,
however many classes there are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numba import types
from numba.extending import overload

from dnip.solvers.kernels.jit import jit
from dnip.solvers.kernels.threads import Threads

if TYPE_CHECKING:
    from dnip.base.typing import (
        Booleans,
        Confusion,
        Floats,
        Integers,
        Labels,
        Probabilities,
        SmallIntegers,
    )


class DenseRows(NamedTuple):
    """R open rows, copied class by class: for small tables with many candidates per row."""

    columns: Probabilities  # (N, R) each class's probabilities
    label: SmallIntegers  # (R,) true class
    mass: Integers  # (R,) how many examples the row counts as
    settled: Confusion  # (N, N) counts of the settled rows


class SparseRows(NamedTuple):
    """R open rows as T (row, candidate) entries, by row and by class: for few candidates."""

    row_start: Integers  # (R + 1,) where each row's entries start
    row_class: SmallIntegers  # (T,) candidates, ascending within a row
    row_p: Floats  # (T,) their probabilities
    class_start: Integers  # (N + 1,) where each class's entries start
    class_row: SmallIntegers  # (T,) open rows that the class can win, ascending
    class_p: Floats  # (T,) the class's probabilities there
    label: SmallIntegers  # (R,) true class
    mass: Integers  # (R,) how many examples the row counts as
    settled: Confusion  # (N, N) counts of the settled rows


class InPlaceRows(NamedTuple):
    """R open rows of a table that is not copied: for all other tables."""

    p: Probabilities  # (M, N) the table, float64 or float32
    label: Labels  # (M,) true class
    mass: Integers  # (M,) how many examples each row counts as; (1,) if all count alike
    row: SmallIntegers  # (R,) which rows are open, ascending
    settled: Confusion  # (N, N) counts of the settled rows

    def part(self, first: int, last: int) -> InPlaceRows:
        """Return the open rows `first` to `last` - 1."""
        return self._replace(row=self.row[first:last])


#: Rows that compiled searches work on.
Rows: TypeAlias = DenseRows | SparseRows

T = TypeVar("T")

#: Dense rows are worked on in blocks that stay in the processor's first cache.
BLOCK = 512


def by_layout(*, dense: Callable[..., T], sparse: Callable[..., T]) -> Callable[..., T]:
    """Return one function for the kernels of two layouts; its first argument, the rows, decides.

    In compiled code the choice is made at compile time, elsewhere at each call.
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


# Measured cost of one line search, in ns. In the dense layout it reads every open row and class. In
# the sparse layout it reads only rows that its class can win, and only their candidates. In place
# it reads every open row.
_DENSE_ROW, _DENSE_CELL = 4.0, 0.25
_SPARSE_ROW, _SPARSE_ENTRY = 4.0, 5.0
_IN_PLACE_ROW = 5.0
# Larger tables (in bytes) are not copied. Their lists of candidates may take this part of their
# size.
_COPIED, _LISTED = 1 << 22, 0.35


@jit
def _survey(
    p: Probabilities,
    labels: Labels,
    mass: Integers,
    span: float,
    is_open: Booleans,
    first: int,
    last: int,
) -> tuple[Integers, Confusion]:
    """Mark the open rows from `first` to `last` - 1; count their candidates, and settled rows."""
    n_classes = p.shape[1]
    settled = np.zeros((n_classes, n_classes), np.int64)
    class_size = np.zeros(n_classes, np.int64)
    weighted = len(mass) > 1
    for m in range(first, last):
        row = p[m]
        top = 0
        for n in range(1, n_classes):
            if row[n] > row[top]:
                top = n
        count = 0
        for n in range(n_classes):
            count += span * row[n] >= row[top]
        weight = mass[m if weighted else 0]
        if count == 1:
            settled[labels[m], top] += weight
        elif weight > 0:
            is_open[m] = True
            for n in range(n_classes):
                class_size[n] += span * row[n] >= row[top]
    return class_size, settled


@jit
def _open_rows(is_open: Booleans, row: SmallIntegers) -> None:
    r = 0
    for m in range(len(is_open)):
        if is_open[m]:
            row[r] = m
            r += 1


@jit
def _fill_sparse(p: Probabilities, is_open: Booleans, span: float, rows: SparseRows) -> None:
    class_end = rows.class_start[:-1].copy()
    r = 0
    entry = 0
    for m in range(p.shape[0]):
        if not is_open[m]:
            continue
        row = p[m]
        top = row.max()
        for n in range(p.shape[1]):
            if span * row[n] >= top:
                rows.row_class[entry] = n
                rows.row_p[entry] = row[n]
                rows.class_row[class_end[n]] = r
                rows.class_p[class_end[n]] = row[n]
                class_end[n] += 1
                entry += 1
        r += 1
        rows.row_start[r] = entry


class Survey(NamedTuple):
    """Which rows of a table are open, and the counts of the others."""

    is_open: Booleans  # (M,) whether more than one class can win the row
    class_size: Integers  # (N,) open rows that each class can win
    settled: Confusion  # (N, N) counts of the settled rows


def survey(
    p: Probabilities, labels: Labels, mass: Integers, span: float, threads: Threads
) -> Survey:
    """Separate open rows from settled ones; for the arguments see `lay_out`."""
    is_open = np.zeros(len(p), np.bool_)

    def survey_part(_: int, first: int, last: int) -> tuple[Integers, Confusion]:
        return _survey(p, labels, mass, span, is_open, first, last)

    few_rows = len(p) < p.shape[1] ** 2  # each part's counts would take more than is_open does
    shares = [(0, len(p))] if few_rows else threads.share(len(p), p.size)
    parts = threads.run(survey_part, shares)
    class_size, settled = (reduce(add, counts) for counts in zip(*parts, strict=True))
    return Survey(is_open, class_size, settled)


def lay_out(
    p: Probabilities,
    labels: Labels,
    mass: Integers,
    span: float,
    threads: Threads | None = None,
) -> Rows | InPlaceRows:
    """Count the settled rows, and bring the open ones into the layout that is searched fastest.

    Parameters
    ----------
    p : ndarray of shape (M, N)
        Class probabilities, float64 or float32.
    labels : ndarray of shape (M,)
        Class indices.
    mass : ndarray of shape (M,)
        How many examples each row counts as; it may be one number, broadcast.
    span : float
        Largest ratio of two weights, with room for rounding.
    threads : Threads, optional
        Threads to share the work.
    """
    if mass.strides == (0,):
        mass = mass[:1].copy()
    surveyed = survey(p, labels, mass, span, threads or Threads(1))
    if p.nbytes <= _COPIED:
        return copy_rows(p, labels, mass, span, surveyed, dense=prefers_dense(surveyed))
    n_open = int(np.count_nonzero(surveyed.is_open))
    listed_bytes = int(surveyed.class_size.sum()) * 2 * (4 + p.itemsize) + n_open * 20
    if listed_bytes <= _LISTED * p.nbytes and _sparse_cost(surveyed) <= n_open * _IN_PLACE_ROW:
        return copy_rows(p, labels, mass, span, surveyed, dense=False)
    row = np.empty(n_open, np.uint32)
    _open_rows(surveyed.is_open, row)
    return InPlaceRows(p, labels, mass, row, surveyed.settled)


def prefers_dense(surveyed: Survey) -> bool:
    """Say whether columns are searched faster than lists of candidates."""
    n_classes = len(surveyed.class_size)
    n_open = int(np.count_nonzero(surveyed.is_open))
    dense_cost = n_open * (_DENSE_ROW + _DENSE_CELL * n_classes)
    return dense_cost <= _sparse_cost(surveyed)


def _sparse_cost(surveyed: Survey) -> float:
    n_entries = float(surveyed.class_size.sum())
    n_open = max(int(np.count_nonzero(surveyed.is_open)), 1)
    visited = n_entries / len(surveyed.class_size)
    return visited * (_SPARSE_ROW + _SPARSE_ENTRY * n_entries / n_open)


def copy_rows(
    p: Probabilities,
    labels: Labels,
    mass: Integers,
    span: float,
    surveyed: Survey,
    *,
    dense: bool,
) -> Rows:
    """Copy the open rows into columns or lists of candidates; for the arguments see `lay_out`."""
    is_open, class_size, settled = surveyed
    n_open = int(np.count_nonzero(is_open))
    label = labels[is_open].astype(np.uint32)
    open_mass = mass[is_open] if len(mass) > 1 else np.full(n_open, mass[0])
    if dense:
        columns = np.ascontiguousarray(p[is_open].T, np.float64)
        return DenseRows(columns, label, open_mass, settled)
    n_entries = int(class_size.sum())
    rows = SparseRows(
        row_start=np.zeros(n_open + 1, np.int64),
        row_class=np.empty(n_entries, np.uint32),
        row_p=np.empty(n_entries, p.dtype),
        class_start=np.concatenate(([0], np.cumsum(class_size))),
        class_row=np.empty(n_entries, np.uint32),
        class_p=np.empty(n_entries, p.dtype),
        label=label,
        mass=open_mass,
        settled=settled,
    )
    _fill_sparse(p, is_open, span, rows)
    return rows
