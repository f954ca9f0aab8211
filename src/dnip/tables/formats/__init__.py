"""The file formats of probability tables, by suffix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TypeAlias

from dnip.base.errors import InvalidInputError
from dnip.tables.cells import Block
from dnip.tables.formats import parquet, text

#: Writes one file of some format, block by block: `write`, then `finish` or `discard`.
BlockWriter: TypeAlias = text.CsvWriter | text.JsonlWriter | parquet.ParquetWriter


@dataclass(frozen=True)
class Format:
    """How to read and to write one file format.

    Parameters
    ----------
    read : callable
        From path, class names or None, and rows per block at most, to a stream of blocks; with
        ``others=True`` also the columns that mean nothing here.
    open : callable
        From a binary file, open for writing, to a writer.
    count_groups : callable or None
        From path to the number of row groups, some of which `read` reads if it is given a range as
        ``groups``; None if it reads all rows.
    """

    read: Callable[..., Iterator[Block]]
    open: Callable[[IO[bytes]], BlockWriter]
    count_groups: Callable[[Path], int] | None = None


FORMATS = {
    ".csv": Format(text.read_csv, text.CsvWriter),
    ".csv.gz": Format(text.read_csv, partial(text.CsvWriter, compressed=True)),
    ".jsonl": Format(text.read_jsonl, text.JsonlWriter),
    ".jsonl.gz": Format(text.read_jsonl, partial(text.JsonlWriter, compressed=True)),
    ".parquet": Format(parquet.read_parquet, parquet.ParquetWriter, parquet.count_groups),
}

# What to do with files that are no tables here, by suffix.
_REMEDIES = {
    ".npz": "In Python: arrays = numpy.load(FILE), then dnip.fit(arrays[...], arrays[...])",
    ".tsv": "Write it with commas, as .csv",
    ".arrow": "Write it as .parquet, or read it in Python and give the data frame to dnip.fit",
}
_REMEDIES[".feather"] = _REMEDIES[".arrow"]


def format_of(path: Path) -> Format:
    """Return the format of a file, by its suffix, or of a folder, by its files.

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
    if path.is_dir():
        lines = any(path.glob("*.jsonl")) and not any(path.glob("*.parquet"))
        return Format(text.read_folder, text.JsonlWriter) if lines else FORMATS[".parquet"]
    for suffix, found in FORMATS.items():
        if path.name.lower().endswith(suffix):
            return found
    raise InvalidInputError(
        f"{path}: the suffix {path.suffix!r} stands for no known table format",
        hint=_REMEDIES.get(path.suffix.lower(), f"The known suffixes are {', '.join(FORMATS)}"),
    )
