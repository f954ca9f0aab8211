"""From the cells of a file to checked numbers, ids and labels."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnip.base.arrays import ArrayLocation, Location
from dnip.base.errors import InvalidInputError, listed, shown
from dnip.base.typing import Floats, Labels
from dnip.base.validation import is_storable
from dnip.tables.columns import LABEL, CellLocation, name_classes
from dnip.tables.rows import Block, Cells

#: Ids that are compared, at most: they are held in memory, about 100 bytes each.
MOST_IDS = 2_000_000

#: The label of a row without one.
UNLABELLED = -1

_NUMBERS = (int, float, Decimal, np.integer, np.floating)


def numbers_of(block: Block) -> Floats:
    """Return the class columns of a block as a matrix, and `mass` as its last column if present.

    Parameters
    ----------
    block : Block
        As a reader found it. Text is no number but where all cells are text; nor are booleans.

    Returns
    -------
    ndarray of shape (M, N) or (M, N + 1)
        Values as found: they may be negative, infinite or NaN. Each column is contiguous.

    Raises
    ------
    InvalidInputError
        For the first cell, row by row, that holds no number.

    Examples
    --------
    >>> from dnip.tables.columns import name_classes, resolve_columns
    >>> layout = resolve_columns(["p0", "p1"], classes=None, source="t.csv")
    >>> numbers_of(Block(layout, {"p0": ["0.5", "1"], "p1": ["0.5", "0"]}, as_text=True))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    columns = [block.columns[name] for name in block.layout.numbers]
    convert = _floats_from_text if block.as_text else _floats_from_numbers
    matrix = np.empty((len(columns[0]), len(columns)), dtype=np.float64, order="F")
    try:
        for column, cells in enumerate(columns):
            matrix[:, column] = convert(cells)
    except (ValueError, OverflowError):
        # Whole columns are converted at once, for speed; the message needs the cell.
        place = block.location
        for row, cells_of_row in enumerate(zip(*map(list, columns), strict=True)):
            for column, cell in enumerate(cells_of_row):
                _check_cell(cell, convert, place.cell(row, column))
        raise
    return matrix


def _floats_from_text(cells: Cells) -> Floats:
    if "_" in "".join(cells):
        raise ValueError("float() would read 0_1 as a number")
    return np.fromiter(map(float, cells), np.float64, len(cells))


def _floats_from_numbers(cells: Cells) -> NDArray[Any]:
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu":
        return cells  # the matrix takes them as float64
    for kind in set(map(type, cells)):
        if not issubclass(kind, _NUMBERS) or issubclass(kind, bool | np.timedelta64):
            raise ValueError(f"{kind.__name__} is no type of number")
    return np.fromiter(map(float, cells), np.float64, len(cells))


class EmptyCellError(InvalidInputError):
    """A row lacks a number."""


def _check_cell(cell: object, convert: Callable[[Cells], NDArray[Any]], where: str) -> None:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        raise EmptyCellError(
            f"{where}: the cell is empty",
            hint="Give a number in every row; a class that is ruled out has 0",
        )
    try:
        convert([cell])
    except (ValueError, OverflowError) as error:
        what = "is too large" if isinstance(error, OverflowError) else "is not a number"
        raise InvalidInputError(
            f"{where}: {shown(cell)} {what}",
            hint="Write numbers with a decimal point, such as 0.25; `dnip import` reads decimal "
            "commas and per cent, too",
        ) from None


