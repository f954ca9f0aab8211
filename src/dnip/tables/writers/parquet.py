"""Parquet, one row group per block; class names travel in the schema's metadata."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from dnip.optional import load_optional
from dnip.tables.columns import CLASSES_METADATA, ID, MASS, SAMPLES

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dnip.tables.block import Block


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
            self._writer = self._parquet.ParquetWriter(
                self._file, self._schema(block), write_page_checksum=True
            )
        arrays = [*block.leading.values(), *block.probabilities.T]
        self._writer.write_table(
            self._arrow.table(
                dict(zip(block.columns, arrays, strict=True)), schema=self._writer.schema
            )
        )

    def finish(self) -> None:
        """Write the footer."""
        if self._writer is not None:
            self._writer.close()

    def discard(self) -> None:
        """Release the file, which its own destructor would else try to end too late."""
        with suppress(self._arrow.ArrowException, OSError):
            self.finish()

    def _schema(self, block: Block) -> pa.Schema:
        text, number, real = self._arrow.string(), self._arrow.int64(), self._arrow.float64()
        kinds = {ID: text, MASS: real, SAMPLES: number}
        other = text if block.named else number
        fields = [(name, kinds.get(name, other)) for name in block.leading]
        fields += [(name, real) for name in block.class_columns]
        metadata = {CLASSES_METADATA: json.dumps(block.classes)} if block.named else None
        return self._arrow.schema(fields, metadata=metadata)
