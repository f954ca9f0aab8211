"""The formats of files, in blocks of rows: CSV, JSON lines and Parquet; arrays are read only."""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import (
    InvalidInputError,
    counted,
    first_line,
    listed,
    load_optional,
    shown,
    warn,
)
from dnip.base.files import cannot_read, open_input, valid_unicode
from dnip.base.validation import once
from dnip.tables.cells import (
    MOST_IDS,
    CellLocation,
    Cells,
    ForeignError,
    as_list,
    check_numbers,
    check_vector,
)
from dnip.tables.columns import (
    CLASSES_METADATA,
    ID,
    KINDS,
    NOTHING,
    RESERVED,
    ROW,
    Asked,
    Layout,
    check_names,
    import_line,
    plain_name,
    probability_columns,
    resolve_columns,
)
from dnip.tables.labels import LABEL, default_classes
from dnip.tables.rows import Block, rows_per_block

if TYPE_CHECKING:
    import pyarrow as pa

_Row: TypeAlias = dict[str, object]
_Classes: TypeAlias = tuple[str, ...] | None

# The ids of a folder's rows so far; None for a file that stands alone.
_Seen: TypeAlias = set[str] | None

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
            yield _unpacked(file) if compressed else file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidInputError(
            f"{path}: this gzip file is damaged ({error})",
            hint="Copy or write the file again; drop .gz from the name if it is plain text",
        ) from error
    except OSError as error:
        raise cannot_read(path, error) from error


def _unpacked(file: IO[bytes]) -> IO[bytes]:
    return cast("IO[bytes]", gzip.open(file))


def _empty_file(source: str) -> InvalidInputError:
    """Return the error for a text file without any line."""
    return InvalidInputError(
        f"{source}: the file is empty", hint="Give a table with named columns and at least one row"
    )


