"""The one door for input: arrays and settings are checked here once, then trusted inside."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dnip.errors import DNIPWarning, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dnip.typing import Floats, Integers, Labels, Probabilities

#: Rows whose sum is off by more than this are normalised; closer ones are left as they are, so
#: that ties between printed probabilities stay ties.
ROW_SUM_TOLERANCE = 1e-6

#: Largest weight scale K: beyond it neighbouring weights no longer differ in any real decision.
MAX_SCALE = 10_000


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
    probabilities: ArrayLike, *, place: Place | None = None, warn: bool = True
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
        p = np.ascontiguousarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError) as error:
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
    sums = p.sum(axis=1)
    if not np.isfinite(sums).all() or (p < 0).any():
        _refuse_cell(p, place)
    if (sums <= 0).any():
        row = int(np.argmax(sums <= 0))
        raise InvalidInputError(
            f"{place.cell(row)}: all class probabilities are 0",
            hint="Drop the row, or give the probabilities of a model that ranks the classes",
        )
    off = np.abs(sums - 1) > ROW_SUM_TOLERANCE
    if off.any():
        if warn:
            first = int(np.argmax(off))
            warnings.warn(
                f"{place.whole()}: {int(off.sum())} of {len(p)} rows did not sum to 1 and were "
                f"normalised (the first is {place.cell(first)}, sum {sums[first]:.6g})",
                DNIPWarning,
                stacklevel=2,
            )
        p = np.where(off[:, None], p / sums[:, None], p)
    return p


def _refuse_cell(p: Probabilities, place: Place) -> None:
    """Raise for the first entry that is NaN, infinite or negative; for a sum that overflows."""
    bad = ~np.isfinite(p) | (p < 0)
    if not bad.any():
        row = int(np.argmax(~np.isfinite(p.sum(axis=1))))
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


def check_labels(
    labels: ArrayLike, *, n_examples: int, n_classes: int, place: Place | None = None
) -> Labels:
    """Return labels as int64 class indices.

    Parameters
    ----------
    labels : array-like of shape (M,)
        Class indices 0..N-1, whole numbers of any type.
    n_examples, n_classes : int
        M and N of the probabilities that the labels belong to.
    place : Place, optional
        How to name a row in a message.

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
    y = raw.astype(np.int64)
    outside = (y < 0) | (y >= n_classes)
    if outside.any():
        row = int(np.argmax(outside))
        raise InvalidInputError(
            f"{place.cell(row)}: label {y[row]} is outside 0..{n_classes - 1}",
            hint=f"There are {n_classes} classes; labels count from 0",
        )
    return y


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


def check_sample_weight(sample_weight: ArrayLike, *, n_examples: int) -> Floats:
    """Return sample weights as float64: finite, not negative, one per example, not all zero.

    Examples
    --------
    >>> check_sample_weight([1, 2.5], n_examples=2)
    array([1. , 2.5])
    """
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_examples,):
        raise InvalidInputError(
            f"sample_weight has shape {weight.shape}, but {n_examples} examples need "
            f"({n_examples},)",
            hint="Give one weight per example",
        )
    if not np.isfinite(weight).all() or (weight < 0).any() or not (weight > 0).any():
        raise InvalidInputError(
            "sample_weight must be finite, 0 or more, and positive somewhere",
            hint="Leave sample_weight out to count every example once",
        )
    return weight


def check_number(
    name: str,
    value: float,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
) -> float:
    """Return a finite real setting within its range, or say what the range is.

    Examples
    --------
    >>> check_number("beta", 2.7, at_least=0)
    2.7
    """
    number = isinstance(value, int | float | np.integer | np.floating)
    if number and not isinstance(value, bool) and math.isfinite(value):
        if value >= at_least and value > above and value <= at_most:
            return float(value)
    bounds = [f"at least {at_least:g}"] if at_least > -math.inf else []
    bounds += [f"above {above:g}"] if above > -math.inf else []
    bounds += [f"at most {at_most:g}"] if at_most < math.inf else []
    raise InvalidInputError(
        f"{name} must be a finite number {' and '.join(bounds)}".rstrip() + f"; got {value!r}"
    )


def check_integer(name: str, value: int, *, at_least: int, at_most: int | None = None) -> int:
    """Return a whole-number setting within its range, or say what the range is.

    Examples
    --------
    >>> check_integer("scale", 30, at_least=2)
    30
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if value >= at_least and (at_most is None or value <= at_most):
            return int(value)
    upper = "" if at_most is None else f" and at most {at_most}"
    raise InvalidInputError(
        f"{name} must be a whole number of at least {at_least}{upper}; got {value!r}"
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
    names = tuple(str(name) for name in classes)
    if len(names) < 2:
        raise InvalidInputError(
            f"at least 2 classes are needed; got {len(names)}: {', '.join(names) or 'none'}"
        )
    if any(not name.strip() for name in names):
        raise InvalidInputError(f"class names must not be empty; got {names!r}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInputError(f"class names must differ; {', '.join(twice)} stand twice")
    return names
