"""The two best classes of every row, kept from one line search to the next.

A class's rival in a row is the best class, or the second-best if the class itself is the best. So
a line search need not read the row. After a step, only rows that lose one of their two leaders are
read whole.

Even one probability per row is a cache miss. So each class has a column of *grades*, one byte per
row that rises with the probability. A low grade says that the class cannot win the row; most rows
need no other look.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.jit import jit, lean
from dnip.solvers.kernels.levels import Levels, first_winning_index

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dnip.base.typing import (
        Booleans,
        Confusion,
        Floats,
        Integers,
        ShortIntegers,
        SmallIntegers,
    )
    from dnip.solvers.kernels.rows import InPlaceRows

    Grades = NDArray[np.uint8]

# A grade is made of the leading bits of a float64: there are eight grades per factor of 2. The
# highest is for 1.125 and more, the lowest for everything below 2⁻³¹.
_SHIFT, _LOWEST = 49, (1023 << 3) - 254


class Leaders(NamedTuple):
    """The best and the second-best class of each open row, and the grades of all classes."""

    first: SmallIntegers  # (R,)
    first_score: Floats  # (R,)
    second: SmallIntegers  # (R,)
    second_score: Floats  # (R,)
    to_lead: Grades  # (R,) the lowest grade of a class that can become the best at some index
    to_follow: Grades  # (R,) the lowest grade of a class that can become the second-best
    grade: Grades  # (N, R) of every class


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


@lean
def _grade(bits: int) -> np.uint8:
    """Grade a number of at least 0 by the bits of its float64; larger numbers are never lower."""
    return np.uint8(min(max((bits >> _SHIFT) - _LOWEST, 0), 255))


@jit
def grade(rows: InPlaceRows, leaders: Leaders) -> None:
    """Grade all classes of the open rows."""
    n_classes = rows.p.shape[1]
    p = np.empty(n_classes)
    bits = p.view(np.int64)
    for r in range(len(rows.row)):
        p[:] = rows.p[rows.row[r]]
        for n in range(n_classes):
            leaders.grade[n, r] = _grade(bits[n])


@lean
def _set_marks(r: int, most: float, room: Floats, bits: Integers, leaders: Leaders) -> None:
    """Set the grades that it takes to beat the leaders at the weight `most`.

    They are rounded down, because a class may tie with a leader.
    """
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
def rank(rows: InPlaceRows, weights: Floats, levels: Levels, leaders: Leaders) -> None:
    """Find the leaders of all open rows at weights of shape (N,)."""
    most = levels.weight[levels.size]
    room = np.empty(1)
    bits = room.view(np.int64)
    for r in range(len(rows.row)):
        _rank(rows, weights, r, leaders)
        _set_marks(r, most, room, bits, leaders)


@jit
def count_leaders(rows: InPlaceRows, leaders: Leaders) -> Confusion:
    """Count the open rows at the weights that the leaders belong to."""
    confusion = np.zeros_like(rows.settled)
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
def _mark(c: int, least: Grades, leaders: Leaders, concerned: Booleans) -> None:
    """Mark the rows where class `c` has at least the grade `least`, or is one of the leaders."""
    grades = leaders.grade[c]
    this = np.uint32(c)
    for r in range(len(concerned)):
        concerned[r] = (
            (grades[r] >= least[r]) | (leaders.first[r] == this) | (leaders.second[r] == this)
        )


@jit
def move_leaders(
    rows: InPlaceRows, weights: Floats, c: int, levels: Levels, leaders: Leaders
) -> None:
    """Update the leaders after the weight of class `c` alone has changed."""
    weight = weights[c]
    most = levels.weight[levels.size]
    room = np.empty(1)
    bits = room.view(np.int64)
    concerned = np.empty(len(rows.row), np.bool_)
    _mark(c, leaders.to_follow, leaders, concerned)
    for r in range(len(concerned)):
        if not concerned[r]:
            continue
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
def find_by_leaders(
    rows: InPlaceRows,
    c: int,
    levels: Levels,
    leaders: Leaders,
    row: SmallIntegers,
    rival: ShortIntegers,
    slot: ShortIntegers,
) -> int:
    """Find the flips of class `c`, and return how many there are.

    The table rows that flip, their rivals and the indices at which they flip are written to the
    beginnings of `row`, `rival` and `slot`.
    """
    n = 0
    most = levels.weight[levels.size]
    concerned = np.empty(len(rows.row), np.bool_)
    _mark(c, leaders.to_lead, leaders, concerned)
    for r in range(len(concerned)):
        if not concerned[r]:
            continue
        leads = leaders.first[r] == c
        m = rows.row[r]
        p = rows.p[m, c]
        score = leaders.second_score[r] if leads else leaders.first_score[r]
        if most * p >= score:  # otherwise the row never flips: products are in order of weights
            other = leaders.second[r] if leads else leaders.first[r]
            k = first_winning_index(p, score, c < other, levels)
            if k <= levels.size:
                row[n] = m
                rival[n] = other
                slot[n] = k
                n += 1
    return n
