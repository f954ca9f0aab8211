"""From a path to checked chunks: the one way in for every file format."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from dnip.errors import InvalidInputError
from dnip.tables.checks import check_chunks
from dnip.tables.formats import FORMATS, format_of
from dnip.tables.readers.text import cannot_read
from dnip.validation import check_classes, check_integer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dnip.tables.chunk import Chunk
    from dnip.tables.formats import Format

CHUNK_ROWS = 65_536


def read_chunks(
    path: str | os.PathLike[str],
    classes: Sequence[str] | None = None,
    *,
    chunk_rows: int = CHUNK_ROWS,
) -> Iterator[Chunk]:
    """Read and check a table chunk by chunk.

    The path and the arguments are checked at once, the rows as they are asked for.

    Raises
    ------
    InvalidInputError
        For a path that cannot be read, and for bad input in the file.
    """
    names = None if classes is None else check_classes(classes)
    check_integer("chunk_rows", chunk_rows, at_least=1)
    file = Path(path)
    raw_chunks = _format_of_existing(file).read(file, names, chunk_rows)
    return check_chunks(raw_chunks, str(file))


def _format_of_existing(path: Path) -> Format:
    try:
        if path.is_dir():
            return FORMATS[".parquet"]
        with path.open("rb"):
            pass
    except FileNotFoundError as error:
        raise InvalidInputError(
            f"{path}: there is no such file", hint=f"Check the path; you are in {Path.cwd()}"
        ) from error
    except OSError as error:
        raise cannot_read(path, error) from error
    return format_of(path)
