"""A problem laid out for search: settled rows counted once, open rows kept.

The *span* is the largest ratio of two weights. Class n can win row m only if p_mn times the span is
at least max_j p_mj. Rounding does not matter: on a linear scale products keep their order, and on
other scales the span is a little larger. The classes that can win a row are its *candidates*. A row
with one candidate is *settled* for all weights. Real tables have two to four candidates per row,
however many classes there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numba import types
from numba.extending import overload

from dnip.solvers.kernels.jit import jit

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
    """R open rows, class by class: for many candidates per row."""

    columns: Floats  # (N, R) each class's probabilities
    label: SmallIntegers  # (R,) true class
    counts: Integers  # (R,) how many examples the row counts as
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
    counts: Integers  # (R,) how many examples the row counts as
    settled: Confusion  # (N, N) counts of the settled rows


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


@jit
def survey(
    p: Probabilities, labels: Labels, counts: Integers, span: float
) -> tuple[Booleans, Integers, Confusion]:
    """Separate open rows from settled ones.

    Parameters
    ----------
    p : ndarray of shape (M, N)
        float64 or float32.
    labels : ndarray of shape (M,)
    counts : ndarray of shape (M,) or (1,)
        How many examples each row counts as; one number where all count alike.
    span : float
        Largest ratio of two weights, with room for rounding.

    Returns
    -------
    is_open : ndarray of shape (M,)
        Whether more than one class can win the row.
    class_size : ndarray of shape (N,)
        Open rows that each class can win.
    settled : ndarray of shape (N, N)
        Counts of the other rows.
    """
    n_rows, n_classes = p.shape
    is_open = np.zeros(n_rows, np.bool_)
    class_size = np.zeros(n_classes, np.int64)
    settled = np.zeros((n_classes, n_classes), np.int64)
    weighted = len(counts) > 1
    for m in range(n_rows):
        row = p[m]
        top = 0
        for n in range(1, n_classes):
            if row[n] > row[top]:
                top = n
        count = 0
        for n in range(n_classes):
            count += span * row[n] >= row[top]
        weight = counts[m if weighted else 0]
        if count == 1:
            settled[labels[m], top] += weight
        elif weight > 0:
            is_open[m] = True
            for n in range(n_classes):
                class_size[n] += span * row[n] >= row[top]
    return is_open, class_size, settled


@jit
def fill_sparse(p: Probabilities, is_open: Booleans, span: float, rows: SparseRows) -> None:
    """List the candidates of the open rows of a table of shape (M, N)."""
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
