"""The two best classes of every row at a standing point: a line search need not look further.

A class's rival in a row is the best class, or the second where it leads the row itself. Both are
kept from one line search to the next; only rows that lose one of the two are ranked again.

Even one probability per row is far apart in memory from that of the next row. So each class has a
column of *grades*, one byte per row that rises with the probability: most rows are passed by
because the class's grade there is below what it takes to win.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.flips import Flips, add_flip, end_flips, start_flips
from dnip.solvers.kernels.jit import jit, lean
from dnip.solvers.kernels.levels import Levels, first_winning_index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dnip.base.typing import Booleans, Confusion, Floats, Integers, SmallIntegers
    from dnip.solvers.kernels.rows import InPlaceRows

    Grades = NDArray[np.uint8]

# Eight grades per factor of 2, the leading bits of a float64; the highest is that of 1.125 and
# more, the lowest that of all below 2⁻³¹.
_SHIFT, _LOWEST = 49, (1023 << 3) - 254


class Leaders(NamedTuple):
    """The best and the second-best class of each open row, and grades."""

    first: SmallIntegers  # (R,)
    first_score: Floats  # (R,)
    second: SmallIntegers  # (R,)
    second_score: Floats  # (R,)
    to_lead: Grades  # (R,) least grade of a class that can become the best at some index
    to_follow: Grades  # (R,) least grade of a class that can become the second-best
    grade: Grades  # (N, R) of every class


class FlipList(NamedTuple):
    """Flips as they are found: open rows, and the indices at which they flip."""

    position: SmallIntegers  # (R,)
    slot: SmallIntegers  # (R,)


def new_leaders(n_rows: int, n_classes: int) -> Leaders:
    """Make room for the leaders of `n_rows` open rows."""
    return Leaders(
        np.empty(n_rows, np.uint32),
        np.empty(n_rows),
        np.empty(n_rows, np.uint32),
        np.empty(n_rows),
        np.empty(n_rows, np.uint8),
        np.empty(n_rows, np.uint8),
        np.empty((n_classes, n_rows), np.uint8),
    )


def new_flip_list(n_rows: int) -> FlipList:
    """Make room for the flips of `n_rows` open rows."""
    return FlipList(np.empty(n_rows, np.uint32), np.empty(n_rows, np.uint32))


@lean
def _grade(bits: int) -> np.uint8:
    """Grade a number of at least 0 by the bits of its float64: larger ones are never lower."""
    return np.uint8(min(max((bits >> _SHIFT) - _LOWEST, 0), 255))


@jit
def grade(rows: InPlaceRows, first: int, last: int, leaders: Leaders) -> None:
    """Grade all classes of the open rows first..last - 1."""
    n_classes = rows.p.shape[1]
    p = np.empty(n_classes)
    bits = p.view(np.int64)
    for r in range(first, last):
        p[:] = rows.p[rows.row[r]]
        for n in range(n_classes):
            leaders.grade[n, r] = _grade(bits[n])


@lean
def _set_marks(r: int, most: float, room: Floats, bits: Integers, leaders: Leaders) -> None:
    """Grade what it takes to beat the leaders at `most`; rounded down, for they may tie."""
    room[0] = leaders.first_score[r] / most * (1 - 1e-15)
    leaders.to_lead[r] = _grade(bits[0])
    room[0] = leaders.second_score[r] / most * (1 - 1e-15)
    leaders.to_follow[r] = _grade(bits[0])


@lean
def _rank(rows: InPlaceRows, weights: Floats, r: int, leaders: Leaders) -> None:
    p = rows.p[rows.row[r]]
    first = second = np.uint32(0)
    best = second_best = -1.0
    for j in range(len(weights)):
        score = weights[j] * p[j]
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
def rank(
    rows: InPlaceRows, weights: Floats, levels: Levels, first: int, last: int, leaders: Leaders
) -> None:
    """Find the leaders of the open rows first..last - 1 at weights of shape (N,)."""
    most = levels.weight[levels.size]
    room = np.empty(1)
    bits = room.view(np.int64)
    for r in range(first, last):
        _rank(rows, weights, r, leaders)
        _set_marks(r, most, room, bits, leaders)


@jit
def count_leaders(rows: InPlaceRows, leaders: Leaders) -> Confusion:
    """Count all rows where the leaders stand."""
    confusion = rows.settled.copy()
    weighted = len(rows.mass) > 1
    for r in range(len(rows.row)):
        m = rows.row[r]
        confusion[rows.label[m], leaders.first[r]] += rows.mass[m if weighted else 0]
    return confusion


@lean
def _beats(score: float, c: int, other_score: float, other: int) -> bool:
    """Whether class `c` is ahead of another one: the lower class on a tie."""
    return score > other_score or (score == other_score and c < other)


@lean
def _mark(c: int, least: Grades, first: int, leaders: Leaders, concerned: Booleans) -> None:
    """Mark the open rows from `first` on where class `c` is graded high enough, or leads now."""
    last = first + len(concerned)
    grades = leaders.grade[c, first:last]
    best, second = leaders.first[first:last], leaders.second[first:last]
    this = np.uint32(c)
    for i in range(len(concerned)):
        concerned[i] = (grades[i] >= least[i]) | (best[i] == this) | (second[i] == this)


@jit
def move_leaders(
    rows: InPlaceRows,
    weights: Floats,
    c: int,
    levels: Levels,
    first: int,
    last: int,
    leaders: Leaders,
) -> None:
    """Bring the leaders of the open rows first..last - 1 to `weights`, where only `c` is new."""
    weight = weights[c]
    most = levels.weight[levels.size]
    room = np.empty(1)
    bits = room.view(np.int64)
    concerned = np.empty(last - first, np.bool_)
    _mark(c, leaders.to_follow[first:last], first, leaders, concerned)
    for i in range(len(concerned)):
        if not concerned[i]:
            continue
        r = first + i
        best, second = leaders.first[r], leaders.second[r]
        score = weight * rows.p[rows.row[r], c]
        if c == best:
            if _beats(score, c, leaders.second_score[r], second):
                leaders.first_score[r] = score
            else:
                _rank(rows, weights, r, leaders)
        elif c == second and score < leaders.second_score[r]:
            _rank(rows, weights, r, leaders)
        elif _beats(score, c, leaders.first_score[r], best):
            leaders.second[r] = best
            leaders.second_score[r] = leaders.first_score[r]
            leaders.first[r] = c
            leaders.first_score[r] = score
        elif c == second or _beats(score, c, leaders.second_score[r], second):
            leaders.second[r] = c
            leaders.second_score[r] = score
        else:
            continue
        _set_marks(r, most, room, bits, leaders)


@jit
def list_flips(
    rows: InPlaceRows,
    c: int,
    levels: Levels,
    first: int,
    last: int,
    leaders: Leaders,
    flip_list: FlipList,
) -> int:
    """List the flips of class `c` among the open rows first..last - 1.

    They are listed from place `first` on; returned is how many they are.
    """
    n = first
    most = levels.weight[levels.size]
    concerned = np.empty(last - first, np.bool_)
    _mark(c, leaders.to_lead[first:last], first, leaders, concerned)
    for i in range(len(concerned)):
        if not concerned[i]:
            continue
        r = first + i
        leads = leaders.first[r] == c
        p = rows.p[rows.row[r], c]
        score = leaders.second_score[r] if leads else leaders.first_score[r]
        if most * p >= score:  # products keep the order of weights: others never flip
            rival = leaders.second[r] if leads else leaders.first[r]
            k = first_winning_index(p, score, c < rival, levels)
            if k <= levels.size:
                flip_list.position[n] = r
                flip_list.slot[n] = k
                n += 1
    return n - first


@lean
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
