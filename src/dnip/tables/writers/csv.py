"""CSV and gzipped CSV."""

from __future__ import annotations

import re
from typing import IO, TYPE_CHECKING

from dnip.tables.writers.text import TextOutput

if TYPE_CHECKING:
    from dnip.tables.block import Block

_NEEDS_QUOTES = re.compile(r'[",\r\n]|^\s|\s$')


class CsvWriter:
    """Write blocks as lines; the header comes with the first."""

    def __init__(self, file: IO[bytes], *, compressed: bool = False) -> None:
        self._output = TextOutput(file, compressed=compressed)
        self._has_header = False

    def write(self, block: Block) -> None:
        """Add the rows of a block."""
        if not self._has_header:
            self._output.write(",".join(block.columns) + "\n")
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
