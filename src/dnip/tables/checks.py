"""Checks of the chunks of one table: each by itself, and one against the other."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from dnip.base.arrays import check_mass, normalise_rows, warn_normalised
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.tables.captured_mass import MassCounts
from dnip.tables.chunk import Chunk
from dnip.tables.ids import IdsSeen, read_ids, refuse_repeated
from dnip.tables.labels import LabelRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dnip.base.typing import Floats, Integers
    from dnip.tables.chunk import RawChunk
    from dnip.tables.columns import Layout
    from dnip.tables.place import FilePlace


def check_chunks(
    read: Callable[[], Iterator[RawChunk]], source: str, *, id_memory: int, as_a_whole: bool = True
) -> Iterator[Chunk]:
    """Check and normalise the chunks of one table.

    Parameters
    ----------
    read : callable
        Gives the chunks from the first, each time it is called. It is called twice only if ids
        seem to stand twice.
    source : str
        The table as a whole, for messages.
    id_memory : int
        Bytes that may be spent on finding ids that stand twice.
    as_a_whole : bool, default=True
        Whether to look for ids that stand in two chunks, and to tell of normalised rows and of low
        captured mass.

    Yields
    ------
    Chunk
        The same rows. After the last, one warning tells how many rows were normalised, and one of
        how many the captured mass is low.

    Raises
    ------
    InvalidInputError
        For the first bad cell, parts with different columns, or a table without rows; after the
        last chunk for an id that stands twice.
    """
    layout: Layout | None = None
    sums = _SumsSeen()
    masses = MassCounts()
    with IdsSeen(id_memory) as ids_seen:
        for raw in read():
            if layout is None:
                layout = raw.layout
                rule = LabelRule(layout.classes)
            _check_same_columns(layout, raw.layout)
            place = raw.place
            probabilities, off, off_sums = normalise_rows(raw.probabilities, place)
            sums.add(len(probabilities), off, off_sums, place)
            labels = None if raw.labels is None else rule.read(raw.labels, place)
            ids = read_ids(raw)
            if ids is not None and as_a_whole:
                ids_seen.add(ids)
            mass = raw.mass
            if mass is not None:
                column = len(layout.classes)
                mass = check_mass(mass, n_examples=len(mass), place=place, column=column)
                masses.add(mass)
            yield Chunk(probabilities, labels, ids, layout.classes, source, mass)
        if not sums.total:
            raise InvalidInputError(
                f"{source}: there are no rows", hint="Give at least one row per class to learn from"
            )
        repeated = ids_seen.repeated()
    if len(repeated):
        refuse_repeated(read(), repeated)
    if as_a_whole:
        sums.tell(source)
        captured = masses.summary
        if captured is not None and captured.worth_telling:
            warnings.warn(f"{source}: {captured.sentence}", DNIPWarning, stacklevel=2)


class _SumsSeen:
    """How many rows of how many did not sum to 1, and which was the first."""

    def __init__(self) -> None:
        self.total = 0
        self._count = 0
        self._first = ""
        self._first_sum = 1.0

    def add(self, n_rows: int, off: Integers, sums: Floats, place: FilePlace) -> None:
        if not self._count and len(off):
            self._first = place.cell(int(off[0]))
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
