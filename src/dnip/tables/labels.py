"""Cells of the label column: from a class name or class index to the class index."""

from __future__ import annotations

import re

import numpy as np

from dnip.base.errors import InvalidInputError, listed, shown
from dnip.base.typing import Labels
from dnip.tables.cells import check_scalars, is_missing
from dnip.tables.columns import LABEL, CellLocation
from dnip.tables.rows import Cells

UNLABELLED = -1

_WHOLE_NUMBER = re.compile(r"([+-]?[0-9]+)(\.0*)?")


class LabelRule:
    """The rule that reads one label cell. Cells are read one by one, so tables can stream.

    An empty cell is an unlabelled row. A cell that equals a class name exactly is that class.
    Otherwise a whole number ("2", or "2.0" as pandas writes it) is a class index, counted from 0.
    Where a class name is itself a whole number other than its index, numbers are refused: they
    could mean either.

    Parameters
    ----------
    classes : tuple of str
        Class names.
    from_header : bool, default=False
        Whether columns were taken for the classes because nothing else tells them. Then the order
        of the classes means nothing, and a class index is refused.

    Examples
    --------
    >>> from dnip.tables.columns import CellLocation
    >>> rule = LabelRule(("World", "Sports"))
    >>> rule.read(["Sports", "1.0", 0, "", None], CellLocation("opt.csv", ("p0", "p1")))
    array([ 1,  1,  0, -1, -1])
    """

    def __init__(self, classes: tuple[str, ...], *, from_header: bool = False) -> None:
        self._classes = classes
        self._from_header = from_header
        self._index_of = {name: index for index, name in enumerate(classes)}
        self._index_of[""] = UNLABELLED
        self._ambiguous = next(
            (
                name
                for index, name in enumerate(classes)
                if _whole_number(name) not in (None, index)
            ),
            None,
        )

    def read(self, cells: Cells, location: CellLocation) -> Labels:
        """Return the class index of each cell, -1 where it is empty.

        Raises
        ------
        InvalidInputError
            For a cell that names no class.
        """
        if isinstance(cells, np.ndarray):
            plain = cells.dtype.kind in "iu" and self._ambiguous is None and not self._from_header
            if plain and len(cells) and cells.min() >= 0 and cells.max() < len(self._classes):
                return cells.astype(np.int64)
            cells = cells.tolist()
        check_scalars(cells, LABEL, location)
        # There are few different cells; each is read once, where it stands first.
        first: dict[object, int] = {}
        for row, cell in enumerate(cells):
            first.setdefault(cell, row)
        index_of = {cell: self._index(cell, row, location) for cell, row in first.items()}
        return np.array([index_of[cell] for cell in cells], dtype=np.int64)

    def _index(self, cell: object, row: int, location: CellLocation) -> int:
        text = "" if is_missing(cell) else str(cell)
        for name in (text, text.strip()):
            if name in self._index_of:
                return self._index_of[name]
        index = _whole_number(text.strip())
        where = location.named(row, LABEL)
        if self._from_header:
            raise InvalidInputError(
                f"{where}: {shown(text)} is none of the columns {self._known()}, which were taken "
                "for the classes",
                hint="Name the classes with --classes A,B,C (in Python: classes=[...]), in the "
                "order of their numbers if labels are numbers",
            )
        if index is None:
            raise InvalidInputError(
                f"{where}: {shown(text)} is neither a class name nor a class index",
                hint=f"The classes are {self._known()}; if they have other names, give them with "
                "--classes",
            )
        if self._ambiguous is not None:
            raise InvalidInputError(
                f"{where}: {shown(text)} is no class name, and as an index it would be "
                f"ambiguous: the class name {self._ambiguous!r} is a number too",
                hint=f"Write class names: {self._known()}",
            )
        if not 0 <= index < len(self._classes):
            raise InvalidInputError(
                f"{where}: the class index {shown(text)} is outside 0..{len(self._classes) - 1}",
                hint=f"There are {len(self._classes)} classes, counted from 0; a row without a "
                "label has an empty cell (NaN or '' in an array)",
            )
        return index

    def _known(self) -> str:
        return listed(self._classes, most=10)


def _whole_number(text: str) -> int | None:
    match = _WHOLE_NUMBER.fullmatch(text)
    if match is None:
        return None
    # int() refuses thousands of digits; no class index has 18.
    return int(match[1]) if len(match[1]) <= 18 else 10**18
