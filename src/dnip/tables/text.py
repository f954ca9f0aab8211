"""CSV and JSON lines, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import IO, TypeAlias, cast

from dnip.base.errors import InvalidInputError, counted, shown, warn
from dnip.base.files import no_file, open_input
from dnip.base.validation import once
from dnip.tables.cells import MOST_IDS, CellLocation, as_list
from dnip.tables.columns import ID, NOTHING, Asked, check_names, plain_name, resolve_columns
from dnip.tables.rows import Block, rows_per_block

_Row: TypeAlias = dict[str, object]
_Classes: TypeAlias = tuple[str, ...] | None

# The ids of a folder's rows so far; None for a file that stands alone.
_Seen: TypeAlias = set[str] | None

# zlib's window bits that ask for a gzip header, which it writes without time and name.
_GZIP = 16 + zlib.MAX_WBITS
_NEEDS_QUOTES = re.compile(r'[",\t\r\n]|^\s|\s$')


def read_csv(
    path: Path, classes: _Classes, block_rows: int, asked: Asked = NOTHING
) -> Iterator[Block]:
    """Stream the rows of a CSV file; blank lines are skipped."""
    source = str(path)
    with _open_text(path) as file:
        header, rows = csv_rows(file, source)
        layout = resolve_columns(header, classes=classes, source=source, asked=asked)
        wanted = layout.wanted(header)  # texts that may be numbers
        first_row = 0
        while run := list(islice(rows, rows_per_block(block_rows, len(header)))):
            check_widths(run, header, layout.location(first_row))
            columns = dict(zip(header, zip(*run, strict=True), strict=True))
            yield Block(layout, {name: columns[name] for name in wanted}, first_row, as_text=True)
            first_row += len(run)


def csv_rows(
    file: IO[str], source: str, delimiter: str = ","
) -> tuple[list[str], Iterator[list[str]]]:
    """Return the header of a CSV file, and its other rows; blank lines are skipped."""
    rows = _csv_rows(file, source, delimiter)
    header = [plain_name(name) for name in next(rows, [])]
    if not header:
        raise _empty_file(source)
    check_names(header, source)
    return header, rows


def _csv_rows(file: IO[str], source: str, delimiter: str) -> Iterator[list[str]]:
    reader = csv.reader(file, delimiter=delimiter, strict=True)
    try:
        yield from filter(None, reader)
    except csv.Error as error:
        raise InvalidInputError(
            f"{source}: line {reader.line_num} is not valid CSV: {error}",
            hint="Check the quotes there: a quoted cell ends in a quote, and holds them doubled",
        ) from error


def check_widths(run: list[list[str]], header: list[str], location: CellLocation) -> None:
    """Refuse rows that have more or fewer cells than the header."""
    width = len(header)
    for row, cells in enumerate(run):
        if len(cells) < width:
            raise InvalidInputError(
                f"{location.named(row, header[len(cells)])}: the row ends after {len(cells)} of "
                f"{width} cells",
                hint="Give every row as many cells as the header",
            )
        if len(cells) > width:
            raise InvalidInputError(
                f"{location.cell(row)} has {len(cells)} cells, but the header has {width}; the "
                f"first beyond column {header[-1]} is {shown(cells[width])}",
                hint="Give every row as many cells as the header; quote cells that hold commas",
            )


def read_jsonl(
    path: Path, classes: _Classes, block_rows: int, asked: Asked = NOTHING, seen: _Seen = None
) -> Iterator[Block]:
    """Stream the rows of a JSON lines file; blank lines are skipped."""
    source, rows = str(path), json_rows(path, seen)
    first = next(rows, None)
    if first is None:
        if seen is None:
            raise _empty_file(source)
        return
    layout = resolve_columns(list(first), classes=classes, source=source, asked=asked)
    wanted = layout.wanted([name for name, cell in first.items() if isinstance(cell, int | float)])
    first_row = 0
    n_rows = rows_per_block(block_rows, len(first))
    rows = chain([first], rows)
    while run := list(islice(rows, n_rows)):
        _check_keys(run, first, layout.location(first_row))
        yield Block(layout, {name: [row[name] for row in run] for name in wanted}, first_row)
        first_row += len(run)


def json_rows(path: Path, seen: _Seen = None) -> Iterator[_Row]:
    """Yield the rows of a JSON lines file.

    With the ids seen before, it is a part of a folder that may still grow: a line that is cut off
    is left out, and so are requests that were sent again. Warnings say so.
    """
    row = n_again = 0
    with _open_text(path) as file:
        for line in file:
            if line.isspace():
                continue
            row += 1
            try:
                cells = json.loads(line, object_pairs_hook=once)
                if not isinstance(cells, dict):
                    raise ValueError(f"it is of type {type(cells).__name__}, not an object")
            except (ValueError, RecursionError) as error:
                if seen is not None and not line.endswith("\n"):
                    warn(f"{path}: row {row}, the last one, is cut off, and left out")
                    break
                raise InvalidInputError(
                    f"{path}: row {row} is not valid JSON: {error}",
                    hint='Write one object per line, such as {"label": 0, "p0": 0.9, "p1": 0.1}',
                ) from error
            if seen is not None and isinstance(name := cells.get(ID), str):
                if name in seen:
                    n_again += 1
                    continue
                if len(seen) < MOST_IDS:
                    seen.add(name)
            yield cells
    if n_again:
        warn(f"{path}: {counted(n_again, 'row')} left out, with the id of an earlier row")


def parts_of(path: Path) -> Iterator[Path]:
    """Yield the files of a folder of JSON lines by name, but those that are removed meanwhile."""
    return (file for file in sorted(path.glob("*.jsonl")) if file.exists())


def read_folder(
    path: Path, classes: _Classes, block_rows: int, asked: Asked = NOTHING
) -> Iterator[Block]:
    """Stream the rows of a folder of JSON lines, to which programs may still append."""
    seen: set[str] = set()
    for file in parts_of(path):
        yield from read_jsonl(file, classes, block_rows, asked, seen)


def _check_keys(run: list[_Row], first: _Row, location: CellLocation) -> None:
    for row, cells in enumerate(run):
        if cells.keys() == first.keys():
            continue
        missing = [name for name in first if name not in cells]
        name = missing[0] if missing else next(name for name in cells if name not in first)
        raise InvalidInputError(
            f"{location.named(row, name)} {'is missing' if missing else 'is not in row 1'}",
            hint='Give all rows the same keys, and "label": null where there is no label',
        )


@contextmanager
def _open_text(path: Path) -> Iterator[IO[str]]:
    """Open a UTF-8 text file, plain or .gz, with or without a byte order mark; line ends stay.

    Raises
    ------
    InvalidInputError
        As `open_bytes`, and for a file that is not UTF-8, also while reading inside the block.
    """
    with open_bytes(path) as file:
        try:
            start = file.peek(2)[:2] if hasattr(file, "peek") else b""
            if b"\0" in start or start in (BOM_UTF16_LE, BOM_UTF16_BE):
                raise InvalidInputError(
                    f"{path}: this is UTF-16 text",
                    hint="Save the file as UTF-8; `dnip import` also reads UTF-16",
                )
            yield TextIOWrapper(file, encoding="utf-8-sig", newline="")
        except UnicodeDecodeError as error:
            with open_bytes(path) as again:
                raise not_utf8(path, again) from error


@contextmanager
def open_bytes(path: Path, opener: Callable[[], IO[bytes]] | None = None) -> Iterator[IO[bytes]]:
    """Open a file, plain or .gz; `opener` opens one that is not on this machine.

    Raises
    ------
    InvalidInputError
        On opening or while reading inside the block: for a file that cannot be read, or is no
        sound gzip file.
    """
    compressed = path.name.lower().endswith(".gz")
    try:
        with opener() if opener else open_input(path) as file:
            yield _plain(file, compressed=compressed)
    except gzip.BadGzipFile as error:
        raise InvalidInputError(
            f"{path}: this gzip file is damaged ({error})",
            hint="Compress it again; drop .gz from the name if it is plain text",
        ) from error
    except (EOFError, zlib.error) as error:
        raise InvalidInputError(
            f"{path}: the gzip file is truncated or damaged ({error})",
            hint="Copy or write the file again",
        ) from error
    except OSError as error:
        raise cannot_read(path, error) from error


def _plain(file: IO[bytes], *, compressed: bool) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(file)) if compressed else file


def cannot_read(path: Path, error: OSError) -> InvalidInputError:
    """Return the error for a file that cannot be opened or read."""
    if isinstance(error, FileNotFoundError):
        return no_file(path)
    return InvalidInputError(
        f"{path}: the file cannot be read: {error.strerror or error}",
        hint="Check the path and its permissions",
    )


def _empty_file(source: str) -> InvalidInputError:
    """Return the error for a text file without any line."""
    return InvalidInputError(
        f"{source}: the file is empty", hint="Give a table with named columns and at least one row"
    )


def not_utf8(path: Path, file: Iterable[bytes]) -> InvalidInputError:
    """Find the line that is not UTF-8; the decoder reads ahead and does not know it."""
    number, line, byte = 0, b"", b""
    for line in file:
        number += 1
        try:
            line.decode()
        except UnicodeDecodeError as error:
            byte = line[error.start : error.start + 1]
            break
    gzipped = line.startswith(b"\x1f\x8b")
    return InvalidInputError(
        f"{path}: line {number} is not UTF-8 text (byte 0x{byte.hex()})",
        hint="It is a gzip file: end its name in .gz"
        if gzipped
        else "Save the file as UTF-8 (in Excel: CSV UTF-8)",
    )


class _TextWriter:
    """Writes UTF-8 text to a file, the same bytes for the same text.

    Parameters
    ----------
    file : binary file
        Open for writing; the caller closes it.
    compressed : bool, default=False
        Whether to gzip the text.
    """

    def __init__(self, file: IO[bytes], *, compressed: bool = False) -> None:
        self._file = file
        self._gzip = zlib.compressobj(wbits=_GZIP) if compressed else None

    def finish(self) -> None:
        """Write what the compressor still holds back."""
        if self._gzip is not None:
            self._file.write(self._gzip.flush())

    def _add(self, text: str) -> None:
        data = text.encode(errors="backslashreplace")  # as `valid_unicode`
        self._file.write(data if self._gzip is None else self._gzip.compress(data))


class CsvWriter(_TextWriter):
    """Write blocks as lines; the header comes with the first."""

    _has_header = False

    def write(self, block: Block) -> None:
        """Add the rows of a block."""
        if not self._has_header:
            self._add(",".join(map(_cell, block.columns)) + "\n")
            self._has_header = True
        columns = []
        for name, cells in block.columns.items():
            # repr gives the shortest text that reads back as the same float.
            text = repr if name in block.layout.probabilities else _cell
            columns.append(map(text, as_list(cells)))
        lines = map(",".join, zip(*columns, strict=True))
        self._add("".join(f"{line}\n" for line in lines))


def _cell(value: str | float | None) -> str:
    # The csv module of Python 3.11 does not quote a lone carriage return.
    text = "" if value is None else str(value)
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text


class JsonlWriter(_TextWriter):
    """Write blocks as one JSON object per row."""

    def write(self, block: Block) -> None:
        """Add the rows of a block."""
        rows = zip(*map(as_list, block.columns.values()), strict=True)
        objects = (dict(zip(block.columns, cells, strict=True)) for cells in rows)
        self._add("".join(f"{json.dumps(o, ensure_ascii=False)}\n" for o in objects))
