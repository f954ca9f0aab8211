"""Values in files: JSON, JSON lines, CSV and Parquet, each with where it lies."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from dnip.base.columns import CellLocation, check_names
from dnip.base.errors import InvalidInputError, first_line
from dnip.base.files import open_input
from dnip.base.optional import load_optional
from dnip.tables.formats.text import check_widths, csv_rows, open_text

# Where a JSON value begins, and what reads it.
_BEGIN, _DECODER = re.compile(r"\S"), json.JSONDecoder()


class Found(NamedTuple):
    """A value of a file: anything that JSON can hold, or a row as a dictionary.

    Attributes
    ----------
    where : str
        The file and the line, for messages.
    content : object
    """

    where: str
    content: Any


@dataclass(frozen=True)
class Places(CellLocation):
    """Where rows lie, for checks that see all of them: in several files, on any line.

    Examples
    --------
    >>> Places("2 files", ("ham", "spam"), places=["a.jsonl: line 3"]).cell(0, 1)
    'a.jsonl: line 3, spam'
    """

    places: Sequence[str] = field(default=())

    def cell(self, row: int, column: int | None = None) -> str:
        """Name a row, and its class if given."""
        name = self.places[row]
        return name if column is None else f"{name}, {self.columns[column]}"


def read_values(
    path: str | Path, open_file: Callable[[], IO[bytes]] | None = None
) -> Iterator[Found]:
    r"""Yield the values of a file, one after the other.

    Rows of CSV and Parquet are dictionaries. Every other file is JSON: one value after the other,
    each on a line or on several. Files that end in .gz are decompressed.

    Parameters
    ----------
    path : path-like
        The file; its suffix names the format.
    open_file : callable, optional
        Opens the file where it is not on this machine.

    Raises
    ------
    InvalidInputError
        For a file that cannot be read, or is damaged; the message names the line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "answers.jsonl")
    ...     _ = path.write_text('{"a": 1}\n\n[2, 3]\n')
    ...     [(found.where[-6:], found.content) for found in read_values(path)]
    [('line 1', {'a': 1}), ('line 3', [2, 3])]
    """
    source, name = str(path), str(path).lower()
    if name.endswith(".parquet"):
        yield from _parquet(open_file or (lambda: open_input(path)), source)
        return
    with open_text(Path(path), open_file) as file:
        is_csv = name.removesuffix(".gz").endswith(".csv")
        yield from (_csv if is_csv else _json)(file, source)


def _json(file: IO[str], source: str) -> Iterator[Found]:
    text, position, line = file.read(), 0, 1
    while found := _BEGIN.search(text, position):
        start = found.start()
        line += text.count("\n", position, start)
        try:
            value, position = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            where, reason = getattr(error, "lineno", line), getattr(error, "msg", error)
            raise InvalidInputError(
                f"{source}: line {where} is not valid JSON: {reason}",
                hint="The file may be cut off there: write it again, or remove the line",
            ) from error
        yield Found(f"{source}: line {line}", value)
        line += text.count("\n", start, position)


def _csv(file: IO[str], source: str) -> Iterator[Found]:
    header, rows = csv_rows(file, source)
    for number, cells in enumerate(rows):
        location = CellLocation(source, (), number)
        check_widths([cells], header, location)
        yield Found(location.cell(0), dict(zip(header, cells, strict=True)))


def _parquet(open_file: Callable[[], IO[bytes]], source: str) -> Iterator[Found]:
    parquet: Any = load_optional("pyarrow.parquet", purpose=f"read {source}", extra="parquet")
    row = 0
    try:
        with open_file() as file:
            for batch in parquet.ParquetFile(file).iter_batches(batch_size=1024):
                check_names(batch.schema.names, source)
                for content in batch.to_pylist():
                    row += 1
                    yield Found(f"{source}: row {row}", content)
    except InvalidInputError:
        raise
    except (OSError, ValueError) as error:  # of pyarrow, too
        raise InvalidInputError(
            f"{source}: the file cannot be read: {first_line(error)}",
            hint="Check its path and its permissions, or write it again",
        ) from error
