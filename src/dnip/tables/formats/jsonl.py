"""JSON lines, plain or gzipped: one object per row, its keys the column names."""

from __future__ import annotations

import json
from itertools import islice
from typing import IO, TYPE_CHECKING, TypeAlias

from dnip.base.errors import InvalidInputError
from dnip.tables.cells import matrix_from_numbers
from dnip.tables.chunk import RawChunk, rows_per_chunk
from dnip.tables.columns import ID, LABEL, resolve_columns
from dnip.tables.formats.text import TextOutput, empty_file, open_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dnip.tables.block import Block
    from dnip.tables.chunk import CellLocation


_Row: TypeAlias = dict[str, object]


def read_jsonl(
    path: Path,
    classes: tuple[str, ...] | None,
    chunk_rows: int,
    *,
    others: bool = False,
    compressed: bool = False,
) -> Iterator[RawChunk]:
    """Stream the rows of a JSON lines file; blank lines are skipped."""
    source = str(path)
    with open_text(path, compressed=compressed) as file:
        rows = _rows(file, source)
        first = next(rows, None)
        if first is None:
            raise empty_file(path)
        layout = resolve_columns(list(first), classes=classes, source=source)
        first_row = 0
        n_rows = rows_per_chunk(chunk_rows, len(first))
        chunk = [first, *islice(rows, n_rows - 1)]
        while chunk:
            location = layout.location(first_row)
            _check_keys(chunk, first, location)
            yield RawChunk(
                layout=layout,
                numbers=matrix_from_numbers(
                    [[row[name] for row in chunk] for name in layout.numbers], location
                ),
                labels=_scalars(chunk, LABEL, location) if layout.has_labels else None,
                ids=_scalars(chunk, ID, location) if layout.has_ids else None,
                first_row=first_row,
                others={n: [_plain(row[n]) for row in chunk] for n in layout.others}
                if others
                else None,
            )
            first_row += len(chunk)
            chunk = list(islice(rows, n_rows))


def _rows(file: IO[str], source: str) -> Iterator[_Row]:
    row = 0
    for line in file:
        if line.isspace():
            continue
        row += 1
        where = f"{source}: row {row}"
        try:
            pairs = json.loads(line, object_pairs_hook=_Pairs)
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(
                f"{where} is not valid JSON: {error}",
                hint='Write one object per line, such as {"label": 0, "p0": 0.9, "p1": 0.1}',
            ) from error
        if not isinstance(pairs, _Pairs):
            raise InvalidInputError(
                f"{where} is JSON of type {type(pairs).__name__}, but an object is needed",
                hint='Write one object per line, such as {"label": 0, "p0": 0.9, "p1": 0.1}',
            )
        cells = dict(pairs)
        if len(cells) < len(pairs):
            names = [name for name, _ in pairs]
            name = next(name for name in names if names.count(name) > 1)
            raise InvalidInputError(
                f"{where}, column {name} appears twice", hint="Give every key of a row once"
            )
        yield cells


class _Pairs(list[tuple[str, object]]):
    """The keys and values of a JSON object, keys that appear twice included."""


def _plain(cell: object) -> object:
    """Return a cell with its objects as dicts."""
    if isinstance(cell, _Pairs):
        return {name: _plain(value) for name, value in cell}
    return [_plain(value) for value in cell] if isinstance(cell, list) else cell


def _check_keys(chunk: list[_Row], first: _Row, location: CellLocation) -> None:
    for row, cells in enumerate(chunk):
        if cells.keys() == first.keys():
            continue
        missing = [name for name in first if name not in cells]
        name = missing[0] if missing else next(name for name in cells if name not in first)
        raise InvalidInputError(
            f"{location.named(row, name)} {'is missing' if missing else 'is not in row 1'}",
            hint='Give all rows the same keys, and "label": null where there is no label',
        )


def _scalars(chunk: list[_Row], name: str, location: CellLocation) -> list[object]:
    cells = [row[name] for row in chunk]
    for row, cell in enumerate(cells):
        if isinstance(cell, list):
            raise InvalidInputError(
                f"{location.named(row, name)}: a text or a number is needed, not a list or an "
                "object",
                hint="Give one value per row",
            )
    return cells


class JsonlWriter:
    """Write blocks as one JSON object per row."""

    def __init__(self, file: IO[bytes], *, compressed: bool = False) -> None:
        self._output = TextOutput(file, compressed=compressed)

    def write(self, block: Block) -> None:
        """Add the rows of a block."""
        columns = block.columns
        numbers = block.probabilities.T.tolist()
        leading = map(block.cells, block.leading)
        rows = zip(*leading, *numbers, strict=True)
        objects = (dict(zip(columns, cells, strict=True)) for cells in rows)
        self._output.write("".join(f"{json.dumps(o, ensure_ascii=False)}\n" for o in objects))

    def finish(self) -> None:
        """Write what is still held back."""
        self._output.finish()

    def discard(self) -> None:
        """Leave the file as it is."""
