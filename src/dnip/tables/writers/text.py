"""Text into a binary file, plain or gzipped, equal byte for byte when the text is equal."""

from __future__ import annotations

import zlib
from typing import IO

#: zlib's window bits that ask for a gzip header, which it writes without time and name.
_GZIP = 16 + zlib.MAX_WBITS


class TextOutput:
    """UTF-8 text on its way into a file.

    Parameters
    ----------
    file : binary file
        Open for writing; whoever opened it closes it.
    compressed : bool
        Whether to gzip the text.
    """

    def __init__(self, file: IO[bytes], *, compressed: bool) -> None:
        self._file = file
        self._gzip = zlib.compressobj(wbits=_GZIP) if compressed else None

    def write(self, text: str) -> None:
        """Add text at the end."""
        data = text.encode()
        self._file.write(data if self._gzip is None else self._gzip.compress(data))

    def finish(self) -> None:
        """Write what the compressor still holds."""
        if self._gzip is not None:
            self._file.write(self._gzip.flush())
