"""From a path to checked chunks: the one way in for every file format."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_classes, check_integer
from dnip.tables.checks import check_chunks
from dnip.tables.formats import FORMATS, format_of
from dnip.tables.readers.text import cannot_read

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dnip.tables.chunk import Chunk
    from dnip.tables.formats import Format

CHUNK_ROWS = 65_536

#: Bytes that the hashes of ids may take before they go to disk.
ID_MEMORY = 1 << 27


def read_chunks(
    path: str | os.PathLike[str],
    classes: Sequence[str] | None = None,
    *,
    chunk_rows: int = CHUNK_ROWS,
    id_memory: int = ID_MEMORY,
    as_a_whole: bool = True,
) -> Iterator[Chunk]:
    """Read and check a table chunk by chunk.

    The path and the arguments are checked at once, the rows as they are asked for; see
    `check_chunks`.

    Raises
    ------
    InvalidInputError
        For a path that cannot be read, and for bad input in the file.
    """
    names = None if classes is None else check_classes(classes)
    check_integer("chunk_rows", chunk_rows, at_least=1)
    file = Path(path)
    read = partial(check_readable(file).read, file, names, chunk_rows)
    return check_chunks(read, str(file), id_memory=id_memory, as_a_whole=as_a_whole)


def check_readable(file: str | os.PathLike[str]) -> Format:
    """Return the format of a table that is there, or say why it cannot be read.

    Raises
    ------
    InvalidInputError
        For a path without a file, a file that may not be read, or an unknown suffix.
    """
    path = Path(file)
    try:
        if path.is_dir():
            return FORMATS[".parquet"]
        if path.is_char_device():
            raise InvalidInputError(
                f"{path}: this is a device, not a file", hint="Give the path of a table"
            )
        if not path.is_fifo():  # which can be opened once only
            with path.open("rb"):
                pass
    except FileNotFoundError as error:
        raise InvalidInputError(
            f"{path}: there is no such file", hint=f"Check the path; you are in {Path.cwd()}"
        ) from error
    except OSError as error:
        raise cannot_read(path, error) from error
    return format_of(path)
