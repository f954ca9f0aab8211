"""Rows that belong together: groups that are named, and copies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Booleans, Floats, Integers, Labels, Probabilities
from dnip.tables.cells import check_vector, row_hashes, texts_of

# Rounding is at work where more rows than this share one number, but not all, with another row.
_BY_CHANCE = 0.01
# By chance, more different rows than this are not all there an even number of times.
_CHANCES = 10
# Rows times squared classes that are compared at most.
_MOST_PRODUCTS = 5_000_000
# What rounding to float64 leaves of a whole number.
_ROUNDING = 1e-6


def check_groups(groups: ArrayLike, n_rows: int) -> Integers:
    """Return the number of the group of each row, shape (M,); an empty one is a group of its own.

    Raises
    ------
    InvalidInputError
        For a wrong length, or a single group, of which nothing can be left out.

    Examples
    --------
    >>> check_groups(["b", "a", "b", None, ""], 5)
    array([1, 0, 1, 2, 3])
    """
    names = texts_of(check_vector("groups", groups, n_rows, np.object_))
    named = np.array([name is not None for name in names], np.bool_)
    numbers = np.zeros(n_rows, np.int64)
    numbers[named] = np.unique(names[named].astype(str), return_inverse=True)[1]
    numbers[~named] = numbers.max(initial=-1) + 1 + np.arange(np.count_nonzero(~named))
    if n_rows and not numbers.any():
        raise InvalidInputError(
            f"all rows are of one group, {names[0]!r}",
            hint="Give groups that divide the rows, or none",
        )
    return numbers


def first_of_groups(groups: NDArray[np.object_] | None, seen: set[str]) -> Booleans | slice:
    """Return which rows of a block are the first of their group; `seen` holds the groups so far.

    Examples
    --------
    >>> seen = {"a"}
    >>> first_of_groups(np.array(["b", None, "a", "b", None], object), seen), sorted(seen)
    (array([ True,  True, False, False,  True]), ['a', 'b'])
    """
    if groups is None:
        return slice(None)
    first = []
    for name in groups.tolist():
        first.append(name not in seen)
        if name is not None:
            seen.add(name)
    return np.array(first, np.bool_)


def is_quick(n_rows: int, n_classes: int) -> bool:
    """Tell whether rows are so few that they can be compared with one another.

    Examples
    --------
    >>> is_quick(10_000, 4), is_quick(1_000_000, 4)
    (True, False)
    """
    return n_rows * n_classes**2 <= _MOST_PRODUCTS


def find_copies(probabilities: Probabilities, labels: Labels) -> Integers | None:
    """Return groups of rows that are equal in all probabilities and in label; None without any.

    Rounded probabilities and votes are equal by chance. There, many rows share one number but not
    all, and rows count as copies only where each is there the same number of times, or a multiple.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 40)
    >>> twice, labels = np.repeat(p, 2, axis=0), np.repeat(rng.integers(3, size=40), 2)
    >>> [len(np.unique(find_copies(p, labels))) for p in (twice, twice.round(1))]
    [40, 40]
    >>> find_copies(twice[:-1].round(1), labels[:-1]) is None
    True
    """
    whole = np.column_stack([probabilities, labels])
    if len(np.unique(row_hashes(whole))) == len(whole):
        return None
    row = np.unique(whole, axis=0, return_inverse=True)[1].ravel()
    repeats = _find_repeats(row)
    certain = probabilities.max(axis=1) == 1  # no digits are left that could tell two rows apart
    row[certain] = row.max() + 1 + np.arange(np.count_nonzero(certain))
    row = np.unique(row, return_inverse=True)[1]
    if row.max() + 1 == len(row) or _are_rounded(probabilities):
        return repeats
    with np.errstate(all="ignore"):  # ratios of the tiniest may be infinite
        ratios = np.log(probabilities[:, 1:] / probabilities[:, :-1]).round(9)
    for numbers in (*probabilities.T, *ratios.T):
        tells = np.isfinite(numbers) & (numbers != 0) & ~certain
        if _count_shared(numbers[tells], row[tells]) > _BY_CHANCE * len(row):
            return repeats
    return np.asarray(row)


def _find_repeats(row: Integers) -> Integers | None:
    """Return groups of k equal rows each, where every row is there k times or a multiple of it."""
    times = np.gcd.reduce(np.bincount(row))
    if times == 1 or row.max() < _CHANCES:
        return None
    groups = np.empty_like(row)
    groups[np.argsort(row, kind="stable")] = np.arange(len(row)) // times
    return groups


def _are_rounded(probabilities: Probabilities) -> bool:
    """Return whether all are decimals of four digits, or votes of a hundred at most."""
    for n in (10_000, *range(1, 101)):
        multiples = probabilities * n
        if np.abs(multiples - np.rint(multiples)).max() < _ROUNDING:
            return True
    return False


def _count_shared(numbers: Floats, row: Integers) -> int:
    """Return how many rows share a number with a row that is not equal to them."""
    value = np.unique(numbers, return_inverse=True)[1]
    pairs = np.unique(np.column_stack([value, row]), axis=0)
    rows_with = np.bincount(pairs[:, 0])
    return int((rows_with[value] > 1).sum())


def sizes_of(groups: Integers | None) -> Floats | None:
    """Return how many rows are in the group of each row, shape (M,); None without groups."""
    return None if groups is None else np.bincount(groups)[groups].astype(np.float64)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Labelled rows of which some belong together.

    Attributes
    ----------
    n_rows, n_groups : int
        The latter counts rows that stand alone, too.
    counted : ndarray of shape (N,)
        Rows of each class, where the rows of a group count as one together.
    are_copies : bool
        Whether the groups are rows that are equal, found here; else they were named.
    """

    n_rows: int
    n_groups: int
    counted: Floats
    are_copies: bool

    @classmethod
    def of(
        cls,
        named: NDArray[np.object_] | None,
        probabilities: Probabilities | None,
        labels: Labels,
        n_classes: int,
    ) -> tuple[Self | None, Integers | None]:
        """Return the groups that were named, or else the copies there are; None where none are.

        Returns
        -------
        Grouping or None
        ndarray of shape (M,) or None
            The number of the group of each row.
        """
        groups = None
        if named is not None:
            groups = check_groups(named, len(labels))
        elif probabilities is not None and len(labels):
            groups = find_copies(probabilities, labels)
        if groups is None:
            return None, None
        counted = counted_rows_of(labels, n_classes, groups)
        return cls(len(labels), len(np.unique(groups)), counted, named is None), groups

    @property
    def sentence(self) -> str:
        """What it means for ranges.

        Examples
        --------
        >>> Grouping(400, 40, np.array([20.0, 20.0]), False).sentence
        'ranges are those of 40 groups: the rows of a group count as one'
        """
        if self.are_copies:
            copies = self.n_rows - self.n_groups
            return (
                f"{copies:,} of {self.n_rows:,} rows are copies of others, with the same "
                "probabilities and label: in ranges they count as one"
            )
        return f"ranges are those of {self.n_groups:,} groups: the rows of a group count as one"

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {"rows": self.n_rows, "groups": self.n_groups, "copies": self.are_copies}


def counted_rows_of(labels: Labels, n_classes: int, groups: Integers | None) -> Floats:
    """Return the rows of each class, shape (N,), where the rows of a group count as one together.

    Examples
    --------
    >>> counted_rows_of(np.array([0, 0, 1]), 2, np.array([0, 0, 1]))
    array([1., 1.])
    """
    sizes = sizes_of(groups)
    weights = np.ones(len(labels)) if sizes is None else 1 / sizes
    return np.asarray(np.bincount(labels, weights, n_classes), np.float64)
