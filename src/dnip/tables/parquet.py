"""Parquet, one file or a folder of part files that are read in the order of their names."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import InvalidInputError, load_optional
from dnip.base.files import valid_unicode
from dnip.tables.cells import Cells
from dnip.tables.columns import (
    CLASSES_METADATA,
    DEFERRED,
    FALLBACK,
    ID,
    MASS,
    NOTHING,
    PREDICTION,
    RESERVED,
    ROW,
    SAMPLES,
    Asked,
    Layout,
    resolve_columns,
)
from dnip.tables.labels import LABEL, default_classes
from dnip.tables.rows import Block, rows_per_block

if TYPE_CHECKING:
    import pyarrow as pa

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


_LABELS = (LABEL, PREDICTION)


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
        text, number, real = self._arrow.string(), self._arrow.int64(), self._arrow.float64()
        kinds = {ID: text, MASS: real, SAMPLES: number, FALLBACK: number, DEFERRED: number}
        kinds |= dict.fromkeys(_LABELS, text if named else number)
        kinds |= dict.fromkeys(block.layout.probabilities, real)
        optional = {LABEL, *block.layout.others}
        fields = [
            self._arrow.field(name, kinds.get(name, text), nullable=name in optional)
            for name in block.columns
        ]
        metadata = {CLASSES_METADATA: json.dumps(block.layout.classes)} if named else None
        return self._arrow.schema(fields, metadata=metadata)


def _writable(name: str, cells: Cells, layout: Layout) -> Cells:
    """Return the cells of a column, those of others as texts."""
    if name in layout.columns or name in RESERVED - {ROW}:
        return cells
    return [None if cell is None else valid_unicode(str(cell)) for cell in cells]
