"""Parquet: one file, or a folder of part files that are read in the order of their names."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.escaping import valid_unicode
from dnip.base.optional import load_optional
from dnip.tables.block import LABEL_COLUMNS
from dnip.tables.cells import is_missing, matrix_from_numbers
from dnip.tables.chunk import Codes, RawChunk, rows_per_chunk
from dnip.tables.columns import (
    CLASSES_METADATA,
    FALLBACK,
    ID,
    LABEL,
    MASS,
    RESERVED,
    SAMPLES,
    check_own_classes,
    reconcile_classes,
    resolve_columns,
)
from dnip.tables.share import WHOLE, Share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import ModuleType

    import pyarrow as pa
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

    from dnip.tables.block import Block
    from dnip.tables.chunk import Ids
    from dnip.tables.columns import Layout


# Bytes of a page, the usual size of writers.
_PAGE = 1 << 20

# Bytes of a column chunk that are read at a time.
_BUFFER = 1 << 18


def read_parquet(
    path: Path,
    classes: tuple[str, ...] | None,
    chunk_rows: int,
    *,
    others: bool = False,
    share: Share = WHOLE,
) -> Iterator[RawChunk]:
    """Stream the rows of a Parquet file or folder, a batch of a row group at a time."""
    parts = _parts(path)
    if share.of == 1:
        before = 0
        for part in parts:
            chunk = None
            for chunk in _read_part(part, classes, chunk_rows, others=others, before=before):
                yield chunk
            before = before if chunk is None else chunk.table_row + len(chunk.numbers)
        return
    groups = [_group_sizes(part) for part in parts]
    if sum(map(len, groups)) < share.of:  # not one for everyone
        yield from share.pick(read_parquet(path, classes, chunk_rows, others=others))
        return
    piece = before = 0
    for part, sizes in zip(parts, groups, strict=True):
        own = [g for g in range(len(sizes)) if share.holds(piece + g)]
        yield from _read_part(part, classes, chunk_rows, own, others=others, before=before)
        piece, before = piece + len(sizes), before + sum(sizes)


def count_groups(path: Path) -> int:
    """Return the number of row groups of a table."""
    return sum(len(_group_sizes(part)) for part in _parts(path))


def extra_memory(path: Path) -> int:
    """Return about how many bytes the open pages take: one per column, packed and unpacked.

    Parts are alike, so only the first is looked at. A damaged one is refused when it is read.
    """
    arrow, parquet = _libraries("read Parquet")
    try:
        metadata = parquet.read_metadata(_parts(path)[0])
    except (arrow.ArrowException, OSError):
        return 0
    groups = [metadata.row_group(index) for index in range(metadata.num_row_groups)]
    largest = max((group.total_byte_size for group in groups), default=0)
    return int(min(2 * largest, metadata.num_columns * (2 * _PAGE + _BUFFER)))


def _libraries(purpose: str) -> tuple[ModuleType, ModuleType]:
    """Return pyarrow and pyarrow.parquet."""
    arrow = load_optional("pyarrow", purpose=purpose, extra="parquet")
    return arrow, load_optional("pyarrow.parquet", purpose=purpose, extra="parquet")


def _parts(path: Path) -> list[Path]:
    """Return the files of a folder in the order of their names, or the file itself."""
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
    chunk_rows: int,
    groups: Sequence[int] | None = None,
    *,
    others: bool,
    before: int,
) -> Iterator[RawChunk]:
    """Stream the rows of a file, or of some row groups; `before` rows are in the files before."""
    arrow, parquet = _libraries("read Parquet")
    damage = (arrow.ArrowException, OSError, UnicodeDecodeError)
    source = str(path)
    try:
        metadata = parquet.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
        # Without a buffer a whole row group is held, which may be as large as the file.
        file = parquet.ParquetFile(
            path,
            metadata=metadata,
            buffer_size=_BUFFER,
            pre_buffer=False,
            page_checksum_verification=True,
            read_dictionary=[name for name in schema.names if name == LABEL],
        )
    except damage as error:
        raise _damaged(source, error) from error
    with file:
        layout = resolve_columns(
            schema.names,
            classes=reconcile_classes(_own_classes(schema, source), classes, source),
            source=source,
        )
        wanted = [*layout.columns, *(layout.others if others else ())]
        n_rows = rows_per_chunk(chunk_rows, len(wanted))
        for row, own in _runs(metadata, groups):
            first_row = row
            batches = file.iter_batches(batch_size=n_rows, columns=wanted, row_groups=own)
            while True:
                try:
                    batch = next(batches, None)
                    if batch is None:
                        break
                    chunk = _chunk(batch, layout, first_row, before, others=others)
                except damage as error:
                    raise _damaged(source, error) from error
                yield chunk
                first_row += batch.num_rows


def _runs(
    metadata: pq.FileMetaData, groups: Sequence[int] | None
) -> Iterator[tuple[int, list[int]]]:
    """Yield row groups that are read together, with the row that they begin at."""
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    if groups is None:
        yield 0, list(range(len(sizes)))
        return
    for group in groups:
        yield sum(sizes[:group]), [group]


def _chunk(
    batch: pa.RecordBatch, layout: Layout, first_row: int, before: int, *, others: bool
) -> RawChunk:
    return RawChunk(
        layout=layout,
        numbers=matrix_from_numbers(
            [_cells(batch.column(name)) for name in layout.numbers],
            layout.location(first_row),
        ),
        labels=_codes(batch.column(LABEL), len(layout.classes)) if layout.has_labels else None,
        ids=_texts(batch.column(ID)) if layout.has_ids else None,
        first_row=first_row,
        rows_before=before,
        others={n: batch.column(n).to_pylist() for n in layout.others} if others else None,
    )


def _codes(column: pa.Array, n_classes: int) -> Codes:
    """Return labels as codes of their distinct values; class indices are their own codes."""
    if not column.null_count and _is_integer(column):
        numbers = _numbers(column)
        if len(numbers) and numbers.min() >= 0 and numbers.max() < n_classes:
            return Codes(range(n_classes), numbers)
    encoded = column.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    return Codes([*values, None], encoded.indices.fill_null(len(values)).to_numpy())


def _texts(column: pa.Array) -> pa.Array:
    """Return ids as texts, null where the cell is empty."""
    arrow, _ = _libraries("read Parquet")
    types = arrow.types
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        if not _is_integer(column):
            cells = (None if is_missing(cell) else str(cell) for cell in column.to_pylist())
            return arrow.array(cells, arrow.large_string())
        column = column.cast(arrow.string())
    texts = column.cast(arrow.large_string())
    texts.validate(full=True)
    return texts


def _is_integer(column: pa.Array) -> bool:
    arrow, _ = _libraries("read Parquet")
    return bool(arrow.types.is_integer(column.type))


def _cells(column: pa.Array) -> NDArray[np.generic] | Sequence[object]:
    """Return an array where the column has no empty cells, Python values where it has."""
    if column.null_count:
        cells: list[object] = column.to_pylist()
        return cells
    arrow, _ = _libraries("read Parquet")
    if arrow.types.is_floating(column.type) or _is_integer(column):
        return np.asarray(_numbers(column))
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _numbers(column: pa.Array) -> Any:  # noqa: ANN401
    """Return numbers as an array, without importing pandas as `to_numpy` does."""
    return np.from_dlpack(column)


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


# The encoding of class indices: as short as a dictionary, and faster.
_SMALL_NUMBERS = "DELTA_BINARY_PACKED"

# Values that are encoded at a time.
_BATCH_ROWS = 1 << 14


class ParquetWriter:
    """Write blocks as row groups, with checksums so that damage is found on reading."""

    def __init__(self, file: IO[bytes]) -> None:
        self._arrow, self._parquet = _libraries("write Parquet")
        self._file = file
        self._writer: pq.ParquetWriter | None = None

    def write(self, block: Block) -> None:
        """Add the rows of a block."""
        if self._writer is None:
            # Probabilities hardly repeat: dictionaries and compression cost time and save nothing.
            # Columns that cannot be empty, in long batches, are encoded four times as fast.
            plain = dict.fromkeys(block.class_columns, "none")
            labels = [name for name in block.leading if name in LABEL_COLUMNS]
            self._writer = self._parquet.ParquetWriter(
                self._file,
                self._schema(block),
                compression=dict.fromkeys(block.leading, "snappy") | plain,
                use_dictionary=labels if block.named else False,
                column_encoding=None if block.named else dict.fromkeys(labels, _SMALL_NUMBERS),
                write_batch_size=_BATCH_ROWS,
                write_page_checksum=True,
            )
        schema = self._writer.schema
        leading = [
            self._column(name, values, block).cast(schema.field(name).type)
            for name, values in block.leading.items()
        ]
        columns = map(self._arrow.array, np.ascontiguousarray(block.probabilities.T))
        self._writer.write_table(self._arrow.Table.from_arrays([*leading, *columns], schema=schema))

    def finish(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()

    def discard(self) -> None:
        """Release the file now: its destructor would try to complete it too late."""
        with suppress(self._arrow.ArrowException, OSError):
            self.finish()

    def _column(self, name: str, values: Ids | NDArray[Any], block: Block) -> pa.Array:
        if name not in RESERVED:
            texts = [None if cell is None else valid_unicode(str(cell)) for cell in values]
            return self._arrow.array(texts, self._arrow.string())
        if name not in LABEL_COLUMNS:
            return self._arrow.array(values)
        indices = self._arrow.array(values, mask=values < 0)
        return self._arrow.array(block.classes).take(indices) if block.named else indices

    def _schema(self, block: Block) -> pa.Schema:
        text, number, real = self._arrow.string(), self._arrow.int64(), self._arrow.float64()
        kinds = {ID: text, MASS: real, SAMPLES: number, FALLBACK: number}
        other = text if block.named else number
        field = self._arrow.field
        fields = []
        for name in block.leading:
            own = name in RESERVED
            kind = kinds.get(name, other) if own else text
            fields.append(field(name, kind, nullable=name == LABEL or not own))
        fields += [field(name, real, nullable=False) for name in block.class_columns]
        metadata = {CLASSES_METADATA: json.dumps(block.classes)} if block.named else None
        return self._arrow.schema(fields, metadata=metadata)
