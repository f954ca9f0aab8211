"""What searches of a whole front share: line searches that keep every point worth keeping.

A point is worth as much as its accuracy and its COBias; on the front stand those that no other
beats in both. The line search counts its K points anyway, so all of them are offered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.descent import Lines, find, keep, mix
from dnip.solvers.kernels.flips import Flips, Workspace, count, find_flips, walk
from dnip.solvers.kernels.jit import jit, lean
from dnip.solvers.kernels.levels import Levels, weights_at
from dnip.solvers.kernels.values import Memo, Terms, value

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers, ShortIntegers
    from dnip.solvers.kernels.rows import Rows

# COBias is a sum of rounded numbers: a point is lower by more than this, or it is not.
_SAME = 1e-12


class Cells(NamedTuple):
    """The points kept: of those with about the same number correct, the one of lowest COBias."""

    cobias: Floats  # (C,) infinite where no point is kept
    correct: Integers  # (C,) examples predicted correctly
    indices: ShortIntegers  # (C, N)
    origin: Integers  # (C,) number of the start that the point was found from
    width: Integers  # (1,) of a cell, in examples predicted correctly


class Scalarisation(NamedTuple):
    """What a descent minimises: a sum of terms, and the greater of two distances from a corner."""

    error: float  # factors of the sum
    cobias: float
    tau: float = 0.0
    error_beyond: float = 0.0  # factors of the distances (Tchebycheff): 0 leaves them out
    cobias_beyond: float = 0.0
    error_corner: float = 0.0  # where these are measured from
    cobias_corner: float = 0.0


class FrontTerms(NamedTuple):
    """The terms that a front needs, COBias and PMI, ready to be computed from counts."""

    cobias: Terms
    pmi: Terms  # with a τ of 1, so that the value is -ΣPMI
    cobias_memo: Memo
    pmi_memo: Memo


class Visit(NamedTuple):
    """What to do on each line that is visited."""

    terms: FrontTerms
    goal: Scalarisation
    cells: Cells
    lines: Lines  # visited before: with `stay` they are left out
    origin: int  # number of the start that points are found from
    stay: bool  # visit each line once from where the point stands, instead of descending


def new_cells(total: int, n_classes: int, most: int) -> Cells:
    """Make room for at most about `most` points of `total` examples."""
    width = max(-(-total // most), 1)
    n_cells = total // width + 1
    return Cells(
        np.full(n_cells, np.inf),
        np.zeros(n_cells, np.int64),
        np.zeros((n_cells, n_classes), np.uint16),
        np.zeros(n_cells, np.int64),
        np.array([width]),
    )


@lean
def offer(
    cells: Cells, correct: int, cobias: float, indices: Floats, c: int, k: int, origin: int
) -> None:
    """Keep the point `indices`, class `c` standing at `k`, if it is the best of its cell."""
    cell = correct // cells.width[0]
    lower = cells.cobias[cell] - cobias
    if lower > _SAME or (lower >= -_SAME and correct > cells.correct[cell]):
        cells.cobias[cell] = cobias
        cells.correct[cell] = correct
        cells.origin[cell] = origin
        for n in range(len(indices)):
            cells.indices[cell, n] = int(indices[n])
        cells.indices[cell, c] = k


@lean
def visit_line(
    visit: Visit, flips: Flips, indices: Floats, confusion: Confusion, predicted: Integers, c: int
) -> None:
    """Walk the line of class `c`, offer its points, and stop where the goal is best.

    Indices and counts change in place. A class that already stands at one of its best indices
    stays there; otherwise it goes to the lowest of them. With `stay` it stays in any case.
    """
    terms, goal, cells, _, origin, stay = visit
    scale = len(flips.start) - 2
    total = terms.cobias_memo.total
    now = int(indices[c])
    walk(flips, c, now, 1, confusion, predicted)
    best = 1
    best_value = np.inf
    here = np.inf
    now_value = np.inf
    for k in range(1, scale + 1):
        if k == 1 or flips.start[k] < flips.start[k + 1]:
            if k > 1:
                walk(flips, c, k - 1, k, confusion, predicted)
            correct = 0
            for j in range(len(predicted)):
                correct += confusion[j, j]
            cobias = value(confusion, predicted, terms.cobias, terms.cobias_memo)
            offer(cells, correct, cobias, indices, c, k, origin)
            if stay:
                continue
            error = 1.0 - correct / total
            here = goal.error * error + goal.cobias * cobias
            here += max(
                goal.error_beyond * (error - goal.error_corner),
                goal.cobias_beyond * (cobias - goal.cobias_corner),
            )
            if goal.tau != 0.0:
                here += goal.tau * value(confusion, predicted, terms.pmi, terms.pmi_memo)
            if here < best_value:
                best = k
                best_value = here
        if k == now:
            now_value = here
    if stay or now_value <= best_value:
        best = now
    walk(flips, c, scale, best, confusion, predicted)
    indices[c] = best


@jit
def is_new_line(lines: Lines, indices: Floats, c: int) -> bool:
    """Say whether the line of class `c` was never visited, and note that it is now."""
    key = mix(c, 0)
    for n in range(len(indices)):
        if n != c:
            key ^= mix(n, int(indices[n]))
    slot = find(lines, key)
    if lines.key[slot] == key:
        return False
    keep(lines, slot, key, 0, 0.0)
    return True


@jit
def visit_lines(
    visit: Visit, rows: Rows, levels: Levels, workspace: Workspace, indices: Floats, order: Integers
) -> int:
    """Visit the lines through a point, or descend from it, and return how many lines it took.

    Parameters
    ----------
    visit : Visit
    indices : ndarray of shape (N,)
        Where to start; a descent changes it in place.
    order : ndarray
        The classes whose lines to visit. A descent goes round and round through them until a
        whole round moves none.
    """
    confusion = count(rows, weights_at(levels, indices))
    predicted = confusion.sum(axis=0)
    n_lines = 0
    unmoved = 0
    turn = 0
    while unmoved < len(order):
        c = order[turn % len(order)]
        turn += 1
        unmoved += 1
        if not is_new_line(visit.lines, indices, c) and visit.stay:
            continue
        find_flips(rows, weights_at(levels, indices), c, levels, workspace)
        now = indices[c]
        visit_line(visit, workspace.flips, indices, confusion, predicted, c)
        n_lines += 1
        if indices[c] != now:
            unmoved = 1
    return n_lines
