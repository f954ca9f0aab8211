"""JSON lines, plain or gzipped."""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING

from dnip.tables.writers.text import TextOutput

if TYPE_CHECKING:
    from dnip.tables.block import Block


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
