"""Which rows go through the model together: plain numbers, no model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

#: Rows that are worked on at a time: rows of similar length are sought within them.
BLOCK_ROWS = 2048


def shared_length(rows: Sequence[list[int]]) -> int:
    """Return how many tokens all rows begin with, leaving each at least one of its own.

    One row alone shares nothing.

    Examples
    --------
    >>> shared_length([[5, 6, 7], [5, 6, 8, 9]])
    2
    >>> shared_length([[5, 6], [5, 6, 8, 9]]), shared_length([[5, 6]])
    (1, 0)
    """
    if len(rows) < 2:
        return 0
    # What the first and the last in sorted order share, all between them share.
    low, high = min(rows), max(rows)
    most = min(map(len, rows)) - 1
    differ = (i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b)
    return min(most, next(differ, most))


def plan(
    lengths: Sequence[int], budget: int, *, alike: bool = False
) -> Iterator[NDArray[np.int64]]:
    """Yield the row numbers of each batch, longest rows first.

    Rows of similar length come together, so that little is padding; the longest come first, so
    that memory that does not suffice shows at once.

    Parameters
    ----------
    lengths : sequence of int
        Tokens of each row.
    budget : int
        Most tokens of a batch, padding included; a longer row goes alone.
    alike : bool, default=False
        Give a batch rows of one length only.

    Examples
    --------
    >>> [batch.tolist() for batch in plan([3, 1, 3, 2], 6)]
    [[0, 2], [3, 1]]
    >>> [batch.tolist() for batch in plan([3, 1, 3, 2], 6, alike=True)]
    [[0, 2], [3], [1]]
    """
    sizes = np.asarray(lengths, np.int64)
    order = np.argsort(-sizes, kind="stable")
    begin = 0
    while begin < len(order):
        longest = int(sizes[order[begin]])
        end = begin + max(1, budget // max(1, longest))
        batch = order[begin:end]
        if alike:
            batch = batch[sizes[batch] == longest]
        yield batch
        begin += len(batch)


def blocks(n: int, size: int = BLOCK_ROWS) -> list[tuple[int, int]]:
    """Divide rows into runs (first, last + 1), in which rows are batched by themselves.

    Examples
    --------
    >>> blocks(10, size=4)
    [(0, 4), (4, 8), (8, 10)]
    """
    return [(first, min(first + size, n)) for first in range(0, n, size)]


def pad(
    rows: Sequence[Sequence[int]], *, left: bool = False
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Make one matrix of rows of different lengths.

    Parameters
    ----------
    rows : sequence of B sequences of int
    left : bool, default=False
        Pad in front of a row instead of behind it.

    Returns
    -------
    tokens : ndarray of shape (B, T), int64
        0 where a row is padded.
    real : ndarray of shape (B, T), bool
        False where a row is padded.

    Examples
    --------
    >>> pad([[5, 6], [7]])[0]
    array([[5, 6],
           [7, 0]])
    >>> pad([[5, 6], [7]], left=True)[1]
    array([[ True,  True],
           [False,  True]])
    """
    lengths = np.array([len(row) for row in rows])[:, None]
    places = np.arange(lengths.max())
    real = places >= lengths.max() - lengths if left else places < lengths
    tokens = np.zeros(real.shape, np.int64)
    tokens[real] = np.concatenate([np.asarray(row, np.int64) for row in rows])
    return tokens, real
