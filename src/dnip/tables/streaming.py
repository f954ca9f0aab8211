"""Tables of any size, a chunk at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.tables.reading import CHUNK_ROWS, read_chunks
from dnip.tables.table import ProbabilityTable

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence


def stream(
    path: str | os.PathLike[str],
    classes: Sequence[str] | None = None,
    *,
    chunk_rows: int = CHUNK_ROWS,
) -> Iterator[ProbabilityTable]:
    """Read a table chunk by chunk; together the chunks are what `ProbabilityTable.read` gives.

    The path and the arguments are checked at once, the rows as they are asked for. Rows that do
    not sum to 1 are normalised, and told once, after the last chunk. Memory holds one chunk; but
    an NPZ file is loaded whole, and the ids of all rows are kept, to find those that stand twice.

    Parameters
    ----------
    path : path-like
        As for `ProbabilityTable.read`.
    classes : sequence of str, optional
        Class names.
    chunk_rows : int, default=65536
        Rows per chunk at most; text files with many classes give shorter chunks.

    Yields
    ------
    ProbabilityTable
        The next rows.

    Raises
    ------
    InvalidInputError
        As `ProbabilityTable.read`; for a bad row only once its chunk is asked for.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> with TemporaryDirectory() as folder:
    ...     ProbabilityTable(np.full((5, 2), 0.5)).write(f"{folder}/opt.csv")
    ...     [len(chunk) for chunk in stream(f"{folder}/opt.csv", chunk_rows=2)]
    [2, 2, 1]
    """
    chunks = read_chunks(path, classes, chunk_rows=chunk_rows)
    return (ProbabilityTable(*chunk, source=str(path)) for chunk in chunks)
