"""From a path to checked chunks, the same way for every file format."""

from __future__ import annotations

import os
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dnip.base.arrays import check_mass, normalise_rows, warn_normalised
from dnip.base.errors import DNIPWarning, InvalidInputError, listed
from dnip.base.validation import check_classes, check_integer
from dnip.tables.captured_mass import MassCounts
from dnip.tables.chunk import Chunk
from dnip.tables.formats.registry import FORMATS, format_of
from dnip.tables.formats.text import cannot_read
from dnip.tables.ids import IdsSeen, read_ids, refuse_repeated
from dnip.tables.labels import LabelRule
from dnip.tables.share import WHOLE, Share

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dnip.base.typing import Floats, Integers
    from dnip.tables.chunk import CellLocation, Chunk, RawChunk
    from dnip.tables.columns import Layout
    from dnip.tables.formats.registry import Format


CHUNK_ROWS = 65_536

#: Bytes of memory for the hashes of ids; more of them go to disk.
ID_MEMORY = 1 << 27


def read_chunks(
    path: str | os.PathLike[str],
    classes: Sequence[str] | None = None,
    *,
    chunk_rows: int = CHUNK_ROWS,
    id_memory: int = ID_MEMORY,
    as_a_whole: bool = True,
    others: bool = False,
    share: Share = WHOLE,
) -> Iterator[Chunk]:
    """Read and check a table chunk by chunk.

    The path and the arguments are checked at once, the rows when they are read; see
    `check_chunks`.

    Raises
    ------
    InvalidInputError
        For a path that cannot be read, and for bad input in the file.
    """
    names = None if classes is None else check_classes(classes)
    check_integer("chunk_rows", chunk_rows, at_least=1)
    file = Path(path)
    read = partial(check_readable(file).read_share, share, file, names, chunk_rows, others=others)
    return check_chunks(
        read,
        str(file),
        id_memory=id_memory,
        as_a_whole=as_a_whole,
    )


def check_readable(file: str | os.PathLike[str]) -> Format:
    """Return the format of a table file, or say why it cannot be read.

    Raises
    ------
    InvalidInputError
        For a missing file, a file without read permission, or an unknown suffix.
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


def check_chunks(
    read: Callable[[], Iterator[RawChunk]],
    source: str,
    *,
    id_memory: int,
    as_a_whole: bool = True,
) -> Iterator[Chunk]:
    """Check and normalise the chunks of one table.

    Parameters
    ----------
    read : callable
        Returns the chunks from the first one at each call. It is called a second time only if some
        ids seem to appear twice.
    source : str
        The table as a whole, for messages.
    id_memory : int
        Bytes of memory for finding ids that appear twice.
    as_a_whole : bool, default=True
        Whether to look for ids that are in two chunks, and to warn of normalised rows and of low
        captured mass.

    Yields
    ------
    Chunk
        The same rows. After the last chunk, one warning says how many rows were normalised, and
        another one how many have a low captured mass.

    Raises
    ------
    InvalidInputError
        For the first bad cell, parts with different columns, or a table without rows; for an id
        that appears twice, after the last chunk.
    """
    layout: Layout | None = None
    sums = _SumsSeen()
    masses = MassCounts()
    with IdsSeen(id_memory) as ids_seen:
        for raw in read():
            if layout is None:
                layout = raw.layout
                rule = LabelRule(layout.classes, from_header=layout.from_header)
            _check_same_columns(layout, raw.layout)
            location = raw.location
            probabilities, off, off_sums = normalise_rows(raw.probabilities, location)
            if layout.from_header and 2 * len(off) >= len(probabilities):
                _refuse_doubtful_classes(off, off_sums, location)
            sums.add(len(probabilities), off, off_sums, location)
            labels = None if raw.labels is None else rule.read(raw.labels, location)
            ids = read_ids(raw)
            if ids is not None and as_a_whole:
                ids_seen.add(ids)
            mass = raw.mass
            if mass is not None:
                column = len(layout.classes)
                mass = check_mass(mass, n_examples=len(mass), location=location, column=column)
                masses.add(mass)
            yield Chunk(
                probabilities,
                labels,
                ids,
                layout.classes,
                source,
                mass,
                raw.others,
                layout.probabilities,
                raw.table_row,
            )
        if not sums.total and as_a_whole:
            raise InvalidInputError(
                f"{source}: there are no rows", hint="Give at least one row per class to learn from"
            )
        repeated = ids_seen.repeated()
    if len(repeated):
        refuse_repeated(read(), repeated)
    if as_a_whole:
        sums.tell(source)
        if layout is not None and layout.others and raw.others is None:
            warn_unused(layout.others, source)
        captured = masses.summary
        if captured is not None and captured.worth_telling:
            warnings.warn(f"{source}: {captured.sentence}", DNIPWarning, stacklevel=2)


def _refuse_doubtful_classes(off: Integers, sums: Floats, location: CellLocation) -> None:
    """Refuse rows most of which do not sum to 1: some columns are likely no classes."""
    raise InvalidInputError(
        f"{location.cell(int(off[0]))}: the columns {listed(location.columns)} were taken for the "
        f"classes, but they sum to {sums[0]:.6g}, and in most rows not to 1",
        hint=location.remedy,
    )


def warn_unused(columns: Sequence[str], source: str) -> None:
    """Warn of columns that mean nothing here."""
    names = listed([name or "'' (without a name)" for name in columns])
    plural = "s" if len(columns) > 1 else ""
    warnings.warn(f"{source}: column{plural} {names} not used", DNIPWarning, stacklevel=3)


class _SumsSeen:
    """Counts the rows that did not sum to 1, and remembers the first."""

    def __init__(self) -> None:
        self.total = 0
        self._count = 0
        self._first = ""
        self._first_sum = 1.0

    def add(self, n_rows: int, off: Integers, sums: Floats, location: CellLocation) -> None:
        if not self._count and len(off):
            self._first = location.cell(int(off[0]))
            self._first_sum = float(sums[0])
        self._count += len(off)
        self.total += n_rows

    def tell(self, source: str) -> None:
        if self._count:
            warn_normalised(
                source,
                count=self._count,
                total=self.total,
                first=self._first,
                first_sum=self._first_sum,
            )


def _check_same_columns(first: Layout, other: Layout) -> None:
    if first.columns != other.columns or first.classes != other.classes:
        raise InvalidInputError(
            f"{other.source}: the columns {', '.join(other.columns)} differ from "
            f"{', '.join(first.columns)} of {first.source}, or the class names do",
            hint="Write all parts from one table",
        )
