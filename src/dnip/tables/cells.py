"""Cells of arrays and tables, checked: probabilities, weights and ids of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.errors import InvalidInputError, counted, listed, shown, warn
from dnip.base.typing import Floats, Integers, Probabilities

#: Cells of a column: of one type as an array, else one by one.
Cells: TypeAlias = "Sequence[Any] | NDArray[Any]"

#: Rows whose sum is off by more than this are normalised. Closer ones (half precision, or printed
#: to a few digits) are left as they are, so that ties between printed probabilities stay ties.
ROW_SUM_TOLERANCE = 1e-3

# Cells that are checked at a time, so that no check needs memory for a whole table.
_CELLS = 1 << 17
_NO_SCALARS = (list, tuple, dict, set, bytes, bytearray, np.ndarray)
_ONE = "Give one value per row"
_SOFTMAX = (
    "Probabilities are finite numbers of 0 or more that share a whole; convert logits with a "
    "softmax first: p = exp(x) / sum(exp(x))"
)

# How many times another the sum of a row may be where the numbers share something.
_ALIKE = 1.1

# The largest weight of a row is this or more.
_LIGHTEST = 1e-100

# Entries whose running sums are held at once.
_MAX_ENTRIES = 1 << 18

# Spreads the bits of a hash, as in SplitMix64 (Steele, Lea and Flood 2014).
_ODD = np.uint64(0x94D049BB133111EB)

#: Ids that are compared, at most: they are held in memory, about 100 bytes each.
MOST_IDS = 2_000_000


class BadRowError(InvalidInputError):
    """A row is at fault, whatever its columns mean."""


class ForeignError(InvalidInputError):
    """What is no probability table, though `dnip import` may make one of it."""


def no_rows(source: str) -> InvalidInputError:
    """Return the error for a table without rows."""
    return InvalidInputError(f"{source}: there are no rows", hint="Give a table with rows")


def no_number(where: str) -> BadRowError:
    """Return the error for a cell that is empty or NaN."""
    return BadRowError(
        f"{where}: the number is missing (empty or NaN)",
        hint="Give a number in every row; a class that is ruled out has 0, a column that is no "
        "class goes",
    )


@dataclass(frozen=True)
class Location:
    """Names of the cells of an input, for messages: of an array, under the name of the argument.

    Parameters
    ----------
    source : str
        The input as a whole.
    """

    source: str

    def cell(self, row: int, column: int | None = None) -> str:
        """Name the 0-based row, and the class column if given."""
        return f"{self.source}[{row}]" if column is None else f"{self.source}[{row}, {column}]"

    def named(self, row: int, column: str) -> str:
        """Name an entry; `column` says of what it is, which the name of an array does."""
        return self.cell(row)


@dataclass(frozen=True)
class CellLocation(Location):
    """Names of the cells of a run of rows of one file.

    Parameters
    ----------
    source : str
        The file.
    columns : tuple of str
        Names of the class columns, in class order.
    first_row : int, default=0
        Which row of the file, counted from 0, is row 0 of the run.

    Examples
    --------
    >>> location = CellLocation("opt.csv", ("p0", "p1"), first_row=100)
    >>> location.cell(2, 1)
    'opt.csv: row 103, column p1'
    """

    columns: tuple[str, ...]
    first_row: int = 0

    def cell(self, row: int, column: int | None = None) -> str:
        """Name a row of the run, and its class column if given; rows count from 1."""
        name = f"{self.source}: row {self.first_row + row + 1}"
        return name if column is None else f"{name}, column {self.columns[column]}"

    def named(self, row: int, column: str) -> str:
        """Name a cell of a column that is not a class column."""
        return f"{self.cell(row)}, column {column}"


def check_probabilities(
    probabilities: ArrayLike,
    *,
    location: Location | None = None,
    warn: bool = True,
    keep_single: bool = False,
) -> Probabilities:
    """Return class probabilities as a C-contiguous float64 matrix whose rows sum to 1.

    Parameters
    ----------
    probabilities : array-like of shape (M, N)
        Non-negative, finite, with a positive entry in each row; N is at least 2.
    location : Location, optional
        How to name a cell in a message.
    warn : bool, default=True
        Warn when rows had to be normalised.
    keep_single : bool, default=False
        Leave a float32 matrix in float32 unless rows have to be normalised. The caller must then
        compute with every cell as float64.

    Returns
    -------
    ndarray of shape (M, N)
        The input itself where it is already in that form.

    Raises
    ------
    InvalidInputError
        For a wrong shape, or an entry that is not a probability.

    Examples
    --------
    >>> check_probabilities([[0.5, 0.5], [0.25, 0.75]])
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    location = location or Location("probabilities")
    p = check_numbers(probabilities, location.source, keep_single=keep_single)
    check_several_columns(p.shape[1], location.source)
    p, off, sums = normalise_rows(p, location)
    if warn:
        first_off = first_off_of(off, sums, location)
        tell_normalised(location.source, len(off), len(p), first_off)
    return p


