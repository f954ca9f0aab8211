"""Rows that belong together: several answers to one prompt, paraphrases of one text, copies."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.arrays import check_vector
from dnip.base.errors import InvalidInputError
from dnip.base.typing import Booleans, Floats, Integers, Labels, Probabilities

# Rounding is at work where more rows than this share one number, but not all, with another row.
_BY_CHANCE = 0.01
# By chance, more different rows than this are not all there an even number of times.
_CHANCES = 10
# What rounding to float64 leaves of a whole number.
_ROUNDING = 1e-6


def check_groups(groups: ArrayLike, n_rows: int) -> Integers:
    """Return the number of the group of each row, shape (M,).

    Raises
    ------
    InvalidInputError
        For a wrong length, or a single group, which no fold can leave out.

    Examples
    --------
    >>> check_groups(["b", "a", "b"], 3)
    array([1, 0, 1])
    """
    names = check_vector("groups", groups, n_rows, np.object_)
    numbers = np.unique([str(name) for name in names], return_inverse=True)[1]
    if len(numbers) and not numbers.any():
        raise InvalidInputError(
            f"all rows are of one group, {names[0]!r}, which leaves fewer than two folds",
            hint="Give groups that divide the rows, or none",
        )
    return np.asarray(numbers)


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
        if _shared(numbers[tells], row[tells]) > _BY_CHANCE * len(row):
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
        parts = probabilities * n
        if np.abs(parts - np.rint(parts)).max() < _ROUNDING:
            return True
    return False


def _shared(numbers: Floats, row: Integers) -> int:
    """Return how many rows share a number with a row that is not equal to them."""
    value = np.unique(numbers, return_inverse=True)[1]
    pairs = np.unique(np.column_stack([value, row]), axis=0)
    rows_with = np.bincount(pairs[:, 0])
    return int((rows_with[value] > 1).sum())


def sizes_of(groups: Integers) -> Floats:
    """Return how many rows are in the group of each row, shape (M,)."""
    return np.bincount(groups)[groups].astype(np.float64)


def folds_of(
    labels: Labels, n_folds: int, seed: int, groups: Integers | None = None
) -> list[Booleans]:
    """Divide rows into folds that each get an even share of every class.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    n_folds : int
        A fold lacks a class only if the class has fewer rows than there are folds.
    seed : int
    groups : ndarray of shape (M,), optional
        Rows of one group lie in one fold; the group counts for the class of its first row.

    Returns
    -------
    list of ndarray of shape (M,)
        Whether each row is in the fold. Folds are left out without which two classes could not be
        fitted, and those without rows.

    Examples
    --------
    >>> [np.flatnonzero(fold).tolist() for fold in folds_of(np.array([0, 0, 1, 1, 1, 1]), 2, 0)]
    [[1, 3, 4], [0, 2, 5]]
    """
    first, member = np.arange(len(labels)), np.arange(len(labels))
    if groups is not None:
        first, member = np.unique(groups, return_index=True, return_inverse=True)[1:]
    rng = np.random.default_rng(seed)
    number = np.empty(len(first), np.int64)
    for c in np.unique(labels[first]):
        members = np.flatnonzero(labels[first] == c)
        number[members] = (rng.permutation(len(members)) + rng.integers(n_folds)) % n_folds
    folds = [number[member] == fold for fold in range(n_folds)]
    return [fold for fold in folds if fold.any() and len(np.unique(labels[~fold])) >= 2]
