"""A share of a table's rows, so that several processes can read it together."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnip.tables.chunk import RawChunk


class Share(NamedTuple):
    """Every `of`-th piece of a table, beginning with piece `number`.

    A piece is a row group of a Parquet table that has enough of them, and a chunk otherwise.

    Attributes
    ----------
    number : int
        From 0.
    of : int
        How many shares there are.
    """

    number: int = 0
    of: int = 1

    def holds(self, piece: int) -> bool:
        """Say whether a piece of the table is in this share.

        Examples
        --------
        >>> [Share(1, 3).holds(piece) for piece in range(5)]
        [False, True, False, False, True]
        """
        return piece % self.of == self.number

    def pick(self, chunks: Iterator[RawChunk]) -> Iterator[RawChunk]:
        """Yield every `of`-th chunk."""
        return (chunk for number, chunk in enumerate(chunks) if self.holds(number))


WHOLE = Share()
