"""The one door for input: arrays and settings are checked here once, then trusted inside."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

import numpy as np

from dnip.base.arrays import row_sums
from dnip.base.errors import DNIPWarning, InvalidInputError, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from dnip.base.typing import Floats, Integers, Labels, Probabilities

#: Rows whose sum is off by more than this are normalised. Closer ones (half precision, or printed
#: to a few digits) are left as they are, so
#: that ties between printed probabilities stay ties.
ROW_SUM_TOLERANCE = 1e-3

# Cells that are checked at a time, so that no check needs memory for a whole table.
_CELLS = 1 << 17

#: Largest weight scale K: beyond it neighbouring weights no longer differ in any real decision.
MAX_SCALE = 10_000
# The largest number that a setting may be.
_LARGEST = 1e12

# Far below 1 / MAX_SCALE, which is the least ratio of two weights that a fit gives: weights moved
# to another class mix may be farther apart.
_LEAST_WEIGHT = 1e-12


class Place(Protocol):
    """Where a cell of input came from, for messages."""

    def cell(self, row: int, column: int | None = None) -> str:
        """Name the 0-based row, and the class column if given."""
        ...

    def whole(self) -> str:
        """Name the input as a whole."""
        ...


class ArrayPlace:
    """Cells of an array that the caller passed, named by argument."""

    def __init__(self, name: str) -> None:
        self.name = name

    def cell(self, row: int, column: int | None = None) -> str:
        """Name the 0-based row, and the class column if given."""
        return f"{self.name}[{row}]" if column is None else f"{self.name}[{row}, {column}]"

    def whole(self) -> str:
        """Name the array."""
        return self.name


def check_probabilities(
    probabilities: ArrayLike,
    *,
    place: Place | None = None,
    warn: bool = True,
    keep_single: bool = False,
) -> Probabilities:
    """Return class probabilities as a C-contiguous float64 matrix whose rows sum to 1.

    Parameters
    ----------
    probabilities : array-like of shape (M, N)
        Non-negative, finite, with a positive entry in each row; N is at least 2.
    place : Place, optional
        How to name a cell in a message.
    warn : bool, default=True
        Tell when rows had to be normalised.
    keep_single : bool, default=False
        Leave a float32 matrix in float32 unless rows have to be normalised. Whoever asks for it
        computes with every cell as float64.

    Returns
    -------
    ndarray of shape (M, N)
        The input itself where it is already in that form: no copy is made without need.

    Raises
    ------
    InvalidInputError
        For a wrong shape or an entry that no probability can be.

    Examples
    --------
    >>> check_probabilities([[0.5, 0.5], [0.25, 0.75]])
    array([[0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    place = place or ArrayPlace("probabilities")
    try:
        raw = np.asarray(probabilities)
        if raw.dtype.kind == "c":
            raise TypeError("the numbers are complex")
        single = keep_single and raw.dtype == np.float32
        p: Any = np.ascontiguousarray(raw, dtype=np.float32 if single else np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{place.whole()} is not a matrix of numbers: {error}",
            hint="Give one row per example and one column of numbers per class",
        ) from error
    if p.ndim != 2:
        raise InvalidInputError(
            f"{place.whole()} has shape {p.shape}, but a matrix (examples, classes) is needed",
            hint="Give one row per example and one column per class",
        )
    if p.shape[1] < 2:
        raise InvalidInputError(
            f"{place.whole()} has {p.shape[1]} class column, but at least 2 classes are needed",
            hint="Give one probability column per class, also for a binary task",
        )
    p, off, sums = normalise_rows(p, place)
    if len(off) and warn:
        warn_normalised(
            place.whole(),
            count=len(off),
            total=len(p),
            first=place.cell(int(off[0])),
            first_sum=float(sums[0]),
        )
    return cast("Probabilities", p)


def check_column_names(
    table: object,
    classes: Sequence[str],
    *,
    name: str = "probabilities",
    hint: str = "Put the columns into this order; frame.to_numpy() is taken by position",
) -> None:
    """Refuse a data frame whose columns are named after classes, but not these in this order.

    Columns `p0`, `p1`, ... in order and columns without names of their own, such as 0, 1, 2, are
    taken by position; so are all names where the classes have none but their indices.

    Parameters
    ----------
    table : object
        What holds the probabilities; anything but a data frame has no names to check.
    classes : sequence of str
        Class names, in the order that is needed.
    name, hint : str
        What the message calls the table, and the remedy.

    Raises
    ------
    InvalidInputError
        For other columns, or another order of them.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"cat": [0.5], "dog": [0.5]})
    >>> check_column_names(frame, ["cat", "dog"])
    >>> check_column_names(frame[["dog", "cat"]], ["cat", "dog"])
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: the columns of probabilities are dog, cat, but the classes in \
order are cat, dog. Put the columns into this order; frame.to_numpy() is taken by position
    """
    if all(kind.__name__ != "DataFrame" for kind in type(table).__mro__):
        return
    columns = list(cast("Any", table).columns)
    names = [str(column) for column in columns]
    numbers = [str(index) for index in range(len(classes))]
    accepted = [list(classes), [f"p{number}" for number in numbers], numbers]
    if names in accepted:
        return
    disordered = any(sorted(names) == sorted(order) for order in accepted)
    named = numbers != list(classes) and any(isinstance(column, str) for column in columns)
    if disordered or named or not set(names).isdisjoint(classes):
        raise InvalidInputError(
            f"the columns of {name} are {listed(names)}, but the classes in order are "
            f"{listed(classes)}",
            hint=hint,
        )


def normalise_rows(p: Probabilities, place: Place) -> tuple[Probabilities, Integers, Floats]:
    """Return rows that sum to 1, the numbers of those that did not, and what these summed to.

    Parameters
    ----------
    p : ndarray of shape (M, N)
        As found, in any memory layout, which is kept.
    place : Place
        How to name a cell in a message.

    Raises
    ------
    InvalidInputError
        For an entry that no probability can be.

    Examples
    --------
    >>> normalise_rows(np.array([[0.5, 0.5], [1.0, 3.0]]), ArrayPlace("p"))
    (array([[0.5 , 0.5 ],
           [0.25, 0.75]]), array([1]), array([4.]))
    """
    off, sums = _check_cells(p, place)
    if len(off):
        p = p.astype(np.float64)
        p[off] /= sums[:, None]
    return p, off, sums


def _check_cells(p: NDArray[np.floating[Any]], place: Place) -> tuple[Integers, Floats]:
    """Check every cell, block by block; return the rows to normalise, and their sums."""
    off: list[Integers] = [np.empty(0, np.int64)]
    off_sums: list[Floats] = [np.empty(0)]
    empty: int | None = None
    step = max(_CELLS // p.shape[1], 1)
    for first in range(0, len(p), step):
        block = p[first : first + step].astype(np.float64, copy=False)
        sums = row_sums(block)
        if not np.isfinite(sums).all() or (block < 0).any():
            _refuse_cell(p, place)
        if empty is None and (sums <= 0).any():
            empty = first + int(np.argmax(sums <= 0))
        rows = np.flatnonzero(np.abs(sums - 1) > ROW_SUM_TOLERANCE)
        off.append(rows + first)
        off_sums.append(sums[rows])
    if empty is not None:
        raise InvalidInputError(
            f"{place.cell(empty)}: all class probabilities are 0",
            hint="Drop the row, or give the probabilities of a model that ranks the classes",
        )
    return np.concatenate(off), np.concatenate(off_sums)


def warn_normalised(source: str, *, count: int, total: int, first: str, first_sum: float) -> None:
    """Tell that rows of an input were normalised: how many, and which was the first."""
    warnings.warn(
        f"{source}: {count} of {total} rows did not sum to 1 and were normalised "
        f"(the first is {first}, sum {first_sum:.6g})",
        DNIPWarning,
        stacklevel=3,
    )


def _refuse_cell(p: NDArray[np.floating[Any]], place: Place) -> NoReturn:
    """Raise for the first entry that is NaN, infinite or negative; for a sum that overflows."""
    bad = ~np.isfinite(p) | (p < 0)
    if not bad.any():
        row = int(np.argmax(~np.isfinite(row_sums(p))))
        raise InvalidInputError(
            f"{place.cell(row)}: the sum of the class probabilities overflows",
            hint="Give probabilities between 0 and 1",
        )
    row, column = (int(i) for i in np.argwhere(bad)[0])
    value = p[row, column]
    kind = "not a number" if math.isnan(value) else "infinite" if math.isinf(value) else "negative"
    raise InvalidInputError(
        f"{place.cell(row, column)}: the probability is {kind} ({value})",
        hint="Probabilities are finite numbers of 0 or more; convert logits with a softmax first",
    )


def check_mass(
    mass: ArrayLike, *, n_examples: int, place: Place | None = None, column: int | None = None
) -> Floats:
    """Return captured mass as float64, a number from 0 to 1 in each row.

    Parameters
    ----------
    mass : array-like of shape (M,)
        What a language model put on all labels of a row together.
    n_examples : int
        M of the probabilities that it belongs to.
    place : Place, optional
        How to name a cell in a message.
    column : int, optional
        Which column of the place it is.

    Raises
    ------
    InvalidInputError
        For a wrong length, and a value that is NaN, below 0, or above 1 by more than rounding.

    Examples
    --------
    >>> check_mass([0.5, 1], n_examples=2)
    array([0.5, 1. ])
    """
    place = place or ArrayPlace("mass")
    try:
        values = np.asarray(mass, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{place.whole()} is not a list of numbers: {error}", hint="Give one number per row"
        ) from error
    if values.shape != (n_examples,):
        raise InvalidInputError(
            f"{place.whole()} has shape {values.shape}, but {n_examples} rows need ({n_examples},)",
            hint="Give one number per row",
        )
    bad = ~((values >= 0) & (values <= 1 + ROW_SUM_TOLERANCE))
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidInputError(
            f"{place.cell(row, column)}: the captured mass is {values[row]:g}, outside 0..1",
            hint="Give the probability of all labels together before normalising, or leave the "
            "column out",
        )
    return values


def check_labels(
    labels: ArrayLike,
    *,
    n_examples: int,
    n_classes: int,
    place: Place | None = None,
    unlabelled: bool = False,
) -> Labels:
    """Return labels as int64 class indices: the input itself where it is already in that form.

    Parameters
    ----------
    labels : array-like of shape (M,)
        Class indices 0..N-1, whole numbers of any type.
    n_examples, n_classes : int
        M and N of the probabilities that the labels belong to.
    place : Place, optional
        How to name a row in a message.
    unlabelled : bool, default=False
        Accept -1 for a row without a label.

    Raises
    ------
    InvalidInputError
        For a wrong length, a fraction, or an index outside 0..N-1.

    Examples
    --------
    >>> check_labels([0, 1, 1], n_examples=3, n_classes=2)
    array([0, 1, 1])
    """
    place = place or ArrayPlace("labels")
    raw = np.asarray(labels)
    if raw.ndim != 1 or len(raw) != n_examples:
        raise InvalidInputError(
            f"{place.whole()} has shape {raw.shape}, but {n_examples} examples need "
            f"({n_examples},)",
            hint="Give one label per row of the probabilities",
        )
    if raw.dtype.kind not in "biuf" or (raw.dtype.kind == "f" and not (raw == np.floor(raw)).all()):
        raise InvalidInputError(
            f"{place.whole()} holds values of type {raw.dtype} that are not class indices",
            hint="Give whole numbers 0..N-1; ProbabilityTable reads class names",
        )
    lowest = -1 if unlabelled else 0
    outside = (raw < lowest) | (raw >= n_classes)
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidInputError(
            f"{place.cell(row)}: label {raw[row]} is outside 0..{n_classes - 1}",
            hint=f"There are {n_classes} classes; labels count from 0",
        )
    return raw.astype(np.int64, copy=False)


def check_ids(
    ids: Sequence[object] | NDArray[np.object_], *, n_examples: int, place: Place | None = None
) -> NDArray[np.object_]:
    """Return row ids as an array of str: one per row, none empty, none twice.

    Parameters
    ----------
    ids : sequence of length M
        Texts or numbers; numbers become texts.
    n_examples : int
        M of the probabilities that the ids belong to.
    place : Place, optional
        How to name a row in a message.

    Raises
    ------
    InvalidInputError
        For a wrong length, an empty id, an id that stands twice, or a text that no file can hold.

    Examples
    --------
    >>> check_ids(["a", 7], n_examples=2)
    array(['a', '7'], dtype=object)
    """
    place = place or ArrayPlace("ids")
    if len(ids) != n_examples:
        raise InvalidInputError(
            f"{place.whole()} has {len(ids)} entries, but there are {n_examples} rows",
            hint="Give one id per row, or none at all",
        )
    values = ids.tolist() if isinstance(ids, np.ndarray) else ids
    texts = [value if isinstance(value, str) else _id_text(value) for value in values]
    if "" in texts:
        raise InvalidInputError(
            f"{place.cell(texts.index(''))}: the id is empty",
            hint="Give every row an id of its own, or leave the ids out",
        )
    if len(set(texts)) < len(texts):
        _refuse_second_id(texts, place)
    if not is_storable("".join(texts)):
        row = next(row for row, text in enumerate(texts) if not is_storable(text))
        raise InvalidInputError(
            f"{place.cell(row)}: the id {texts[row]!r} holds a character that no file can hold",
            hint="Write ids in valid Unicode without NUL characters",
        )
    array = np.empty(len(texts), dtype=np.object_)
    array[:] = texts
    return array


def _id_text(value: object) -> str:
    """Turn an id that is no text into one; None and NaN are empty cells."""
    return "" if is_missing(value) else str(value)


def is_missing(value: object) -> bool:
    """Say whether a cell is empty: None or NaN.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    return value is None or (isinstance(value, float) and math.isnan(value))


def _refuse_second_id(ids: list[str], place: Place) -> None:
    first: dict[str, int] = {}
    for row, text in enumerate(ids):
        if text in first:
            refuse_duplicate_id(text, place.cell(first[text]), place.cell(row))
        first[text] = row


def refuse_duplicate_id(text: str, first: str, second: str) -> NoReturn:
    """Raise for an id that stands twice, naming both places."""
    raise InvalidInputError(
        f"{second}: the id {text!r} already stands at {first}",
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


def check_weight_indices(
    indices: ArrayLike, *, n_classes: int, scale: int, name: str = "weight_indices"
) -> Integers:
    """Return weight indices as int64, one per class, each within 1..K.

    Examples
    --------
    >>> check_weight_indices([30, 7], n_classes=2, scale=30)
    array([30,  7])
    """
    raw = np.asarray(indices)
    if raw.shape != (n_classes,) or raw.dtype.kind not in "iu":
        raise InvalidInputError(
            f"{name} must be {n_classes} whole numbers, one per class; got "
            f"{raw.dtype} of shape {raw.shape}",
            hint=f"Give {n_classes} indices between 1 and {scale}",
        )
    if ((raw < 1) | (raw > scale)).any():
        bad = int(np.argmax((raw < 1) | (raw > scale)))
        raise InvalidInputError(
            f"{name}[{bad}] is {raw[bad]}, outside 1..{scale}",
            hint="Index K stands for weight 1; no class can be switched off",
        )
    return raw.astype(np.int64)


def check_weights(weights: ArrayLike | None, *, n_classes: int) -> Floats:
    """Return class weights as float64: one per class, each from 10⁻¹² to 1.

    Examples
    --------
    >>> check_weights([1, 0.25], n_classes=2)
    array([1.  , 0.25])
    """
    raw = np.asarray(weights)
    if raw.shape != (n_classes,) or raw.dtype.kind not in "iuf":
        raise InvalidInputError(
            f"weights must be {n_classes} numbers, one per class; got {raw.dtype} of shape "
            f"{raw.shape}",
            hint=f"Give {n_classes} weights above 0 and at most 1",
        )
    sound = (raw >= _LEAST_WEIGHT) & (raw <= 1)
    if not sound.all():
        bad = int(np.argmin(sound))
        raise InvalidInputError(
            f"weights[{bad}] is {raw[bad]}, outside {_LEAST_WEIGHT:g}..1",
            hint="Only ratios count: divide by the largest; no class can be switched off",
        )
    return raw.astype(np.float64)


def check_sample_weight(sample_weight: ArrayLike, *, n_examples: int) -> Floats:
    """Return sample weights as float64: finite, not negative, one per example, not all zero.

    Examples
    --------
    >>> check_sample_weight([1, 2.5], n_examples=2)
    array([1. , 2.5])
    """
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"sample_weight is not a vector of numbers: {error}", hint="Give one weight per example"
        ) from error
    if weight.shape != (n_examples,):
        raise InvalidInputError(
            f"sample_weight has shape {weight.shape}, but {n_examples} examples need "
            f"({n_examples},)",
            hint="Give one weight per example",
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or not (weight > 0).any():
        raise InvalidInputError(
            "sample_weight must be finite and 0 or more, and not all zero",
            hint="Leave sample_weight out to count every example once",
        )
    return weight


def check_number(
    name: str,
    value: float,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = _LARGEST,
) -> float:
    """Return a finite real setting within its range, or say what the range is.

    Without a bound of its own it is at most 10¹², beyond which sums and counts would overflow.

    Examples
    --------
    >>> check_number("beta", 2.7, at_least=0)
    2.7
    """
    number = _as_float(value)
    if math.isfinite(number) and at_least <= number <= at_most and number > above:
        return number
    bounds = [f"at least {at_least:g}"] if at_least > -math.inf else []
    bounds += [f"above {above:g}"] if above > -math.inf else []
    bounds += [f"at most {at_most:g}"] if at_most < _LARGEST or number > at_most else []
    raise InvalidInputError(
        f"{name} must be a finite number {' and '.join(bounds)}".rstrip() + f"; got {value!r}"
    )


def _as_float(value: object) -> float:
    """Return a real number as float, NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_integer(name: str, value: int, *, at_least: int, at_most: int | None = None) -> int:
    """Return a whole-number setting within its range, or say what the range is.

    Examples
    --------
    >>> check_integer("scale", 30, at_least=2)
    30
    """
    if (
        isinstance(value, int | np.integer)
        and not isinstance(value, bool)
        and value >= at_least
        and (at_most is None or value <= at_most)
    ):
        return int(value)
    upper = "" if at_most is None else f" and at most {at_most}"
    raise InvalidInputError(
        f"{name} must be a whole number of at least {at_least}{upper}; got {value!r}"
    )


def check_level(name: str, value: float) -> float:
    """Return a confidence level: between 0 and 1, and neither.

    Examples
    --------
    >>> check_level("confidence", 0.9)
    0.9
    """
    number = _as_float(value)
    if 0 < number < 1:
        return number
    raise InvalidInputError(
        f"{name} must lie between 0 and 1; got {value!r}", hint="Give 0.9 for 90 % intervals"
    )


def check_scale(scale: int) -> int:
    """Return the weight scale K: a whole number of at least 1.

    Examples
    --------
    >>> check_scale(30)
    30
    """
    return check_integer("scale", scale, at_least=1, at_most=MAX_SCALE)


def check_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return a setting that must be one of a few words.

    Examples
    --------
    >>> check_choice("solver", "anneal", ["anneal", "coordinate"])
    'anneal'
    """
    if value not in choices:
        raise InvalidInputError(f"{name} must be one of {', '.join(choices)}; got {value!r}")
    return value


def check_classes(classes: Sequence[str]) -> tuple[str, ...]:
    """Return class names: at least two, none empty, none twice.

    Examples
    --------
    >>> check_classes(["World", "Sports"])
    ('World', 'Sports')
    """
    if isinstance(classes, str):
        raise InvalidInputError(
            f"classes must be a sequence of names; got the single text {classes!r}",
            hint="Give a list, such as ['negative', 'positive']",
        )
    names = tuple(str(name) for name in classes)
    if len(names) < 2:
        raise InvalidInputError(
            f"at least 2 classes are needed; got {len(names)}: {', '.join(names) or 'none'}"
        )
    if any(not name.strip() for name in names):
        raise InvalidInputError(f"class names must not be empty; got {names!r}")
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise InvalidInputError(f"class names must differ; {', '.join(twice)} stand twice")
    if not all(is_storable(name) for name in names):
        raise InvalidInputError(
            f"class names must be valid Unicode without NUL characters; got {names!r}"
        )
    return names
