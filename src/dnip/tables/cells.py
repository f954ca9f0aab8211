"""The cells of a block of rows, checked: numbers, ids and captured mass."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.arrays import Location, no_number
from dnip.base.classes import Cells, is_missing, is_storable
from dnip.base.columns import CellLocation, Layout
from dnip.base.errors import InvalidInputError, shown
from dnip.base.typing import Floats, Integers

#: Ids that are compared, at most: they are held in memory, about 100 bytes each.
MOST_IDS = 2_000_000

_NUMBERS = (int, float, Decimal, np.integer, np.floating)

# Cells that are held at once: rows of many classes come in shorter blocks.
_MAX_CELLS = 1 << 20


def rows_per_block(most: int, n_columns: int) -> int:
    """Return how many rows to hold at once.

    Examples
    --------
    >>> rows_per_block(65_536, 5), rows_per_block(65_536, 1_000)
    (65536, 1048)
    """
    return max(1, min(most, _MAX_CELLS // max(1, n_columns)))


def as_list(cells: Cells) -> Sequence[Any]:
    """Return cells as values of Python."""
    return cells.tolist() if isinstance(cells, np.ndarray) else cells


@dataclass(frozen=True)
class Block:
    """Some rows of a file as columns: as a reader found them, or ready to be written.

    Parameters
    ----------
    layout : Layout
        What each column holds.
    columns : mapping of str to sequence of length M
        The cells of the columns that are read or written, in the order of the file.
    first_row : int, default=0
        Which row of the file, counted from 0, is the first of these.
    as_text : bool, default=False
        Whether numbers are texts.
    """

    layout: Layout
    columns: Mapping[str, Cells]
    first_row: int = 0
    as_text: bool = False

    @property
    def location(self) -> CellLocation:
        """How to name a cell in a message."""
        return self.layout.location(self.first_row)


def numbers_of(block: Block) -> Floats:
    """Return the class columns of a block as a matrix, and `mass` as its last column if present.

    Parameters
    ----------
    block : Block
        As a reader found it. Text is not a number but where all cells are text; nor are booleans.

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
    >>> from dnip.base.classes import name_classes
    >>> from dnip.base.columns import resolve_columns
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
        location = block.location
        for row, cells_of_row in enumerate(zip(*map(list, columns), strict=True)):
            for column, cell in enumerate(cells_of_row):
                _check_cell(cell, convert, location.cell(row, column))
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
            raise ValueError(f"{kind.__name__} is not a type of number")
    return np.fromiter(map(float, cells), np.float64, len(cells))


def _check_cell(cell: object, convert: Callable[[Cells], NDArray[Any]], where: str) -> None:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        raise no_number(where)
    try:
        convert([cell])
    except (ValueError, OverflowError) as error:
        what = "is too large" if isinstance(error, OverflowError) else "is not a number"
        raise InvalidInputError(
            f"{where}: {shown(cell)} {what}",
            hint="Write numbers with a decimal point, such as 0.25; `dnip import` reads decimal "
            "commas and per cent, too",
        ) from None


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
    location = location or Location("ids")
    if len(ids) != n_examples:
        raise InvalidInputError(
            f"{location.source} has {len(ids)} entries, but there are {n_examples} rows",
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


def _twice(text: str, where: str, where_else: str) -> InvalidInputError:
    return InvalidInputError(
        f"{where}: the id {text!r} is {where_else}",
        hint="Give every row an id of its own, or leave the ids out",
    )


class IdsSeen:
    """The ids of a table's rows so far, up to `MOST_IDS`.

    Examples
    --------
    >>> from dnip.base.arrays import Location
    >>> seen = IdsSeen()
    >>> seen.add(["a", "b"], Location("first"))
    >>> seen.add(["c", "a"], Location("second"))
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


#: Below this captured mass, most of what the model would say is not a label.
LOW_MASS = 0.1

#: From this share of low rows on, a table is worth a warning.
WORTH_TELLING = 0.1

# Half-precision numbers from 0 to 1: as bits they are whole numbers in the same order.
_N_BINS = int(np.float16(1).view(np.uint16)) + 1


@dataclass(frozen=True)
class CapturedMass:
    """Captured mass over the rows of a table.

    Attributes
    ----------
    rows : int
        Rows whose mass is known.
    low : int
        Rows of less than `LOW_MASS`.
    median : float
        The middle row's, to 3 digits; below 0.0001 to fewer.

    Examples
    --------
    >>> mass = CapturedMass.of([0.02, 0.03, 0.9])
    >>> mass.low, mass.median, mass.at_fault
    (2, 0.03, True)
    """

    rows: int
    low: int
    median: float

    @classmethod
    def of(cls, mass: ArrayLike) -> CapturedMass | None:
        """Summarise the mass of rows; None if there are no rows."""
        counts = MassCounts()
        counts.add(mass)
        return counts.summary

    @property
    def at_fault(self) -> bool:
        """Whether most rows are low: then the prompt is wrong, which no weight can mend."""
        return 2 * self.low > self.rows

    @property
    def worth_telling(self) -> bool:
        """Whether so many rows are low that the user should know."""
        return self.low >= WORTH_TELLING * self.rows

    @property
    def sentence(self) -> str:
        """How many rows are low, and what to do.

        Examples
        --------
        >>> CapturedMass(240, 199, 0.02).sentence
        'the labels capture less than 0.1 of the probability in 83% of the rows (199 of 240; \
median mass 0.02): the prompt or the label words are at fault, coefficients cannot mend that. \
Look at both with `dnip audit`'
        """
        return (
            f"the labels capture less than {LOW_MASS:g} of the probability in "
            f"{self.low / self.rows:.0%} of the rows ({self.low:,} of {self.rows:,}; median mass "
            f"{self.median:.2g}): the prompt or the label words are at fault, coefficients cannot "
            "mend that. Look at both with `dnip audit`"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints.

        Examples
        --------
        >>> CapturedMass(240, 199, 0.02).to_dict()
        {'rows': 240, 'low': 199, 'median': 0.02, 'threshold': 0.1}
        """
        return {**asdict(self), "threshold": LOW_MASS}


class MassCounts:
    """Counts that summarise the captured mass of a table of any size.

    Examples
    --------
    >>> counts = MassCounts()
    >>> for block in ([0.5, 0.05], [0.75]):
    ...     counts.add(block)
    >>> counts.summary
    CapturedMass(rows=3, low=1, median=0.5)
    """

    def __init__(self) -> None:
        self._low = 0
        self._bins: Integers = np.zeros(_N_BINS, np.int64)

    def add(self, mass: ArrayLike) -> None:
        """Count the mass of some more rows, from 0 to 1."""
        values = np.abs(np.asarray(mass, np.float64))  # -0 has other bits
        self._low += int(np.count_nonzero(values < LOW_MASS))
        bits = np.minimum(values, 1).astype(np.float16).view(np.uint16)
        self._bins += np.bincount(bits, minlength=_N_BINS)

    def join(self, other: MassCounts) -> None:
        """Add the counts of other rows."""
        self._low += other._low
        self._bins += other._bins

    @property
    def summary(self) -> CapturedMass | None:
        """The summary of all rows; None if there were none."""
        rows = int(self._bins.sum())
        if not rows:
            return None
        middle = np.searchsorted(np.cumsum(self._bins), (rows + 1) // 2)
        median = float(np.uint16(middle).view(np.float16))
        return CapturedMass(rows, self._low, float(f"{median:.3g}"))