def is_missing(value: object) -> bool:
    """Say whether a cell is empty: None or NaN.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    return value is None or (isinstance(value, float) and math.isnan(value))


def check_scalars(cells: Cells, name: str, location: CellLocation) -> None:
    """Refuse a list or an object in a column of texts and numbers."""
    if not any(issubclass(kind, list | dict) for kind in set(map(type, cells))):
        return
    row = next(row for row, cell in enumerate(cells) if isinstance(cell, list | dict))
    raise InvalidInputError(
        f"{location.named(row, name)}: a text or a number is needed, not a list or an object",
        hint="Give one value per row",
    )


def check_ids(
    ids: Sequence[object] | NDArray[np.object_],
    *,
    n_examples: int,
    location: Location | None = None,
) -> NDArray[np.object_]:
    """Return row ids as an array of str: one per row, none empty, none twice.

    Parameters
    ----------
    ids : sequence of length M
        Texts or numbers; numbers become texts.
    n_examples : int
        M of the probabilities that the ids belong to.
    location : Location, optional
        How to name a row in a message.

    Raises
    ------
    InvalidInputError
        For a wrong length, an empty id, an id that appears twice, or a text that no file can hold.

    Examples
    --------
    >>> check_ids(["a", 7], n_examples=2)
    array(['a', '7'], dtype=object)
    """
    location = location or ArrayLocation("ids")
    if len(ids) != n_examples:
        raise InvalidInputError(
            f"{location.whole()} has {len(ids)} entries, but there are {n_examples} rows",
            hint="Give one id per row, or none at all",
        )
    values = ids.tolist() if isinstance(ids, np.ndarray) else ids
    texts = [v if isinstance(v, str) else "" if is_missing(v) else str(v) for v in values]
    if "" in texts:
        raise InvalidInputError(
            f"{location.cell(texts.index(''))}: the id is empty",
            hint="Give every row an id of its own, or leave the ids out",
        )
    if len(set(texts)) < len(texts):
        first: dict[str, int] = {}
        row = next(row for row, text in enumerate(texts) if first.setdefault(text, row) < row)
        raise _twice(
            texts[row], location.cell(row), f"already at {location.cell(first[texts[row]])}"
        )
    if not is_storable("".join(texts)):
        row = next(row for row, text in enumerate(texts) if not is_storable(text))
        raise InvalidInputError(
            f"{location.cell(row)}: the id {texts[row]!r} holds a character that no file can hold",
            hint="Write ids in valid Unicode without NUL characters",
        )
    array = np.empty(len(texts), dtype=np.object_)
    array[:] = texts
    return array


def _twice(text: str, where: str, found: str) -> InvalidInputError:
    return InvalidInputError(
        f"{where}: the id {text!r} is {found}",
        hint="Give every row an id of its own, or leave the ids out",
    )


class IdsSeen:
    """The ids of a table's rows so far, up to `MOST_IDS`.

    Examples
    --------
    >>> from dnip.base.arrays import ArrayLocation
    >>> seen = IdsSeen()
    >>> seen.add(["a", "b"], ArrayLocation("first"))
    >>> seen.add(["c", "a"], ArrayLocation("second"))
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: second[1]: the id 'a' is already in an earlier row. Give every row \
an id of its own, or leave the ids out
    """

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self.too_many = False

    def add(self, ids: Sequence[str], location: Location) -> None:
        """Add the ids of some rows, which differ from one another.

        Raises
        ------
        InvalidInputError
            For the first that an earlier row has; the message names the row.
        """
        if self.too_many:
            return
        if not self._seen.isdisjoint(ids):
            row = next(row for row, text in enumerate(ids) if text in self._seen)
            raise _twice(ids[row], location.cell(row), "already in an earlier row")
        self._seen.update(ids)
        if len(self._seen) > MOST_IDS:
            self._seen, self.too_many = set(), True


_WHOLE_NUMBER = re.compile(r"([+-]?[0-9]+)(\.0*)?")


class LabelRule:
    """The rule that reads one label cell. Cells are read one by one, so tables can stream.

    An empty cell is an unlabelled row. A cell that equals a class name is that class; so is one in
    other letter case, where no two class names differ in case only.
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
    >>> from dnip.tables.columns import name_classes, CellLocation
    >>> rule = LabelRule(("World", "Sports"))
    >>> rule.read(["Sports", "1.0", 0, "", None], CellLocation("opt.csv", ("p0", "p1")))
    array([ 1,  1,  0, -1, -1])
    """

    def __init__(self, classes: tuple[str, ...], *, from_header: bool = False) -> None:
        self._classes = classes
        self._from_header = from_header
        self._index_of = {name: index for index, name in enumerate(classes)}
        self._index_of[""] = UNLABELLED
        folded = [name.casefold() for name in classes]
        self._folded = dict(zip(folded, range(len(classes)), strict=True))
        if len(self._folded) < len(classes):
            self._folded = {}
        numbers = {name: _whole_number(name) for name in classes}
        others = (name for i, name in enumerate(classes) if numbers[name] not in (None, i))
        self._ambiguous = next(others, None)

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
        if (clear := self._folded.get(text.strip().casefold())) is not None:
            return clear
        index = _whole_number(text.strip())
        where = location.named(row, LABEL)
        if self._from_header:
            raise InvalidInputError(
                f"{where}: {shown(text)} is none of the columns {self._known()}, which were taken "
                "for the classes",
                hint="Write the name of one of them, or add a column"
                if index is None
                else f"{name_classes(self._classes, 'Name')}, in the order of their numbers",
            )
        if index is None:
            raise InvalidInputError(
                f"{where}: {shown(text)} is neither a class name nor a class index",
                hint=f"The classes are {self._known()}; if they have other names, give them with "
                "--classes (in Python: classes=[...])",
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
