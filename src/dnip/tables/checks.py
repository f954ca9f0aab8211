"""Checks of the chunks of one table: each by itself, and one against the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.errors import InvalidInputError
from dnip.tables.chunk import Chunk
from dnip.tables.labels import LabelRule
from dnip.validation import (
    check_ids,
    check_probabilities,
    refuse_duplicate_id,
    rows_to_normalise,
    warn_normalised,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from dnip.tables.chunk import RawChunk
    from dnip.tables.columns import Layout
    from dnip.tables.place import FilePlace


def check_chunks(raw_chunks: Iterable[RawChunk], source: str) -> Iterator[Chunk]:
    """Check and normalise the chunks of one table.

    Parameters
    ----------
    raw_chunks : iterable of RawChunk
        As a reader gives them.
    source : str
        The table as a whole, for messages.

    Yields
    ------
    Chunk
        The same rows. After the last, one warning tells how many rows were normalised.

    Raises
    ------
    InvalidInputError
        For the first bad cell, an id that stands twice, parts with different columns, or a
        table without rows.
    """
    layout: Layout | None = None
    ids = _IdsSeen()
    sums = _SumsSeen()
    for raw in raw_chunks:
        if layout is None:
            layout = raw.layout
            rule = LabelRule(layout.classes)
        _check_same_columns(layout, raw.layout)
        place = raw.place
        probabilities = check_probabilities(raw.probabilities, place=place, warn=False)
        sums.add(raw, place)
        labels = None if raw.labels is None else rule.read(raw.labels, place)
        names = None
        if raw.ids is not None:
            names = check_ids(raw.ids, n_examples=len(probabilities), place=place)
            ids.add(names, place)
        yield Chunk(probabilities, labels, names, layout.classes)
    if not sums.total:
        raise InvalidInputError(
            f"{source}: there are no rows", hint="Give at least one row per class to learn from"
        )
    sums.tell(source)


class _SumsSeen:
    """How many rows of how many did not sum to 1, and which was the first."""

    def __init__(self) -> None:
        self.total = 0
        self._count = 0
        self._first = ""
        self._first_sum = 1.0

    def add(self, raw: RawChunk, place: FilePlace) -> None:
        off = rows_to_normalise(raw.probabilities)
        if not self._count and off.any():
            row = int(np.argmax(off))
            self._first = place.cell(row)
            self._first_sum = float(raw.probabilities[row].sum())
        self._count += int(off.sum())
        self.total += len(off)

    def tell(self, source: str) -> None:
        if self._count:
            warn_normalised(
                source,
                count=self._count,
                total=self.total,
                first=self._first,
                first_sum=self._first_sum,
            )


class _IdsSeen:
    """The ids of the chunks so far, each with the number of its row."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._places: list[tuple[int, FilePlace]] = []

    def add(self, ids: NDArray[np.object_], place: FilePlace) -> None:
        start = len(self._rows)
        self._places.append((start, place))
        new = dict(zip(ids.tolist(), range(start, start + len(ids)), strict=True))
        repeated = self._rows.keys() & new.keys()
        if repeated:
            text = min(repeated, key=new.__getitem__)
            refuse_duplicate_id(text, self._name(self._rows[text]), place.cell(new[text] - start))
        self._rows.update(new)

    def _name(self, row: int) -> str:
        start, place = next(entry for entry in reversed(self._places) if entry[0] <= row)
        return place.cell(row - start)


def _check_same_columns(first: Layout, other: Layout) -> None:
    if first.columns != other.columns or first.classes != other.classes:
        raise InvalidInputError(
            f"{other.source}: the columns {', '.join(other.columns)} differ from "
            f"{', '.join(first.columns)} of {first.source}, or the class names do",
            hint="Write all parts from one table",
        )
