"""How many rows a reader holds at once."""

from __future__ import annotations

#: Cells that are held at once: rows of many classes come in shorter chunks.
_MAX_CELLS = 1 << 20


def rows_per_chunk(chunk_rows: int, n_columns: int) -> int:
    """Return how many rows to hold at once, `chunk_rows` at most.

    Examples
    --------
    >>> rows_per_chunk(65_536, 5), rows_per_chunk(65_536, 1_000)
    (65536, 1048)
    """
    return max(1, min(chunk_rows, _MAX_CELLS // max(1, n_columns)))
