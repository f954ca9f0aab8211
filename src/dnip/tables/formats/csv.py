"""CSV and gzipped CSV: a header line, then one row per example."""

from __future__ import annotations

import csv
import re
from itertools import islice
from typing import IO, TYPE_CHECKING

from dnip.base.errors import InvalidInputError
from dnip.tables.cells import matrix_from_text
from dnip.tables.chunk import RawChunk, rows_per_chunk, shown
from dnip.tables.columns import ID, LABEL, resolve_columns
from dnip.tables.formats.text import TextOutput, empty_file, open_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dnip.tables.block import Block
    from dnip.tables.chunk import CellLocation


def read_csv(
    path: Path,
    classes: tuple[str, ...] | None,
    chunk_rows: int,
    *,
    others: bool = False,
    compressed: bool = False,
) -> Iterator[RawChunk]:
    """Stream the rows of a CSV file; blank lines are skipped."""
    source = str(path)
    with open_text(path, compressed=compressed) as file:
        rows = _rows(file, source)
        header = [name.strip() for name in next(rows, [])]
        if not header:
            raise empty_file(path)
        layout = resolve_columns(header, classes=classes, source=source)
        position = {name: index for index, name in enumerate(header)}
        first_row = 0
        while chunk := list(islice(rows, rows_per_chunk(chunk_rows, len(header)))):
            location = layout.location(first_row)
            _check_widths(chunk, header, location)
            columns = list(zip(*chunk, strict=True))
            yield RawChunk(
                layout=layout,
                numbers=matrix_from_text(
                    [columns[position[name]] for name in layout.numbers], location
                ),
                labels=columns[position[LABEL]] if layout.has_labels else None,
                ids=columns[position[ID]] if layout.has_ids else None,
                first_row=first_row,
                others={n: columns[position[n]] for n in layout.others} if others else None,
            )
            first_row += len(chunk)


def _rows(file: IO[str], source: str) -> Iterator[list[str]]:
    reader = csv.reader(file, strict=True)
    try:
        yield from filter(None, reader)
    except csv.Error as error:
        raise InvalidInputError(
            f"{source}: line {reader.line_num} is not valid CSV: {error}",
            hint="Check the quotes there: a quoted cell ends in a quote, and holds them doubled",
        ) from error


def _check_widths(chunk: list[list[str]], header: list[str], location: CellLocation) -> None:
    width = len(header)
    for row, cells in enumerate(chunk):
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


_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$')


class CsvWriter:
    """Write blocks as lines; the header comes with the first."""

    def __init__(self, file: IO[bytes], *, compressed: bool = False) -> None:
        self._output = TextOutput(file, compressed=compressed)
        self._has_header = False

    def write(self, block: Block) -> None:
        """Add the rows of a block."""
        if not self._has_header:
            self._output.write(",".join(map(_cell, block.columns)) + "\n")
            self._has_header = True
        leading = [map(_cell, block.cells(name)) for name in block.leading]
        # repr gives the shortest text that reads back as the same float.
        numbers = (",".join(map(repr, row)) for row in block.probabilities.tolist())
        lines = map(",".join, zip(*leading, numbers, strict=True))
        self._output.write("".join(f"{line}\n" for line in lines))

    def finish(self) -> None:
        """Write what is still held back."""
        self._output.finish()

    def discard(self) -> None:
        """Leave the file as it is."""


def _cell(value: str | float | None) -> str:
    # The csv module of Python 3.11 does not quote a lone carriage return.
    text = "" if value is None else str(value)
    return '"' + text.replace('"', '""') + '"' if _NEEDS_QUOTES.search(text) else text
