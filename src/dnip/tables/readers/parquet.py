"""Parquet: one file, or a folder of part files that are read in the order of their names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from dnip.errors import InvalidInputError
from dnip.optional import load_optional
from dnip.tables.cells import matrix_from_numbers
from dnip.tables.chunk import RawChunk
from dnip.tables.columns import CLASSES_METADATA, ID, LABEL, resolve_columns
from dnip.tables.place import FilePlace
from dnip.tables.readers.named import check_own_classes, reconcile_classes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from dnip.tables.columns import Layout


def read_parquet(
    path: Path, classes: tuple[str, ...] | None, chunk_rows: int
) -> Iterator[RawChunk]:
    """Stream the rows of a Parquet file or folder, a batch of a row group at a time."""
    for part in _parts(path):
        yield from _read_part(part, classes, chunk_rows)


def _parts(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    parts = sorted(
        part for part in path.glob("*.parquet") if part.is_file() and part.name[0] not in "._"
    )
    if not parts:
        raise InvalidInputError(
            f"{path}: the folder holds no .parquet files",
            hint="Give a table file, or a folder of Parquet part files",
        )
    return parts


def _read_part(path: Path, classes: tuple[str, ...] | None, chunk_rows: int) -> Iterator[RawChunk]:
    arrow = load_optional("pyarrow", purpose="read Parquet", extra="parquet")
    parquet = load_optional("pyarrow.parquet", purpose="read Parquet", extra="parquet")
    damage = (arrow.ArrowException, OSError, UnicodeDecodeError)
    source = str(path)
    try:
        file = parquet.ParquetFile(path, page_checksum_verification=True)
    except damage as error:
        raise _damaged(source, error) from error
    with file:
        schema = file.schema_arrow
        layout = resolve_columns(
            schema.names,
            classes=reconcile_classes(_own_classes(schema, source), classes, source),
            source=source,
        )
        batches = file.iter_batches(batch_size=chunk_rows, columns=list(layout.columns))
        first_row = 0
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                chunk = _chunk(batch, layout, first_row)
            except damage as error:
                raise _damaged(source, error) from error
            yield chunk
            first_row += batch.num_rows


def _chunk(batch: pa.RecordBatch, layout: Layout, first_row: int) -> RawChunk:
    return RawChunk(
        layout=layout,
        probabilities=matrix_from_numbers(
            [_cells(batch.column(name)) for name in layout.probabilities],
            FilePlace(layout.source, layout.probabilities, first_row),
        ),
        labels=batch.column(LABEL).to_pylist() if layout.has_labels else None,
        ids=batch.column(ID).to_pylist() if layout.has_ids else None,
        first_row=first_row,
    )


def _cells(column: pa.Array) -> NDArray[np.generic] | Sequence[object]:
    """Return an array where the column has no empty cells, Python values where it has."""
    if column.null_count:
        cells: list[object] = column.to_pylist()
        return cells
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _own_classes(schema: pa.Schema, source: str) -> tuple[str, ...] | None:
    text = (schema.metadata or {}).get(CLASSES_METADATA)
    if text is None:
        return None
    try:
        names = json.loads(text)
    except ValueError as error:
        raise _damaged(source, error) from error
    return check_own_classes(names if isinstance(names, list) else [], source)


def _damaged(source: str, error: Exception) -> InvalidInputError:
    return InvalidInputError(
        f"{source}: this is not a sound Parquet file ({error})",
        hint="Copy or write the file again",
    )
