"""Text files, plain or gzipped, for reading and for writing."""

from __future__ import annotations

import gzip
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, cast

from dnip.base.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def open_text(path: Path, *, compressed: bool) -> Iterator[IO[str]]:
    """Open a UTF-8 text file, with or without a byte order mark; line ends are kept.

    Raises
    ------
    InvalidInputError
        On opening or while reading inside the block: for a file that cannot be read, is not
        UTF-8, or is no sound gzip file.
    """
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8-sig", newline="")
            if compressed
            else path.open(encoding="utf-8-sig", newline="")
        ) as file:
            try:
                yield file
            except UnicodeDecodeError as error:
                raise _not_utf8(path, compressed=compressed) from error
    except gzip.BadGzipFile as error:
        raise InvalidInputError(
            f"{path}: this is not a sound gzip file ({error})",
            hint="Compress it again; drop .gz from the name if it is plain text",
        ) from error
    except (EOFError, zlib.error) as error:
        raise InvalidInputError(
            f"{path}: the gzip file is truncated or damaged ({error})",
            hint="Copy or write the file again",
        ) from error
    except OSError as error:
        raise cannot_read(path, error) from error


def cannot_read(path: Path, error: OSError) -> InvalidInputError:
    """Return the error for a file that cannot be opened or read."""
    return InvalidInputError(
        f"{path}: the file cannot be read: {error.strerror or error}",
        hint="Check the path and its permissions",
    )


def empty_file(path: Path) -> InvalidInputError:
    """Return the error for a text file without any line."""
    return InvalidInputError(
        f"{path}: the file is empty", hint="Give a table with named columns and at least one row"
    )


def _not_utf8(path: Path, *, compressed: bool) -> InvalidInputError:
    """Find the line that is not UTF-8; the decoder reads ahead and does not know it."""
    with cast("IO[bytes]", gzip.open(path)) if compressed else path.open("rb") as file:
        bad_bytes = ((number, line, _bad_byte(line)) for number, line in enumerate(file, start=1))
        number, line, byte = next(found for found in bad_bytes if found[2])
    gzipped = line.startswith(b"\x1f\x8b")
    return InvalidInputError(
        f"{path}: line {number} is not UTF-8 text (byte 0x{byte.hex()})",
        hint="It is a gzip file: end its name in .gz" if gzipped else "Save the file as UTF-8",
    )


def _bad_byte(line: bytes) -> bytes:
    """Return the first byte that is not UTF-8, none if all are."""
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return line[error.start : error.start + 1]
    return b""


#: zlib's window bits that ask for a gzip header, which it writes without time and name.
_GZIP = 16 + zlib.MAX_WBITS


class TextOutput:
    """Writes UTF-8 text to a file, the same bytes for the same text.

    Parameters
    ----------
    file : binary file
        Open for writing; the caller closes it.
    compressed : bool
        Whether to gzip the text.
    """

    def __init__(self, file: IO[bytes], *, compressed: bool) -> None:
        self._file = file
        self._gzip = zlib.compressobj(wbits=_GZIP) if compressed else None

    def write(self, text: str) -> None:
        """Add text at the end."""
        data = text.encode(errors="backslashreplace")  # as `valid_unicode`
        self._file.write(data if self._gzip is None else self._gzip.compress(data))

    def finish(self) -> None:
        """Write what the compressor still holds back."""
        if self._gzip is not None:
            self._file.write(self._gzip.flush())