def check_numbers(numbers: ArrayLike, source: str, *, keep_single: bool = False) -> Probabilities:
    """Return a C-contiguous float64 matrix; a float32 one stays as it is where that is asked for.

    Examples
    --------
    >>> check_numbers([[1, 2]], "probabilities")
    array([[1., 2.]])
    """
    try:
        raw = np.asarray(numbers)
        if raw.dtype.kind == "c":
            raise TypeError("the numbers are complex")
        single = keep_single and raw.dtype == np.float32
        p: Any = np.ascontiguousarray(raw, dtype=np.float32 if single else np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:  # of torch, the last
        raise InvalidInputError(
            f"{source} is not a matrix of numbers: {str(error).rstrip('.')}",
            hint="Give one row per example and one column of numbers per class",
        ) from error
    if p.ndim != 2:
        raise InvalidInputError(
            f"{source} has shape {p.shape}, but a matrix (examples, classes) is needed",
            hint="Give one row per example and one column per class, also for a binary task",
        )
    return cast("Probabilities", p)


def check_several_columns(n_columns: int, source: str) -> None:
    """Refuse probabilities of fewer than two classes."""
    if n_columns < 2:
        raise InvalidInputError(
            f"{source}: {counted(n_columns, 'column')} of probabilities, but at least 2 are needed",
            hint="Give one column per class, also for a binary task",
        )


def normalise_rows(p: Probabilities, location: Location) -> tuple[Probabilities, Integers, Floats]:
    """Normalise rows; return them, and the numbers and sums of those that did not sum to 1.

    Parameters
    ----------
    p : ndarray of shape (M, N)
        In any memory layout, which is kept.
    location : Location
        How to name a cell in a message.

    Raises
    ------
    InvalidInputError
        For an entry that is not a probability.

    Examples
    --------
    >>> normalise_rows(np.array([[0.5, 0.5], [1.0, 3.0]]), Location("p"))
    (array([[0.5 , 0.5 ],
           [0.25, 0.75]]), array([1]), array([4.]))
    """
    off: list[Integers] = []
    off_sums: list[Floats] = []
    empty: int | None = None
    step = max(_CELLS // p.shape[1], 1)
    for first in range(0, len(p), step):
        block = p[first : first + step].astype(np.float64, copy=False)
        sums = row_sums(block)
        if not np.isfinite(sums).all() or block.min() < 0:
            _refuse_cell(p, location)
        if empty is None and sums.min() <= 0:
            empty = first + int(np.argmax(sums <= 0))
        rows = (np.abs(sums - 1) > ROW_SUM_TOLERANCE).nonzero()[0]
        if len(rows):
            off.append(rows + first)
            off_sums.append(sums[rows])
    if empty is not None:
        raise BadRowError(
            f"{location.cell(empty)}: all class probabilities are 0",
            hint="Drop the row, or give the probabilities of a model that ranks the classes",
        )
    if not off:
        return p, np.empty(0, np.int64), np.empty(0)
    rows, sums = np.concatenate(off), np.concatenate(off_sums)
    _check_share(p, rows, sums, location)
    p = p.astype(np.float64)
    p[rows] /= sums[:, None]
    return p, rows, sums


def _check_share(p: Probabilities, rows: Integers, sums: Floats, location: Location) -> None:
    """Refuse numbers that share nothing: most rows have some above 1, and their sums differ.

    Per cent and bytes have sums that are alike, and counts are whole.
    """
    most = p[rows].max(axis=1)
    above = 2 * np.count_nonzero(most > 1) > len(p)
    low, high = int(sums.argmin()), int(sums.argmax())
    if above and sums[high] > _ALIKE * sums[low] and (most != np.floor(most)).any():
        first, second = sorted((low, high), key=lambda row: int(rows[row]))
        raise InvalidInputError(
            f"{location.cell(int(rows[first]))}: the numbers of the classes sum to "
            f"{sums[first]:.6g}, and elsewhere to {sums[second]:.6g}: they are not probabilities",
            hint=_SOFTMAX,
        )


def check_complete(
    p: Probabilities, spare: Mapping[str, Cells], classes: Sequence[str], location: Location
) -> None:
    """Refuse rows that sum to 1 only with a column that is not among the classes.

    Parameters
    ----------
    p : ndarray of shape (M, N)
    spare : mapping of str to sequence of length M
        The cells of columns that mean nothing here; texts may be numbers.
    classes : sequence of str
        Names of the columns of `p`.
    location : Location

    Raises
    ------
    InvalidInputError
        Where one of the columns, or all that hold shares together, make every row whole.

    Examples
    --------
    >>> p, rows = np.array([[0.5, 0.2], [0.9, 0.1]]), Location("new")
    >>> check_complete(p, {"age": [31, 44]}, ["ham", "spam"], rows)
    >>> check_complete(p, {"age": [31, 44], "scam": ["0.3", "0"]}, ["ham", "spam"], rows)
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: new[0]: the classes ham, spam sum to 0.7, and only with the column \
scam to 1: it looks like a class that is not known here. If it is one, give the classes with it \
(coefficients must be fitted anew); if not, drop the column
    """
    missing = 1 - row_sums(p)
    short = missing > ROW_SUM_TOLERANCE
    if not spare or not short.any():
        return
    shares = {name: values for name, cells in spare.items() if len(values := _shares_of(cells))}
    candidates: dict[tuple[str, ...], Floats] = {(name,): values for name, values in shares.items()}
    candidates[tuple(shares)] = np.sum([*shares.values()], axis=0)
    for names, values in candidates.items():
        if names and np.abs(missing - values).max() <= ROW_SUM_TOLERANCE:
            row = int(np.argmax(short))
            they = "it looks like a class that is not known here"
            raise InvalidInputError(
                f"{location.cell(row)}: the classes {listed(classes)} sum to "
                f"{1 - missing[row]:.6g}, and only with the column {listed(names)} to 1: {they}",
                hint="If it is one, give the classes with it (coefficients must be fitted anew); "
                "if not, drop the column",
            )


def _shares_of(cells: Cells) -> Floats:
    """Return a column as numbers, or nothing where it holds others than those from 0 to 1."""
    if not isinstance(cells, np.ndarray) and isinstance(cells[0], bool):
        return np.empty(0)
    try:
        values = np.asarray(cells, np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0)
    sound = values.ndim == 1 and ((values >= 0) & (values <= 1 + ROW_SUM_TOLERANCE)).all()
    return values if sound else np.empty(0)


def first_off_of(off: Integers, sums: Floats, location: Location) -> str:
    """Return which row is the first that did not sum to 1, and its sum; empty where none is."""
    return f"{location.cell(int(off[0]))}, sum {sums[0]:.6g}" if len(off) else ""


def tell_normalised(source: str, n_off: int, n_rows: int, first_off: str) -> None:
    """Warn if rows were normalised: how many, and which is the first."""
    if n_off:
        warn(
            f"{source}: {n_off} of {n_rows} rows did not sum to 1 and were normalised (the first "
            f"is {first_off})"
        )


def _refuse_cell(p: NDArray[np.floating[Any]], location: Location) -> NoReturn:
    """Raise for the first entry that is NaN, infinite or negative; for a sum that overflows."""
    bad = ~np.isfinite(p) | (p < 0)
    if not bad.any():
        row = int(np.argmax(~np.isfinite(row_sums(p))))
        raise InvalidInputError(
            f"{location.cell(row)}: the sum of the class probabilities overflows",
            hint="Give probabilities between 0 and 1",
        )
    row, column = (int(i) for i in np.argwhere(bad)[0])
    value = p[row, column]
    if math.isnan(value):
        raise no_number(location.cell(row, column))
    kind = "infinite" if math.isinf(value) else "negative"
    error = InvalidInputError if value < 0 else BadRowError
    raise error(
        f"{location.cell(row, column)}: the probability is {kind} ({value})",
        hint=_SOFTMAX
        if value < 0
        else "Drop the row, or give the finite numbers that the model had there",
    )


def row_sums(probabilities: NDArray[np.floating[Any]]) -> Floats:
    """Return the sum of each row from the first class to the last, as in every memory layout.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)

    Returns
    -------
    ndarray of shape (M,)
        Infinite or NaN where a row holds such numbers or overflows.

    Examples
    --------
    >>> row_sums(np.array([[0.25, 0.75], [1.0, 3.0]]))
    array([1., 4.])
    """
    p = probabilities
    sums = np.zeros(len(p))
    with np.errstate(over="ignore", invalid="ignore"):
        if p.flags.c_contiguous:
            step = max(1, _MAX_ENTRIES // max(1, p.shape[1]))
            for start in range(0, len(p), step):
                rows = slice(start, start + step)
                sums[rows] = p[rows].cumsum(axis=1, dtype=np.float64)[:, -1]
        else:
            for column in p.T:
                sums += column
    return sums


def check_sample_weight(sample_weight: ArrayLike, *, n_examples: int) -> Floats:
    """Return sample weights as float64: finite, not negative, one per example, not all zero.

    Examples
    --------
    >>> check_sample_weight([1, 2.5], n_examples=2)
    array([1. , 2.5])
    """
    name = "sample_weight"
    weights = check_vector(name, sample_weight, n_examples, np.float64)
    return check_some_weight(check_row_weights(weights, name, Location(name)), name)


def check_some_weight(weights: Floats, source: str) -> Floats:
    """Return the weights of rows, of which some must count."""
    if len(weights) and not weights.any():
        raise InvalidInputError(
            f"{source}: the weights of all labelled rows are zero",
            hint="Give those that are to count a weight above 0, or give no weights",
        )
    largest = weights.max(initial=0)
    if len(weights) and not _LIGHTEST <= largest <= 1 / _LIGHTEST:
        raise InvalidInputError(
            f"{source}: the largest weight is {largest:g}, outside "
            f"{_LIGHTEST:g}..{1 / _LIGHTEST:g}",
            hint="Divide all by it",
        )
    return weights


def check_row_weights(cells: Cells, name: str, location: Location) -> Floats:
    """Return the weights of rows as float64: finite, and 0 or more.

    Examples
    --------
    >>> check_row_weights(["1", "2.5"], "weight", Location("t"))
    array([1. , 2.5])
    """
    try:
        weights = np.asarray(cells, np.float64)
    except (TypeError, ValueError, OverflowError):
        weights = np.fromiter((float(c) if is_number(str(c)) else math.nan for c in cells), float)
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise BadRowError(
            f"{location.named(row, name)}: {shown(as_list(cells)[row])} is no weight of a row",
            hint="Give a number of 0 or more in every row",
        )
    return weights


def check_mass(
    mass: ArrayLike, *, n_examples: int, location: Location | None = None, column: int | None = None
) -> Floats:
    """Return captured mass as float64, a number from 0 to 1 in each row.

    Parameters
    ----------
    mass : array-like of shape (M,)
        What a language model gave to all labels of a row together.
    n_examples : int
        M of the probabilities that it belongs to.
    location : Location, optional
        How to name a cell in a message.
    column : int, optional
        Which column of the file it is.

    Raises
    ------
    InvalidInputError
        For a wrong length, and a value that is NaN, below 0, or above 1 by more than rounding.

    Examples
    --------
    >>> check_mass([0.5, 1], n_examples=2)
    array([0.5, 1. ])
    """
    location = location or Location("mass")
    values = check_vector(location.source, mass, n_examples, np.float64)
    bad = ~((values >= 0) & (values <= 1 + ROW_SUM_TOLERANCE))
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidInputError(
            f"{location.cell(row, column)}: the captured mass is {values[row]:g}, outside 0..1",
            hint="Give the probability of all labels together before normalising, or leave the "
            "column out",
        )
    return values


def check_vector(
    name: str, values: ArrayLike, n_examples: int, kind: type | None = None
) -> NDArray[Any]:
    """Return an array with one value per example.

    Examples
    --------
    >>> check_vector("y", ["spam", "ham"], 2)
    array(['spam', 'ham'], dtype='<U4')
    """
    try:
        raw = np.asarray(values, kind)
    except (TypeError, ValueError, OverflowError) as error:  # or rows of other lengths
        what = "list" if kind is None else "list of numbers"
        raise InvalidInputError(f"{name} is not a {what}: {error}", hint=_ONE) from error
    if raw.shape != (n_examples,):
        raise InvalidInputError(
            f"{name} has shape {raw.shape}, but {n_examples} examples need ({n_examples},)",
            hint=_ONE,
        )
    return raw


def check_scalars(cells: Sequence[Any] | NDArray[Any], name: str, location: Location) -> None:
    """Refuse a list, an object or bytes in a column of texts and numbers."""
    if any(issubclass(kind, _NO_SCALARS) for kind in set(map(type, cells))):
        row = next(row for row, cell in enumerate(cells) if isinstance(cell, _NO_SCALARS))
        is_bytes = isinstance(cells[row], bytes | bytearray)
        raise InvalidInputError(
            f"{location.named(row, name)}: a text or a number is needed, not {shown(cells[row])}",
            hint="Make texts of bytes, with .decode()" if is_bytes else _ONE,
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
        raise id_twice(
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


def id_twice(text: str, where: str, where_else: str) -> InvalidInputError:
    """Return the error for the second row with an id."""
    return InvalidInputError(
        f"{where}: the id {text!r} is {where_else}",
        hint="Give every row an id of its own, or leave the ids out",
    )


def is_storable(text: str) -> bool:
    r"""Say whether a text survives every file format: valid Unicode, no NUL character.

    Examples
    --------
    >>> is_storable("naïve"), is_storable("\ud800"), is_storable("a\0")
    (True, False, False)
    """
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def is_number(text: str) -> bool:
    """Say whether a text is a number.

    Examples
    --------
    >>> is_number("1e-3"), is_number("sports")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def is_missing(value: object) -> bool:
    """Say whether a cell is empty: None, NaN, or NA of pandas.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    if isinstance(value, float | np.floating):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def texts_of(cells: Cells) -> NDArray[np.object_]:
    """Return the cells of a column as texts; None stands for an empty one.

    Examples
    --------
    >>> texts_of(["a", 7, "", None]).tolist()
    ['a', '7', None, None]
    """
    texts = [None if is_missing(cell) or cell == "" else str(cell) for cell in as_list(cells)]
    array = np.empty(len(texts), np.object_)
    array[:] = texts
    return array


def as_list(cells: Cells) -> Sequence[Any]:
    """Return cells as values of Python."""
    return cells.tolist() if isinstance(cells, np.ndarray) else cells


def row_hashes(values: NDArray[np.floating[Any]]) -> NDArray[np.uint64]:
    """Return a number for each row, shape (M,), the same for equal rows and hardly ever for others.

    Examples
    --------
    >>> first, second, third = row_hashes(np.array([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]))
    >>> first == third, first == second
    (np.True_, np.False_)
    """
    bits = np.ascontiguousarray(values + 0.0, np.float64).view(np.uint64)  # -0 is 0
    odd = np.random.default_rng(0).integers(1 << 63, size=bits.shape[1], dtype=np.uint64) * 2 + 1
    mixed = (bits ^ (bits >> np.uint64(29))) * odd
    mixed = np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(32)), axis=1) * _ODD
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
