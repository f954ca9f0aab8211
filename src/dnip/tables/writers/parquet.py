"""Parquet, one row group per block; class names travel in the schema's metadata."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from dnip.base.optional import load_optional
from dnip.tables.block import LABEL_COLUMNS
from dnip.tables.columns import CLASSES_METADATA, FALLBACK, ID, LABEL, MASS, SAMPLES

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from numpy.typing import NDArray

    from dnip.tables.block import Block
    from dnip.tables.chunk import Ids

# How class indices are encoded: as short as in a dictionary, and faster.
_SMALL_NUMBERS = "DELTA_BINARY_PACKED"

# Values that are encoded at a time.
_BATCH_ROWS = 1 << 14


class ParquetWriter:
    """Write blocks as row groups, with checksums so that damage is found on reading."""

    def __init__(self, file: IO[bytes]) -> None:
        self._arrow = load_optional("pyarrow", purpose="write Parquet", extra="parquet")
        self._parquet = load_optional("pyarrow.parquet", purpose="write Parquet", extra="parquet")
        self._file = file
        self._writer: pq.ParquetWriter | None = None

    def write(self, block: Block) -> None:
        """Add the rows of a block."""
        if self._writer is None:
            # Digits of probabilities hardly repeat: dictionaries and compression cost more than
            # the bare copy and save nothing. Columns that cannot be empty, in long batches, are
            # encoded in a quarter of the time.
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
        """Release the file, which its own destructor would else try to end too late."""
        with suppress(self._arrow.ArrowException, OSError):
            self.finish()

    def _column(self, name: str, values: Ids | NDArray[Any], block: Block) -> pa.Array:
        if name not in LABEL_COLUMNS:
            return self._arrow.array(values)
        indices = self._arrow.array(values, mask=values < 0)
        return self._arrow.array(block.classes).take(indices) if block.named else indices

    def _schema(self, block: Block) -> pa.Schema:
        text, number, real = self._arrow.string(), self._arrow.int64(), self._arrow.float64()
        kinds = {ID: text, MASS: real, SAMPLES: number, FALLBACK: number}
        other = text if block.named else number
        field = self._arrow.field
        fields = [
            field(name, kinds.get(name, other), nullable=name == LABEL) for name in block.leading
        ]
        fields += [field(name, real, nullable=False) for name in block.class_columns]
        metadata = {CLASSES_METADATA: json.dumps(block.classes)} if block.named else None
        return self._arrow.schema(fields, metadata=metadata)
