"""The two best classes of every row at a standing point: a line search need not look further.

A class's rival in a row is the best class, or the second where it leads the row itself. Both are
kept from one line search to the next; only rows that lose one of the two are ranked again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.kernels.flips import Flips, add_flip, end_flips, first_winning_index, start_flips
from dnip.kernels.jit import jit

if TYPE_CHECKING:
    from dnip.kernels.rows import InPlaceRows
    from dnip.typing import Confusion, Floats, SmallIntegers


class Leaders(NamedTuple):
    """The best and the second-best class of each open row."""

    first: SmallIntegers  # (R,)
    first_score: Floats  # (R,)
    second: SmallIntegers  # (R,)
    second_score: Floats  # (R,)


class FlipList(NamedTuple):
    """Flips as they are found: open rows, and the indices at which they flip."""

    position: SmallIntegers  # (R,)
    slot: SmallIntegers  # (R,)


def new_leaders(n_rows: int) -> Leaders:
    """Make room for the leaders of `n_rows` open rows."""
    return Leaders(
        np.empty(n_rows, np.uint32),
        np.empty(n_rows),
        np.empty(n_rows, np.uint32),
        np.empty(n_rows),
    )


def new_flip_list(n_rows: int) -> FlipList:
    """Make room for the flips of `n_rows` open rows."""
    return FlipList(np.empty(n_rows, np.uint32), np.empty(n_rows, np.uint32))


@jit
def _rank(rows: InPlaceRows, indices: Floats, r: int, leaders: Leaders) -> None:
    p = rows.p[rows.row[r]]
    first = second = np.uint32(0)
    best = second_best = -1.0
    for j in range(len(indices)):
        score = indices[j] * p[j]
        if score > second_best:
            if score > best:
                second, second_best = first, best
                first, best = np.uint32(j), score
            else:
                second, second_best = np.uint32(j), score
    leaders.first[r] = first
    leaders.first_score[r] = best
    leaders.second[r] = second
    leaders.second_score[r] = second_best


@jit
def rank(rows: InPlaceRows, indices: Floats, first: int, last: int, leaders: Leaders) -> None:
    """Find the leaders of the open rows first..last - 1 at weight indices of shape (N,)."""
    for r in range(first, last):
        _rank(rows, indices, r, leaders)


@jit
def count_leaders(rows: InPlaceRows, first: int, last: int, leaders: Leaders) -> Confusion:
    """Count the open rows first..last - 1 where the leaders stand."""
    n_classes = rows.p.shape[1]
    confusion = np.zeros((n_classes, n_classes), np.int64)
    weighted = len(rows.mass) > 1
    for r in range(first, last):
        m = rows.row[r]
        confusion[rows.label[m], leaders.first[r]] += rows.mass[m if weighted else 0]
    return confusion


@jit
def _beats(score: float, c: int, other_score: float, other: int) -> bool:
    """Whether class `c` is ahead of another one: the lower class on a tie."""
    return score > other_score or (score == other_score and c < other)


@jit
def move_leaders(
    rows: InPlaceRows, indices: Floats, c: int, first: int, last: int, leaders: Leaders
) -> None:
    """Bring the leaders of the open rows first..last - 1 to `indices`, where only `c` is new."""
    index = indices[c]
    for r in range(first, last):
        score = index * rows.p[rows.row[r], c]
        best, second = leaders.first[r], leaders.second[r]
        if c == best:
            if _beats(score, c, leaders.second_score[r], second):
                leaders.first_score[r] = score
            else:
                _rank(rows, indices, r, leaders)
        elif c == second and score < leaders.second_score[r]:
            _rank(rows, indices, r, leaders)
        elif _beats(score, c, leaders.first_score[r], best):
            leaders.second[r] = best
            leaders.second_score[r] = leaders.first_score[r]
            leaders.first[r] = c
            leaders.first_score[r] = score
        elif c == second or _beats(score, c, leaders.second_score[r], second):
            leaders.second[r] = c
            leaders.second_score[r] = score


@jit
def list_flips(
    rows: InPlaceRows,
    c: int,
    scale: int,
    first: int,
    last: int,
    leaders: Leaders,
    flip_list: FlipList,
) -> int:
    """List the flips of class `c` among the open rows first..last - 1.

    They are listed from place `first` on; returned is how many they are.
    """
    n = first
    for r in range(first, last):
        p = rows.p[rows.row[r], c]
        leads = leaders.first[r] == c
        score = leaders.second_score[r] if leads else leaders.first_score[r]
        if scale * p >= score:  # products keep the order of indices: others never flip
            rival = leaders.second[r] if leads else leaders.first[r]
            k = first_winning_index(p, score, c < rival, scale)
            if k <= scale:
                flip_list.position[n] = r
                flip_list.slot[n] = k
                n += 1
    return n - first


@jit
def sort_flips(
    rows: InPlaceRows,
    c: int,
    scale: int,
    leaders: Leaders,
    flip_list: FlipList,
    n_flips: int,
    flips: Flips,
) -> None:
    """Put the first `n_flips` flips of a list in order of index."""
    start_flips(flip_list.slot, n_flips, scale, flips.start)
    weighted = len(rows.mass) > 1
    for i in range(n_flips):
        r = flip_list.position[i]
        m = rows.row[r]
        rival = leaders.second[r] if leaders.first[r] == c else leaders.first[r]
        mass = rows.mass[m if weighted else 0]
        add_flip(flips, flip_list.slot[i], rows.label[m], rival, mass)
    end_flips(scale, flips.start)