def not_utf8(path: Path, file: Iterable[bytes]) -> ForeignError:
    """Find the line that is not UTF-8; the decoder reads ahead and does not know it."""
    number, byte = 0, b""
    for line in file:
        number += 1
        try:
            line.decode()
        except UnicodeDecodeError as error:
            byte = line[error.start : error.start + 1]
            break
    return ForeignError(
        f"{path}: line {number} is not UTF-8 text (byte 0x{byte.hex()})",
        hint="Save the file as UTF-8 (in Excel: CSV UTF-8); a gzip file ends its name in .gz",
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
        self._packed = gzip.GzipFile("", "wb", 6, file, mtime=0) if compressed else None
        self._file = self._packed or file

    def finish(self) -> None:
        """Write what the compressor still holds back."""
        if self._packed is not None:
            self._packed.close()

    def _add(self, text: str) -> None:
        self._file.write(text.encode(errors="backslashreplace"))  # as `valid_unicode`


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


# --- Parquet ---

# Bytes of a column chunk that are read at a time.
_BUFFER = 1 << 18


def read_parquet(
    path: Path,
    classes: tuple[str, ...] | None,
    block_rows: int,
    asked: Asked = NOTHING,
    groups: range | None = None,
) -> Iterator[Block]:
    """Stream the rows of a Parquet file or folder, or of some of its row groups, in batches."""
    before = 0
    for file in _parts(path):
        sizes = _group_sizes(file)
        chosen = [g for g in range(len(sizes)) if groups is None or before + g in groups]
        before += len(sizes)
        if chosen or groups is None:
            yield from _read_part(
                file, classes, block_rows, asked, chosen, sum(sizes[: min(chosen, default=0)])
            )


def count_groups(path: Path) -> int:
    """Return the number of row groups of a table."""
    return sum(len(_group_sizes(file)) for file in _parts(path))


def _libraries(purpose: str) -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and pyarrow.parquet."""
    arrow = load_optional("pyarrow", purpose=purpose, extra="parquet")
    return arrow, load_optional("pyarrow.parquet", purpose=purpose, extra="parquet")


def _parts(path: Path) -> list[Path]:
    """Return the files of a folder in the order of their names, or the file itself."""
    if not path.is_dir():
        return [path]
    parts = sorted(
        file for file in path.glob("*.parquet") if file.is_file() and file.name[0] not in "._"
    )
    if not parts:
        hint = "Give a table file, or a folder of part files"
        if within := sorted(folder for folder in path.iterdir() if folder.is_dir()):
            hint += f"; within it is the folder {within[0]}"
        raise InvalidInputError(f"{path}: the folder holds no .parquet or .jsonl files", hint=hint)
    return parts


def _group_sizes(path: Path) -> list[int]:
    """Return the number of rows of each row group of a file."""
    arrow, parquet = _libraries("read Parquet")
    try:
        metadata = parquet.read_metadata(path)
    except (arrow.ArrowException, OSError) as error:
        raise _damaged(str(path), error) from error
    return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]


def _read_part(
    path: Path,
    classes: tuple[str, ...] | None,
    block_rows: int,
    asked: Asked,
    groups: Sequence[int],
    first_row: int,
) -> Iterator[Block]:
    """Stream the rows of some row groups of a file, which begin at a row of it."""
    arrow, parquet = _libraries("read Parquet")
    damage = (arrow.ArrowException, OSError, ValueError)  # ValueError: no Unicode, say
    source = str(path)
    try:
        # Without a buffer a whole row group is held, which may be as large as the file.
        file = parquet.ParquetFile(
            path, buffer_size=_BUFFER, pre_buffer=False, page_checksum_verification=True
        )
    except damage as error:
        raise _damaged(source, error) from error
    with file:
        schema = file.schema_arrow
        stored = _stored_classes(schema, source)
        layout = resolve_columns(
            schema.names, classes=classes, source=source, stored=stored, asked=asked
        )
        kinds = zip(schema.names, schema.types, strict=True)
        wanted = layout.wanted([name for name, kind in kinds if _is_number(arrow, kind)])
        n_rows = rows_per_block(block_rows, len(wanted))
        batches = file.iter_batches(batch_size=n_rows, columns=wanted, row_groups=groups)
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                columns = {name: _cells(batch.column(name)) for name in wanted}
            except damage as error:
                raise _damaged(source, error) from error
            yield Block(layout, columns, first_row)
            first_row += batch.num_rows


def _cells(column: pa.Array) -> Cells:
    """Return an array where all cells are numbers, Python values elsewhere."""
    arrow, _ = _libraries("read Parquet")
    if column.null_count or not _is_number(arrow, column.type):
        cells: list[object] = column.to_pylist()
        return cells
    return np.from_dlpack(column)  # without importing pandas, as `to_numpy` does


def _is_number(arrow: ModuleType, kind: pa.DataType) -> bool:
    return bool(arrow.types.is_floating(kind) or arrow.types.is_integer(kind))


def _stored_classes(schema: pa.Schema, source: str) -> object:
    try:
        return json.loads((schema.metadata or {}).get(CLASSES_METADATA, "null"))
    except ValueError as error:
        raise _damaged(source, error) from error


def _damaged(source: str, error: Exception) -> InvalidInputError:
    return InvalidInputError(
        f"{source}: this Parquet file is damaged ({error})", hint="Copy or write the file again"
    )


class ParquetWriter:
    """Write blocks as row groups, with checksums so that damage is found on reading."""

    def __init__(self, file: IO[bytes]) -> None:
        self._arrow, self._parquet = _libraries("write Parquet")
        self._file = file
        self._writer: Any = None

    def write(self, block: Block) -> None:
        """Add the rows of a block."""
        layout = block.layout
        if self._writer is None:
            self._schema = self._schema_of(block)
            self._writer = self._parquet.ParquetWriter(
                self._file, self._schema, write_page_checksum=True
            )
        arrays = [
            self._arrow.array(_writable(name, cells, layout), self._schema.field(name).type)
            for name, cells in block.columns.items()
        ]
        self._writer.write_table(self._arrow.Table.from_arrays(arrays, schema=self._schema))

    def finish(self) -> None:
        """Write the footer, and release the file: its destructor would do that too late."""
        if self._writer is not None:
            self._writer.close()

    def _schema_of(self, block: Block) -> pa.Schema:
        named = block.layout.classes != default_classes(len(block.layout.classes))
        types = {
            str: self._arrow.string(),
            int: self._arrow.int64(),
            float: self._arrow.float64(),
            None: self._arrow.string() if named else self._arrow.int64(),
        }
        kinds = KINDS | dict.fromkeys(block.layout.probabilities, float)
        optional = {LABEL, *block.layout.others}
        fields = [
            self._arrow.field(name, types[kinds.get(name, str)], nullable=name in optional)
            for name in block.columns
        ]
        metadata = {CLASSES_METADATA: json.dumps(block.layout.classes)} if named else None
        return self._arrow.schema(fields, metadata=metadata)


def _writable(name: str, cells: Cells, layout: Layout) -> Cells:
    """Return the cells of a column, those of others as texts."""
    if name in layout.columns or name in RESERVED - {ROW}:
        return cells
    return [None if cell is None else valid_unicode(str(cell)) for cell in cells]


# --- arrays of NumPy ---

_HINT = (
    "Save probabilities p, shape (M, N), and labels y: np.savez('opt.npz', p=p, y=y), or p.npy and "
    "y.npy in one folder"
)


def read_arrays(
    path: Path, classes: tuple[str, ...] | None, block_rows: int, asked: Asked = NOTHING
) -> Iterator[Block]:
    """Stream the rows of two arrays: probabilities, and labels where there are any.

    An .npz file holds `p` and `y`. The labels of ``p….npy`` are ``y….npy`` in the same folder, as
    ``y_test.npy`` are those of ``p_test.npy``.
    """
    source, arrays = str(path), _arrays(path)
    p, y = arrays["p"], arrays.get("y")
    if p.ndim != 2 or p.dtype.kind not in "fiu":
        p = check_numbers(p, source)
    n_rows, n_classes = p.shape
    names = probability_columns(n_classes)
    labels: dict[str, Cells] = {}
    if y is not None:
        labels[LABEL] = check_vector(f"{source}: y", y, n_rows)
    layout = resolve_columns([*labels, *names], classes=classes, source=source, asked=asked)
    step = rows_per_block(block_rows, n_classes)
    for first in range(0, n_rows, step):
        rows = slice(first, first + step)
        columns = {name: cells[rows] for name, cells in labels.items()}
        yield Block(layout, columns | dict(zip(names, p[rows].T, strict=True)), first)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return `p`, and `y` where it is there."""
    try:
        if path.suffix.lower() == ".npz":
            with np.load(path) as held:
                arrays = {name: held[name] for name in held.files}
        else:
            labels = path.with_name(f"y{path.name[1:]}")
            arrays = {"p": np.load(path, mmap_mode="r")}
            if path.name[0] in "pP" and labels.is_file():
                arrays["y"] = np.load(labels)
    except Exception as error:  # of damaged bytes NumPy raises anything
        message = f"{path}: arrays cannot be read: {first_line(error)}"
        raise InvalidInputError(message, hint=_HINT) from error
    if "p" not in arrays:
        raise InvalidInputError(
            f"{path}: there is no array p; the arrays are {listed([*arrays]) or 'none'}", hint=_HINT
        )
    return arrays


# --- which format ---

#: Writes one file of some format, block by block: `write`, then `finish`.
BlockWriter: TypeAlias = CsvWriter | JsonlWriter | ParquetWriter


@dataclass(frozen=True)
class Format:
    """How to read and to write one file format.

    Parameters
    ----------
    read : callable
        From path, class names or None, rows per block at most, and the columns that are asked
        for, to a stream of blocks.
    open : callable or None
        From a binary file, open for writing, to a writer; None for what is read only.
    count_groups : callable or None
        From path to the number of row groups, some of which `read` reads if it is given a range as
        ``groups``; None if it reads all rows.
    """

    read: Callable[..., Iterator[Block]]
    open: Callable[[IO[bytes]], BlockWriter] | None
    count_groups: Callable[[Path], int] | None = None


#: Arrays, which are read as tables only.
ARRAYS = (".npz", ".npy")

FORMATS = {
    ".csv": Format(read_csv, CsvWriter),
    ".csv.gz": Format(read_csv, partial(CsvWriter, compressed=True)),
    ".jsonl": Format(read_jsonl, JsonlWriter),
    ".jsonl.gz": Format(read_jsonl, partial(JsonlWriter, compressed=True)),
    ".parquet": Format(read_parquet, ParquetWriter, count_groups),
    **dict.fromkeys(ARRAYS, Format(read_arrays, None)),
}


def format_of(path: Path, *, to_write: bool = False) -> Format:
    """Return the format of a file, by its suffix, or of a folder, by its files.

    Raises
    ------
    InvalidInputError
        For an unknown suffix; the message lists the known ones, and says how to read such a file
        where it is not to be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> format_of(Path("opt.CSV")) is FORMATS[".csv"]
    True
    """
    if path.is_dir():
        lines = any(path.glob("*.jsonl")) and not any(path.glob("*.parquet"))
        return Format(read_folder, JsonlWriter) if lines else FORMATS[".parquet"]
    formats = {name: form for name, form in FORMATS.items() if form.open or not to_write}
    for suffix, table_format in formats.items():
        if path.name.lower().endswith(suffix):
            return table_format
    known = f"The known suffixes are {', '.join(formats)}"
    remedy = f"Type: {import_line(str(path))}; or save it as CSV UTF-8, JSON lines or Parquet"
    raise ForeignError(
        f"{path}: the suffix {path.suffix!r} is that of no known table format",
        hint=known if to_write else f"{remedy}. {known}",
    )
