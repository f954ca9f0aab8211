"""Flips of one class over any ascending weights; a line may have weights of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.solvers.kernels.flips import list_sparse_flips
from dnip.solvers.kernels.jit import jit

if TYPE_CHECKING:
    from dnip.base.typing import Floats
    from dnip.solvers.kernels.flips import Workspace
    from dnip.solvers.kernels.rows import SparseRows


@jit
def first_winning_level(p: float, rival_score: float, ties_win: bool, levels: Floats) -> int:
    """Return the first position 1..L whose level times p beats `rival_score`, or L + 1.

    Products never fall as levels rise, even rounded ones. So bisection finds the position.
    """
    low, high = 0, len(levels)
    while low < high:
        middle = (low + high) // 2
        score = levels[middle] * p
        if (score > rival_score) | (ties_win & (score == rival_score)):
            high = middle
        else:
            low = middle + 1
    return low + 1


@jit
def find_level_flips(rows: SparseRows, c: int, levels: Floats, workspace: Workspace) -> None:
    """Find the flips of class `c`; the workspace holds the rivals and their scores."""
    first = rows.class_start[c]
    for i in range(rows.class_start[c + 1] - first):
        ties_win = c < workspace.rival[i]
        workspace.slot[i] = first_winning_level(
            rows.class_p[first + i], workspace.score[i], ties_win, levels
        )
    list_sparse_flips(rows, c, len(levels), workspace)
