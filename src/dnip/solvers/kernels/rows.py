"""A problem laid out for search: settled rows counted once, open rows kept.

The *span* is the largest ratio of two weights. Class n can win row m only if p_mn times the span is
at least max_j p_mj. Rounding does not matter: on a linear scale products keep their order, and on
other scales the span is a little larger. The classes that can win a row are its *candidates*. A row
with one candidate is *settled* for all weights. Real tables have two to four candidates per row,
however many classes there are.
"""

from __future__ import annotations

from types import NoneType
from typing import Annotated, NamedTuple

import numpy as np

from dnip.base.typing import (
    Booleans,
    Confusion,
    Floats,
    Integers,
    Labels,
    Probabilities,
    SmallIntegers,
)
from dnip.solvers.kernels.door import kernel

#: Dense rows are worked on in blocks that stay in the processor's first cache.
BLOCK = 512
# Rows that are converted at a time where a table is not of contiguous float64.
_PART = 1 << 16


class Rows(NamedTuple):
    """R open rows, class by class (dense), or as T entries of a row and a candidate (sparse).

    Dense rows are for many candidates per row, sparse ones for few. The arrays of the other layout
    are empty.
    """

    label: Annotated[SmallIntegers, "n_rows"]  # (R,) true class
    counts: Integers  # (R,) how many examples the row counts as
    settled: Annotated[Confusion, "n_classes"]  # (N, N) counts of the settled rows
    columns: Annotated[Floats, "n_columns"]  # (N, R) dense: each class's probabilities
    row_start: Integers  # (R + 1,) sparse: where each row's entries start
    row_class: SmallIntegers  # (T,) candidates, ascending within a row
    row_p: Floats  # (T,) their probabilities
    class_start: Integers  # (N + 1,) where each class's entries start
    class_row: SmallIntegers  # (T,) open rows that the class can win, ascending
    class_p: Floats  # (T,) the class's probabilities there

    @property
    def is_dense(self) -> bool:
        """Whether the rows are laid out class by class."""
        return len(self.columns) > 0


_survey = kernel(
    "survey", NoneType, Floats, Integers, Integers, int, int, float, Booleans, Integers, Confusion
)
_fill_sparse = kernel("fill_sparse", int, Floats, Booleans, int, float, Rows, Integers, int)


def new_rows(
    label: SmallIntegers,
    counts: Integers,
    settled: Confusion,
    *,
    columns: Floats | None = None,
    class_size: Integers | None = None,
) -> Rows:
    """Return dense rows with their columns, or room for sparse ones of so many entries a class."""
    sizes = np.zeros(0, np.int64) if class_size is None else class_size
    n_entries = int(sizes.sum())
    return Rows(
        label,
        counts,
        settled,
        np.empty((0, 0)) if columns is None else columns,
        np.zeros(1 if class_size is None else len(label) + 1, np.int64),
        np.empty(n_entries, np.uint32),
        np.empty(n_entries),
        np.concatenate(([0], np.cumsum(sizes))),
        np.empty(n_entries, np.uint32),
        np.empty(n_entries),
    )


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
    counts = np.broadcast_to(counts, n_rows)
    for first in range(0, n_rows, _PART):
        part = slice(first, first + _PART)
        rows = np.ascontiguousarray(p[part], np.float64)
        true, own = (np.ascontiguousarray(a[part], np.int64) for a in (labels, counts))
        sizes = len(rows), n_classes, span
        _survey(rows, true, own, *sizes, is_open[part], class_size, settled)
    return is_open, class_size, settled


def fill_sparse(p: Probabilities, is_open: Booleans, span: float, rows: Rows) -> None:
    """List the candidates of the open rows of a table of shape (M, N)."""
    class_end = rows.class_start[:-1].copy()
    filled = 0
    for first in range(0, len(p), _PART):
        part = slice(first, first + _PART)
        own = np.ascontiguousarray(p[part], np.float64)
        filled = _fill_sparse(own, is_open[part], len(own), span, rows, class_end, filled)
