"""Values in files: JSON, JSON lines, CSV and Parquet, each with the place where it lies."""

from __future__ import annotations

import csv
import json
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from dnip.base.errors import InvalidInputError
from dnip.base.optional import load_optional
from dnip.tables.formats.text import cannot_read, open_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Where cells without a column stand; no column of a file is named so.
_MORE = "\0more"


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


def read_values(path: Path) -> Iterator[Found]:
    r"""Yield the values of a file, one after the other.

    Rows of CSV and Parquet are dictionaries. Every other file is JSON: one value per line, which
    are read one at a time, or values that span lines, which are read at once. Files that end in
    .gz are decompressed.

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
    name = path.name.lower()
    if name.endswith(".parquet"):
        yield from _parquet(path)
        return
    with open_text(path, compressed=name.endswith(".gz")) as file:
        yield from (_csv if name.removesuffix(".gz").endswith(".csv") else _json)(file, path)


def _json(file: IO[str], path: Path) -> Iterator[Found]:
    lines = ((number, line) for number, line in enumerate(file, 1) if not line.isspace())
    for count, (number, line) in enumerate(lines):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            if count:  # the lines before hold a value each
                raise _damaged(path, number, error) from error
            yield from _documents(line + file.read(), path, number)
            return
        yield Found(f"{path}: line {number}", value)


def _documents(text: str, path: Path, first_line: int) -> Iterator[Found]:
    """Yield JSON values that span lines."""
    decoder = json.JSONDecoder()
    position, line = 0, first_line
    while rest := text[position:].lstrip():
        start = len(text) - len(rest)
        line += text.count("\n", position, start)
        try:
            value, position = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise _damaged(path, first_line + error.lineno - 1, error) from error
        except RecursionError as error:
            raise _damaged(path, line, error) from error
        yield Found(f"{path}: line {line}", value)
        line += text.count("\n", start, position)


def _damaged(path: Path, line: int, error: Exception) -> InvalidInputError:
    reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return InvalidInputError(
        f"{path}: line {line} is not valid JSON: {reason}",
        hint="The file may be cut off there: write it again, or remove the line",
    )


def _csv(file: IO[str], path: Path) -> Iterator[Found]:
    reader = csv.DictReader(file, restkey=_MORE, strict=True)
    try:
        for row in reader:
            where = f"{path}: line {reader.line_num}"
            if _MORE in row or None in row.values():
                raise InvalidInputError(
                    f"{where} has more or fewer cells than the header",
                    hint="Give every row as many cells as the header; quote cells with commas",
                )
            yield Found(where, row)
    except csv.Error as error:
        raise InvalidInputError(
            f"{path}: line {reader.line_num} is not valid CSV: {error}",
            hint="Check the quotes there: a quoted cell ends in a quote, and holds them doubled",
        ) from error


def _parquet(path: Path) -> Iterator[Found]:
    parquet: Any = load_optional("pyarrow.parquet", purpose=f"read {path}", extra="parquet")
    arrow: Any = load_optional("pyarrow", purpose=f"read {path}", extra="parquet")
    try:
        with parquet.ParquetFile(path) as file:
            row = 0
            for batch in file.iter_batches(batch_size=1024):
                for content in batch.to_pylist():
                    row += 1
                    yield Found(f"{path}: row {row}", content)
    except arrow.ArrowInvalid as error:
        raise InvalidInputError(
            f"{path}: this is not a sound Parquet file: {str(error).splitlines()[0]}",
            hint="Write the file again",
        ) from error
    except OSError as error:
        raise cannot_read(path, error) from error
