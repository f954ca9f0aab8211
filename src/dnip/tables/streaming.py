"""Tables of any size, read in bounded blocks of rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_classes
from dnip.tables.reading import check_readable, read_chunks
from dnip.tables.share import WHOLE, Share

if TYPE_CHECKING:
    import os
    from collections.abc import Generator, Iterator, Sequence

    from dnip.tables.chunk import Chunk

Item = TypeVar("Item")

#: Bytes of memory that a scan may take by default.
MEMORY = 10**9

#: What the interpreter, its libraries and the blocks in flight need.
LEAST_MEMORY = 300 * 10**6

# Shares of a table for each worker, where the table can be divided so far.
_PER_WORKER = 4

# Part of the memory for the hashes of ids; more of them go to disk.
_ID_SHARE = 8


class Scan:
    """A table on disk, read in bounded blocks of rows each time it is iterated over.

    While the caller works on one block, another thread reads and checks the next. All cells are
    checked in every pass. The first pass also checks the table as a whole: after the last block it
    refuses ids that appear twice, and warns of normalised rows.

    Memory holds a few blocks of up to a million cells, and 8 bytes per id. Ids that need more than
    an eighth of `memory` go to a temporary file. An NPZ file is loaded whole.

    Parameters
    ----------
    path : path-like
        As for `ProbabilityTable.read`.
    classes : sequence of str, optional
        Class names.
    memory : int, default=10**9
        Bytes of memory that the process as a whole may take, at least 300 million.
    others : bool, default=False
        Whether chunks also carry the columns that mean nothing here.
    share : Share, optional
        The part of the rows to read. A share is not checked as a whole.

    Raises
    ------
    InvalidInputError
        For a path that cannot be read, or too little memory; for bad rows when they are reached.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from dnip.tables import ProbabilityTable
    >>> with TemporaryDirectory() as folder:
    ...     ProbabilityTable(np.full((5, 2), 0.5)).write(f"{folder}/opt.csv")
    ...     scan = Scan(f"{folder}/opt.csv")
    ...     [sum(len(chunk) for chunk in scan) for _ in range(2)]
    [5, 5]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        classes: Sequence[str] | None = None,
        *,
        memory: int = MEMORY,
        others: bool = False,
        share: Share = WHOLE,
    ) -> None:
        self.source = str(path)
        needed = LEAST_MEMORY + check_readable(path).extra_memory(Path(path))
        if memory < needed:
            raise InvalidInputError(
                f"{self.source}: memory is {memory:,} bytes, but the interpreter, its libraries "
                f"and what is read at a time need about {needed:,}",
                hint="Give more memory; many columns need less in row groups of fewer rows",
            )
        self._path = path
        self._classes = None if classes is None else check_classes(classes)
        self._others = others
        self._share = share
        self._id_memory = memory // _ID_SHARE
        self._checked_whole = share.of > 1
        self._begun = False

    def __iter__(self) -> Iterator[Chunk]:
        """Read the table from its first row; InvalidInputError for a pipe that was read before."""
        if self._begun and Path(self._path).is_fifo():
            raise InvalidInputError(
                f"{self.source} is a pipe, which can be read once only, but is needed twice",
                hint="Write it to a file first",
            )
        self._begun = True
        chunks = read_chunks(
            self._path,
            self._classes,
            id_memory=self._id_memory,
            as_a_whole=not self._checked_whole,
            others=self._others,
            share=self._share,
        )
        yield from ahead(chunks)
        self._checked_whole = True


def count_pieces(path: str | os.PathLike[str], workers: int) -> int:
    """Return into how many shares to divide a table for some workers.

    Several for each, so that a slow one holds up little; but no more than there are row groups, as
    any other table is read whole for each share.
    """
    count_groups = check_readable(path).count_groups
    groups = 1 if count_groups is None else count_groups(Path(path))
    return max(workers, min(groups, _PER_WORKER * workers))


def ahead(items: Iterator[Item]) -> Generator[Item]:
    """Yield the items of an iterator while another thread makes the next one.

    In the end, after an error too, the thread has stopped and the iterator is closed.

    Examples
    --------
    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    end = object()
    try:
        with ThreadPoolExecutor(max_workers=1) as pool:
            coming = pool.submit(next, items, end)
            while (item := coming.result()) is not end:
                coming = pool.submit(next, items, end)
                yield item  # type: ignore[misc]
    finally:
        # After a second Ctrl-C the thread may still be using the iterator.
        with suppress(AttributeError, ValueError):
            items.close()  # type: ignore[attr-defined]
