"""Rows: from the cells of blocks to checked probabilities, labels and ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.errors import InvalidInputError, listed, shown, warn
from dnip.base.typing import Floats, Integers, Labels, Probabilities
from dnip.tables.cells import (
    MOST_IDS,
    BadRowError,
    CellLocation,
    Cells,
    ForeignError,
    as_list,
    check_complete,
    check_ids,
    check_mass,
    check_row_weights,
    check_scalars,
    first_off_of,
    id_twice,
    no_number,
    no_rows,
    normalise_rows,
    tell_normalised,
    texts_of,
)
from dnip.tables.columns import CORRECTED, ID, MASS, Layout, import_line
from dnip.tables.labels import LABEL, name_classes, read_labels

_NUMBERS = (int, float, Decimal, np.integer, np.floating)

# Cells that are held at once: rows of many classes come in shorter blocks.
_MAX_CELLS = 1 << 20


# What may be known of each row.
_OF_EACH = ("probabilities", "labels", "ids", "mass", "groups", "weights", "slices")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows after all checks: some of a file, or a whole `ProbabilityTable`.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
        Rows sum to 1. In rows from a file each column is contiguous.
    labels : ndarray of shape (M,) or None
        Class indices, -1 for an unlabelled row; None where there is no label column.
    ids : array of str, shape (M,), or None
        A name for each row; None where there is no id column.
    classes : tuple of str
        Class names.
    source : str
        The table that the rows belong to, for messages.
    mass : ndarray of shape (M,) or None
        Captured mass of each row; None where there is no such column.
    others : mapping of str to sequence of length M, or None
        Cells of the columns that mean nothing here, where they are asked for.
    columns : tuple of str or None
        Names of the class columns in the file; None for rows that were not read from a file.
    corrected_by : str or None
        The hash of the coefficients that corrected the probabilities; None for those of a model.
    groups : array of str or None, shape (M,), or None
        What each row belongs to, where it is asked for; None stands for a row by itself.
    weights : ndarray of shape (M,) or None
        How much each row counts, where it is asked for.
    slices : array of str, shape (M,), or None
        What rows are compared by, where it is asked for.
    sums_to_one : bool, default=True
        Whether every row summed to 1 as it came.
    """

    probabilities: Probabilities
    labels: Labels | None
    ids: NDArray[np.object_] | None
    classes: tuple[str, ...]
    source: str
    mass: Floats | None = None
    others: Mapping[str, Sequence[object]] | None = None
    columns: tuple[str, ...] | None = None
    corrected_by: str | None = None
    groups: NDArray[np.object_] | None = None
    weights: Floats | None = None
    slices: NDArray[np.object_] | None = None
    sums_to_one: bool = True

    def __len__(self) -> int:
        """Return the number of rows, M."""
        return len(self.probabilities)

    @property
    def n_classes(self) -> int:
        """The number of classes, N."""
        return len(self.classes)

    @property
    def of_each(self) -> dict[str, NDArray[Any]]:
        """What is known of each row, by the name of the attribute."""
        known = {name: getattr(self, name) for name in _OF_EACH}
        return {name: cells for name, cells in known.items() if cells is not None}

    def changed(self, **changes: Any) -> Rows:  # noqa: ANN401 - of any attribute
        """Return the same rows with other values of some attributes."""
        return Rows(**{**vars(self), **changes})


def joined(blocks: Iterable[Rows]) -> Rows:
    """Return all rows together, their probabilities contiguous row by row."""
    pieces = list(blocks)
    parts = [block.of_each for block in pieces]
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    whole["probabilities"] = np.ascontiguousarray(whole["probabilities"])
    return pieces[0].changed(
        **whole,
        corrected_by=next((block.corrected_by for block in pieces if block.corrected_by), None),
        sums_to_one=all(block.sums_to_one for block in pieces),
    )


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


def check_blocks(
    blocks: Iterable[Block], source: str, *, as_a_whole: bool = True
) -> Iterator[Rows]:
    """Check and normalise the blocks of one table.

    Parameters
    ----------
    blocks : iterable of Block
        As a reader found them.
    source : str
        The table as a whole, for messages.
    as_a_whole : bool, default=True
        Whether to look for ids that are in two blocks, and to warn of normalised rows and of low
        captured mass.

    Yields
    ------
    Rows
        The same rows. After the last block, warnings say how many rows were normalised, and how
        many have a low captured mass.

    Raises
    ------
    InvalidInputError
        For the first bad cell, an id that appears twice, parts with different columns, or a table
        without rows.
    """
    whole = WholeTable(source)
    for block in blocks:
        rows, seen = check_block(block, source)
        if as_a_whole:
            whole.add(seen)
        yield rows
    if as_a_whole:
        whole.finish()


class Seen(NamedTuple):
    """What the rows of a block tell of their table.

    Attributes
    ----------
    layout : Layout
    location : CellLocation
        Of these rows.
    n_rows, n_off : int
        All rows, and those that did not sum to 1.
    first_off : str
        The first of the latter, and its sum.
    ids, mass : ndarray of shape (M,) or None
    """

    layout: Layout
    location: CellLocation
    n_rows: int
    n_off: int
    first_off: str
    ids: NDArray[np.object_] | None
    mass: Floats | None


