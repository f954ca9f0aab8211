"""Rows that belong together: groups that are named, copies, and rows that were fitted."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
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


# Hashes of rows that are kept.
_MOST_HASHES = 500
# Where more rows than this part are equal to others by chance, ids tell rows apart.
_EQUAL_BY_CHANCE = 0.02
# Standard deviations beyond chance from which an overlap is one.
_SURE = 4.0
_LARGEST = 1 << 64


@dataclass(frozen=True, eq=False)
class FittedRows:
    """The rows of a fit, as the lowest of their hashes: what share of a table was fitted.

    A hash is that of the probabilities; of the id, too, where rounding makes many rows equal. No
    row can be read from it.

    Attributes
    ----------
    hashes : ndarray of uint64
        Ascending, without repeats.
    below : int
        Every row of the fit whose hash is below this is among them.
    by_id : bool
        Whether ids are hashed, too.
    chance : float
        How probably a row that was not fitted is equal to one that was.

    Examples
    --------
    >>> p = np.random.default_rng(0).dirichlet([1, 1, 1], 300)
    >>> fitted = FittedRows.of(p[:200], None)
    >>> overlap = Overlap(fitted)
    >>> overlap.add(p[100:], None)
    >>> overlap.share
    0.5
    """

    hashes: NDArray[np.uint64]
    below: int
    by_id: bool
    chance: float

    @classmethod
    def of(cls, probabilities: Probabilities, ids: NDArray[np.object_] | None) -> Self:
        """Return the sketch of some rows, with their ids if they have any."""
        found = row_hashes(probabilities)
        chance = _repeated(found)
        by_id = chance > _EQUAL_BY_CHANCE and ids is not None
        if by_id:
            found = _with_ids(found, ids)
            chance = 0.0
        found = np.unique(found)
        below = int(found[_MOST_HASHES]) if len(found) > _MOST_HASHES else _LARGEST
        return cls(found[:_MOST_HASHES], below, by_id, float(f"{chance:.3g}"))

    def to_dict(self) -> dict[str, Any]:
        """Return the sketch as a coefficients file holds it."""
        return {
            "hashes": base64.b64encode(self.hashes.astype("<u8").tobytes()).decode(),
            "below": f"{self.below:x}",
            "by_id": self.by_id,
            "chance": self.chance,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Return the sketch that `to_dict` wrote; ValueError, TypeError, KeyError for others."""
        hashes = np.frombuffer(base64.b64decode(content["hashes"], validate=True), "<u8")
        below, chance = int(content["below"], 16), float(content["chance"])
        if not 0 <= chance <= 1 or not len(hashes) or not int(hashes.max()) < below <= _LARGEST:
            raise ValueError("not hashes below a number")
        return cls(hashes.astype(np.uint64), below, bool(content["by_id"]), chance)


class Overlap:
    """Counts the rows of a stream that were fitted, as far as a sketch tells.

    Parameters
    ----------
    fitted : FittedRows
    """

    def __init__(self, fitted: FittedRows) -> None:
        self._fitted = fitted
        self.compared = self.found = 0

    def add(self, probabilities: Probabilities, ids: NDArray[np.object_] | None) -> None:
        """Compare some rows; where ids are hashed, rows without ids are not compared."""
        if self._fitted.by_id and ids is None:
            return
        found = row_hashes(probabilities)
        if self._fitted.by_id:
            found = _with_ids(found, ids)
        if self._fitted.below < _LARGEST:
            found = found[found < np.uint64(self._fitted.below)]
        self.compared += len(found)
        self.found += int(np.isin(found, self._fitted.hashes).sum())

    def join(self, other: Overlap) -> None:
        """Add the counts of other rows."""
        self.compared += other.compared
        self.found += other.found

    @property
    def share(self) -> float:
        """The share of the rows that were fitted, less what is equal by chance; 0 for none."""
        chance, n = self._fitted.chance, self.compared
        if self.found <= chance * n + _SURE * math.sqrt(chance * n):
            return 0.0
        return max(0.0, (self.found / n - chance) / (1 - chance))

    @property
    def sentence(self) -> str:
        """What share of the rows was fitted; empty where none was."""
        if not self.share:
            return ""
        about = "" if self._fitted.below == _LARGEST else "about "
        return (
            f"{about}{self.share:.0%} of these rows ({self.found:,} of {self.compared:,} compared) "
            "are rows of the fit: they say little of other rows"
        )


def _with_ids(hashes: NDArray[np.uint64], ids: NDArray[np.object_] | None) -> NDArray[np.uint64]:
    """Return hashes that also depend on the ids."""
    assert ids is not None
    digests = (hashlib.blake2b(name.encode(), digest_size=8).digest() for name in ids.tolist())
    return hashes ^ np.frombuffer(b"".join(digests), "<u8").astype(np.uint64)


def _repeated(hashes: NDArray[np.uint64]) -> float:
    """Return the share of the rows that are equal to another."""
    counts = np.unique(hashes, return_counts=True)[1]
    return float(counts[counts > 1].sum() / max(len(hashes), 1))
