"""Values in files: JSON, CSV of any dialect and Parquet, each with where it lies."""

from __future__ import annotations

import csv
import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from dnip.base.errors import InvalidInputError, first_line, load_optional, warn
from dnip.base.files import open_input
from dnip.tables.cells import CellLocation
from dnip.tables.columns import check_names
from dnip.tables.formats import ARRAYS, check_widths, csv_rows, not_utf8, open_bytes

# Files of other programs that are read nowhere here, by suffix, and what to do with them.
_FOREIGN = frozenset(
    (".pkl", ".pickle", ".arrow", ".feather", ".xls", ".xlsx", ".xlsm", ".xlsb", ".ods", ".numbers")
)
_SAVE_AS = (
    "Save it as CSV UTF-8, JSON lines or Parquet, or give its numbers in Python: "
    "dnip.fit(probabilities, labels)"
)
# Where a JSON value begins, and what reads it.
_BEGIN, _DECODER = re.compile(r"\S"), json.JSONDecoder()
# A first line that tells Excel how columns are separated.
_SEPARATOR = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1f]")


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
    each on a line or on several. Files that end in .gz are decompressed. Columns of CSV may be
    separated by commas, semicolons, tabs or bars. Text is UTF-8, UTF-16 or, with a warning,
    Windows-1252.

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
    source, name = str(path), str(path).lower().removesuffix(".gz")
    if name.endswith(".parquet"):
        yield from _parquet(open_file or (lambda: open_input(path)), source)
        return
    suffix = Path(name).suffix
    if suffix in _FOREIGN.union(ARRAYS):
        raise InvalidInputError(
            f"{source}: files of the kind {suffix} are not read here", hint=_SAVE_AS
        )
    is_csv = name.endswith((".csv", ".tsv", ".tab", ".txt"))
    with open_bytes(Path(path), open_file) as file:
        text = _decoded(file.read(), source, by_excel=is_csv)
    if name.endswith(".txt"):
        is_csv = text.lstrip()[:1] not in ("", "{", "[")
    yield from (_csv if is_csv else _json)(text, source)


def _decoded(data: bytes, source: str, *, by_excel: bool) -> str:
    """Return the text of a file: UTF-8, UTF-16 or, where it may be of Excel, Windows-1252."""
    is_utf16 = data.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        damaged = not_utf8(Path(source), data.splitlines(keepends=True))
        # Control characters are not of a text, and other letters were UTF-8 up to there.
        if not by_excel or not data[: error.start].isascii() or _CONTROL.search(data):
            raise damaged from error
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError as error:
        raise damaged from error
    warn(
        f"{source}: this is not UTF-8, and read as Windows-1252, as Excel writes CSV; save it as "
        "CSV UTF-8 if names look wrong"
    )
    return text


def _json(text: str, source: str) -> Iterator[Found]:
    if text.lstrip()[:9].lower() == "@relation":
        raise InvalidInputError(
            f"{source}: this is ARFF, of Weka and OpenML",
            hint="Save it as CSV: a first line with the names of its @ATTRIBUTE lines, then what "
            "follows @DATA",
        )
    position, line = 0, 1
    while match := _BEGIN.search(text, position):
        start = match.start()
        line += text.count("\n", position, start)
        try:
            value, position = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            where, reason = getattr(error, "lineno", line), getattr(error, "msg", "nested too deep")
            begins = "" if where == line else f" (of the value that begins in line {line})"
            raise InvalidInputError(
                f"{source}: line {where}{begins} is not valid JSON: {reason.removesuffix(' at')}",
                hint=f"Line {line} may be cut off: write the file again, or remove that line"
                if start or text.lstrip()[:1] in ("{", "[")
                else "Save JSON, or rows of CSV in a file that ends in .csv, .tsv or .txt",
            ) from error
        yield Found(f"{source}: line {line}", value)
        line += text.count("\n", start, position)


def _csv(text: str, source: str) -> Iterator[Found]:
    named = _SEPARATOR.match(text)
    file = StringIO(text[named.end() :] if named else text, newline="")
    header, rows = csv_rows(file, source, named[1] if named else _delimiter(file))
    for number, cells in enumerate(rows):
        location = CellLocation(source, (), number)
        check_widths([cells], header, location)
        yield Found(location.cell(0), dict(zip(header, cells, strict=True)))


def _delimiter(file: IO[str]) -> str:
    """Return the mark that gives the first rows equally many cells, and most of them."""

    def fit(mark: str) -> tuple[int, int]:
        file.seek(0)
        try:
            widths = [len(row) for row in islice(csv.reader(file, delimiter=mark), 20) if row]
        except csv.Error:
            widths = []
        most = max(widths, default=0)
        return most if len({*widths}) == 1 else 1, widths[0] if widths else 0

    best = max(",;\t|", key=fit)
    file.seek(0)
    return best


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
