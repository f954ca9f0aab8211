"""CSV and gzipped CSV: a header line, then one row per example."""

from __future__ import annotations

import csv
from itertools import islice
from typing import IO, TYPE_CHECKING

from dnip.base.errors import InvalidInputError
from dnip.tables.cells import matrix_from_text
from dnip.tables.chunk import RawChunk
from dnip.tables.columns import ID, LABEL, resolve_columns
from dnip.tables.place import FilePlace, shown
from dnip.tables.readers.chunk_size import rows_per_chunk
from dnip.tables.readers.text import empty_file, open_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def read_csv(
    path: Path, classes: tuple[str, ...] | None, chunk_rows: int, *, compressed: bool = False
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
            place = FilePlace(source, layout.numbers, first_row)
            _check_widths(chunk, header, place)
            columns = list(zip(*chunk, strict=True))
            yield RawChunk(
                layout=layout,
                numbers=matrix_from_text(
                    [columns[position[name]] for name in layout.numbers], place
                ),
                labels=columns[position[LABEL]] if layout.has_labels else None,
                ids=columns[position[ID]] if layout.has_ids else None,
                first_row=first_row,
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


def _check_widths(chunk: list[list[str]], header: list[str], place: FilePlace) -> None:
    width = len(header)
    for row, cells in enumerate(chunk):
        if len(cells) < width:
            raise InvalidInputError(
                f"{place.named(row, header[len(cells)])}: the row ends after {len(cells)} of "
                f"{width} cells",
                hint="Give every row as many cells as the header",
            )
        if len(cells) > width:
            raise InvalidInputError(
                f"{place.cell(row)} has {len(cells)} cells, but the header has {width}; the "
                f"first beyond column {header[-1]} is {shown(cells[width])}",
                hint="Give every row as many cells as the header; quote cells that hold commas",
            )
