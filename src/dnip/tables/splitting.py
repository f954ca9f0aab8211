"""Splits of rows into parts, and draws of a few rows, by seed."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Integers
from dnip.base.validation import check_integer, check_number

#: Draws of up to this many rows are class-balanced, larger ones uniform. The paper only says that
#: its smallest sets cover all classes.
BALANCED_UP_TO = 100


def row_numbers(rows: ArrayLike, n_rows: int, source: str) -> Integers:
    """Return the numbers of the rows that are asked for, by number or by one truth value per row.

    Raises
    ------
    InvalidInputError
        For anything else, and for a row that is not there.

    Examples
    --------
    >>> row_numbers([False, True, True], 3, "opt.csv"), row_numbers([2, 0], 3, "opt.csv")
    (array([1, 2]), array([2, 0]))
    """
    asked = np.asarray(rows)
    if asked.dtype == np.bool_ and asked.shape == (n_rows,):
        return np.flatnonzero(asked)
    numbers = asked.astype(np.int64) if asked.size == 0 else asked
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise InvalidInputError(
            f"rows must be row numbers or {n_rows} truth values; got {asked.dtype} of shape "
            f"{asked.shape}"
        )
    outside = (numbers < 0) | (numbers >= n_rows)
    if outside.any():
        raise InvalidInputError(
            f"row {numbers[np.argmax(outside)]} is outside 0..{n_rows - 1} of {source}",
            hint="Rows count from 0",
        )
    return numbers.astype(np.int64)


def split_rows(strata: Integers, fractions: Mapping[str, float], seed: int) -> dict[str, Integers]:
    """Divide the rows into named parts.

    The rows of each stratum are shuffled and spread evenly over the interval from 0 to 1; each
    part then takes an interval as long as its fraction. So the sizes of the parts are exact up
    to rounding, and every stratum is divided like the whole, up to one row at either end.

    Parameters
    ----------
    strata : ndarray of shape (M,)
        Rows with the same number are divided evenly.
    fractions : mapping of str to float
        Each above 0, 1 at most in all.
    seed : int
        Seed of the shuffle.

    Returns
    -------
    dict of str to ndarray
        Ascending row numbers of each part; no row is in two of them.

    Raises
    ------
    InvalidInputError
        For fractions out of range, or a part that would be empty.

    Examples
    --------
    >>> parts = split_rows(np.array([0, 0, 0, 0, 1, 1]), {"opt": 0.5, "dev": 0.5}, seed=0)
    >>> [len(rows) for rows in parts.values()]
    [3, 3]
    """
    check_integer("seed", seed, at_least=0)
    ends = _ends(fractions, len(strata))
    order = _even_order(strata, np.random.default_rng(seed))
    parts = {}
    start = 0
    for name, end in ends.items():
        if end == start:
            raise InvalidInputError(
                f"part {name} would be empty: {fractions[name]:g} of {len(strata)} rows is less "
                "than one row",
                hint="Give it a larger fraction, or a larger table",
            )
        parts[name] = np.sort(order[start:end])
        start = end
    return parts


def _ends(fractions: Mapping[str, float], n_rows: int) -> dict[str, int]:
    """Return where each part ends, in rows."""
    if not fractions:
        raise InvalidInputError("a split needs at least one part", hint='Give {"opt": 0.5, ...}')
    for name, fraction in fractions.items():
        check_number(f"fraction of part {name}", fraction, above=0, at_most=1)
    total = math.fsum(fractions.values())
    if total > 1 + 1e-9:
        raise InvalidInputError(
            f"the fractions of a split sum to {total:g}, which is more than 1",
            hint="Give fractions of the whole table",
        )
    ends: dict[str, int] = {}
    reached = 0.0
    for name, fraction in fractions.items():
        reached += fraction
        ends[name] = min(n_rows, math.floor(reached * n_rows + 0.5 + 1e-9))
    return ends


def _even_order(strata: Integers, rng: np.random.Generator) -> Integers:
    """Order rows so that each stratum is spread evenly."""
    position = np.empty(len(strata))
    for stratum in np.unique(strata):
        rows = np.flatnonzero(strata == stratum)
        position[rng.permutation(rows)] = (np.arange(len(rows)) + rng.random()) / len(rows)
    return np.argsort(position, kind="stable").astype(np.int64)


def draw_rows(labels: Integers, n_classes: int, n: int, seed: int, *, balanced: bool) -> Integers:
    """Draw rows without replacement.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class index of each row; only read for a balanced draw.
    n_classes : int
        Number of classes.
    n : int
        Rows to draw, from 1 to M.
    seed : int
        Seed of the draw.
    balanced : bool
        Draw as equally many of each class as there are; what a small class lacks is shared by
        the others. Otherwise every row is as likely as any other.

    Returns
    -------
    ndarray of shape (n,)
        Ascending row numbers.

    Raises
    ------
    InvalidInputError
        If there are fewer than `n` rows.

    Examples
    --------
    >>> rows = draw_rows(np.array([0, 0, 0, 0, 0, 1]), 2, 4, seed=0, balanced=True)
    >>> int((rows == 5).sum()), len(rows)
    (1, 4)
    """
    check_integer("seed", seed, at_least=0)
    check_integer("n", n, at_least=1)
    if n > len(labels):
        raise InvalidInputError(
            f"n is {n}, but there are only {len(labels)} rows to draw from",
            hint="Draw fewer rows; a table with labels gives only its labelled rows",
        )
    rng = np.random.default_rng(seed)
    if not balanced:
        return np.sort(rng.choice(len(labels), size=n, replace=False).astype(np.int64))
    quotas = _balanced_quotas(np.bincount(labels, minlength=n_classes), n, rng)
    drawn = [
        rng.choice(np.flatnonzero(labels == index), size=quota, replace=False)
        for index, quota in enumerate(quotas)
    ]
    return np.sort(np.concatenate(drawn).astype(np.int64))


def _balanced_quotas(available: Integers, n: int, rng: np.random.Generator) -> Integers:
    """Share `n` rows out among the classes as equally as their sizes allow."""
    quotas = np.zeros_like(available)
    while (left := n - int(quotas.sum())) > 0:
        open_classes = np.flatnonzero(quotas < available)
        share = left // len(open_classes)
        if share == 0:
            quotas[rng.choice(open_classes, size=left, replace=False)] += 1
        else:
            room = available[open_classes] - quotas[open_classes]
            quotas[open_classes] += np.minimum(share, room)
    return quotas
