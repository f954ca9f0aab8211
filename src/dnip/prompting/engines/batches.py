"""Which rows go through the model together: plain numbers, no model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.base.validation import check_choice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

#: Where padding stands within a row.
SIDES = ("right", "left")


class Padded(NamedTuple):
    """Rows of tokens as one matrix.

    Attributes
    ----------
    tokens : ndarray of shape (B, T), int64
        0 where a row is padded.
    real : ndarray of shape (B, T), bool
        False where a row is padded.
    """

    tokens: NDArray[np.int64]
    real: NDArray[np.bool_]

    @property
    def places(self) -> NDArray[np.int64]:
        """Place of each token within its row, from 0; shape (B, T), 0 in front of left padding."""
        places: NDArray[np.int64] = np.maximum(np.cumsum(self.real, axis=1) - 1, 0)
        return places

    @property
    def last(self) -> NDArray[np.int64]:
        """Column of each row's last token; shape (B,)."""
        last: NDArray[np.int64] = self.real.shape[1] - 1 - np.argmax(self.real[:, ::-1], axis=1)
        return last


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


def pad(rows: Sequence[Sequence[int]], side: str = "right") -> Padded:
    """Make one matrix of rows of different lengths.

    Examples
    --------
    >>> pad([[5, 6], [7]]).tokens
    array([[5, 6],
           [7, 0]])
    >>> pad([[5, 6], [7]], "left").last, pad([[5, 6], [7]]).last
    (array([1, 1]), array([1, 0]))
    """
    check_choice("padding", side, SIDES)
    width = max(map(len, rows))
    tokens = np.zeros((len(rows), width), np.int64)
    real = np.zeros((len(rows), width), bool)
    for number, row in enumerate(rows):
        place = slice(0, len(row)) if side == "right" else slice(width - len(row), width)
        tokens[number, place] = row
        real[number, place] = True
    return Padded(tokens, real)