def check_block(block: Block, source: str) -> tuple[Rows, Seen]:
    """Check and normalise the rows of a block; return them, and what a `WholeTable` looks at."""
    layout, columns, location = block.layout, block.columns, block.location
    n_classes = len(layout.classes)
    named = set()
    if layout.from_header:
        named = {str(label).strip() for label in as_list(columns.get(LABEL, ()))}
    in_doubt = layout.from_header and not named.issuperset(layout.classes)
    try:
        numbers = numbers_of(block)
        spare = {name: columns[name] for name in layout.others if name in columns}
        check_complete(numbers[:, :n_classes], spare, layout.classes, location)
        p, off, sums = normalise_rows(numbers[:, :n_classes], location)
        if in_doubt and 2 * len(off) >= len(p):
            raise InvalidInputError(
                f"{location.cell(int(off[0]))}: the columns {listed(layout.probabilities)} were "
                f"taken for the classes, but they sum to {sums[0]:.6g}, and in most rows not to 1"
            )
    except InvalidInputError as error:
        if in_doubt and not isinstance(error, BadRowError):
            known = [name for name in layout.classes if name in named]
            doubt = f"If a column is no class, {name_classes()}"
            if len(known) > 1:
                others = listed([name for name in layout.classes if name not in named])
                doubt = f"No label is {others}: if that is no class, {name_classes(known)}"
                if isinstance(error, ForeignError):
                    raise InvalidInputError(error.message, hint=doubt) from error
            error.hint = doubt if error.hint is None else f"{error.hint}. {doubt}"
        raise
    labels = ids = mass = None
    if LABEL in columns:
        numbered = not layout.from_header
        labels = read_labels(columns[LABEL], layout.classes, location, numbered=numbered)
    if ID in columns:
        check_scalars(columns[ID], ID, location)
        ids = check_ids(as_list(columns[ID]), n_examples=len(p), location=location)
    if MASS in columns:
        mass = numbers[:, -1]
        mass = check_mass(mass, n_examples=len(p), location=location, column=n_classes)
    marks = as_list(columns.get(CORRECTED, ()))
    asked = layout.asked
    rows = Rows(
        p,
        labels,
        ids,
        layout.classes,
        source,
        mass,
        {name: as_list(columns[name]) for name in layout.others} if asked.others else None,
        layout.probabilities,
        corrected_by=next((str(by) for by in marks if by not in (None, "")), None),
        groups=None if asked.group is None else texts_of(columns[asked.group]),
        weights=None
        if asked.weight is None
        else check_row_weights(columns[asked.weight], asked.weight, location),
        slices=None if asked.by is None else texts_of(columns[asked.by]),
        sums_to_one=not len(off),
    )
    first_off = first_off_of(off, sums, location)
    return rows, Seen(layout, location, len(p), len(off), first_off, ids, mass)


def rows_per_block(most: int, n_columns: int) -> int:
    """Return how many rows to hold at once.

    Examples
    --------
    >>> rows_per_block(65_536, 5), rows_per_block(65_536, 1_000)
    (65536, 1048)
    """
    return max(1, min(most, _MAX_CELLS // max(1, n_columns)))


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
    >>> from dnip.tables.labels import name_classes
    >>> from dnip.tables.columns import resolve_columns
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
        raise ForeignError(
            f"{where}: {shown(cell)} {what}",
            hint="Write numbers with a decimal point, such as 0.25; `dnip import` reads decimal "
            "commas, per cent and answers of a model, too",
        ) from None


class WholeTable:
    """What must hold of the rows of a table together, and what is to be told of them."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.n_rows = self._n_off = 0
        self._first_off = ""
        self._first: Layout | None = None
        self._masses = MassCounts()
        self._ids: set[str] = set()
        self._compares_ids = True

    def add(self, seen: Seen) -> None:
        """Add the next block; InvalidInputError for other columns, and an id of an earlier row."""
        self._first = self._first or seen.layout
        first, other = self._first, seen.layout
        if first.columns != other.columns or first.classes != other.classes:
            raise InvalidInputError(
                f"{other.source}: the columns {', '.join(other.columns)} differ from "
                f"{', '.join(first.columns)} of {first.source}, or the class names do",
                hint="Read the parts one by one, or make one table of them: "
                f"{import_line(self._source, first.classes)}",
            )
        self.n_rows += seen.n_rows
        self._first_off = self._first_off or seen.first_off
        self._n_off += seen.n_off
        if seen.ids is not None and self._compares_ids:
            self._add_ids(seen.ids.tolist(), seen.location)
        if seen.mass is not None:
            self._masses.add(seen.mass)

    def _add_ids(self, ids: list[str], location: CellLocation) -> None:
        """Add the ids of some rows, which differ from one another, up to `MOST_IDS`."""
        if not self._ids.isdisjoint(ids):
            row = next(row for row, name in enumerate(ids) if name in self._ids)
            raise id_twice(ids[row], location.cell(row), "already in an earlier row")
        self._ids.update(ids)
        if len(self._ids) > MOST_IDS:
            self._ids, self._compares_ids = set(), False

    def finish(self) -> None:
        """Tell what there is to tell of all rows; InvalidInputError if there were none."""
        if not self.n_rows:
            raise no_rows(self._source)
        tell_normalised(self._source, self._n_off, self.n_rows, self._first_off)
        if not self._compares_ids:
            warn(f"{self._source}: ids were compared in the first {MOST_IDS:,} rows only")
        captured = self._masses.summary
        if captured is not None and captured.worth_telling:
            warn(f"{self._source}: {captured.sentence}")


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
Look at both with `dnip prompt --check`'
        """
        return (
            f"the labels capture less than {LOW_MASS:g} of the probability in "
            f"{self.low / self.rows:.0%} of the rows ({self.low:,} of {self.rows:,}; median mass "
            f"{self.median:.2g}): the prompt or the label words are at fault, coefficients cannot "
            "mend that. Look at both with `dnip prompt --check`"
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
