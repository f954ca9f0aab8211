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

_EXCEL = (
    "Save the sheet as CSV UTF-8; in Python: "
    "pandas.read_excel({0!r}).to_csv('opt.csv', index=False)"
)
_IMPORT = "Type: dnip import {0} --classes A,B,C --out opt.csv"
#: What to do with files that are not tables here, by suffix.
REMEDIES = {
    ".npy": "In Python: dnip.fit(numpy.load({0!r}), labels)",
    ".npz": "In Python: arrays = numpy.load({0!r}), then dnip.fit(arrays[...], arrays[...])",
    ".pkl": "In Python, a data frame: pandas.read_pickle({0!r}).to_csv('opt.csv', index=False)",
    ".arrow": "Write it as .parquet, or read it in Python and give the data frame to dnip.fit",
    ".xlsx": _EXCEL,
}
REMEDIES |= dict.fromkeys((".xls", ".xlsm", ".xlsb", ".ods", ".numbers"), _EXCEL)
REMEDIES |= {".pickle": REMEDIES[".pkl"], ".feather": REMEDIES[".arrow"]}
_READ_BY_IMPORT = dict.fromkeys((".tsv", ".tab", ".txt", ".json", ".ndjson"), _IMPORT)


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
    known = f"The known suffixes are {', '.join(FORMATS)}"
    remedy = (REMEDIES | _READ_BY_IMPORT).get(path.suffix.lower(), "").format(str(path))
    raise InvalidInputError(
        f"{path}: the suffix {path.suffix!r} stands for no known table format",
        hint=f"{remedy}. {known}" if remedy else known,
    )
