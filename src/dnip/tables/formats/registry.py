"""The file formats of probability tables, by suffix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Protocol

from dnip.base.errors import InvalidInputError
from dnip.tables.formats.csv import CsvWriter, read_csv
from dnip.tables.formats.jsonl import JsonlWriter, read_jsonl
from dnip.tables.formats.npz import NpzWriter, read_npz
from dnip.tables.formats.parquet import ParquetWriter, extra_memory, read_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dnip.tables.block import Block
    from dnip.tables.chunk import RawChunk


class BlockWriter(Protocol):
    """Writes one file of some format; the caller closes the file."""

    def write(self, block: Block) -> None:
        """Add the rows of a block; all blocks have the same columns."""
        ...

    def finish(self) -> None:
        """Write what is still held back; there was at least one block."""
        ...

    def discard(self) -> None:
        """Stop writing: the file will be thrown away."""
        ...


@dataclass(frozen=True)
class Format:
    """How to read and to write one file format.

    Parameters
    ----------
    read : callable
        From path, class names or None, and rows per chunk at most, to a stream of chunks; with
        ``others=True`` also the columns that mean nothing here.
    open : callable
        From a binary file, open for writing, to a writer.
    extra_memory : callable
        From path to the bytes of memory that reading takes besides the chunks.
    """

    read: Callable[..., Iterator[RawChunk]]
    open: Callable[[IO[bytes]], BlockWriter]
    extra_memory: Callable[[Path], int] = lambda _: 0


FORMATS = {
    ".csv": Format(read_csv, CsvWriter),
    ".csv.gz": Format(partial(read_csv, compressed=True), partial(CsvWriter, compressed=True)),
    ".jsonl": Format(read_jsonl, JsonlWriter),
    ".jsonl.gz": Format(
        partial(read_jsonl, compressed=True), partial(JsonlWriter, compressed=True)
    ),
    ".npz": Format(read_npz, NpzWriter),
    ".parquet": Format(read_parquet, ParquetWriter, extra_memory),
}


def format_of(path: Path) -> Format:
    """Return the format of a file, by its suffix.

    Raises
    ------
    InvalidInputError
        For an unknown suffix; the message lists the known ones.

    Examples
    --------
    >>> from pathlib import Path
    >>> format_of(Path("opt.CSV")) is FORMATS[".csv"]
    True
    """
    for suffix, found in FORMATS.items():
        if path.name.lower().endswith(suffix):
            return found
    raise InvalidInputError(
        f"{path}: the suffix {path.suffix!r} stands for no known table format",
        hint=f"The known suffixes are {', '.join(FORMATS)}",
    )
