"""Flips of one class over any ascending weights, at positions 1..L, made anew for a line."""

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
    """Position of the lowest level for which level·p beats `rival_score`; L + 1 if none does.

    A product never falls as the level rises, rounding included, so halving finds it.
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
    """Find the flips of class `c`, whose rivals and their scores stand in the workspace."""
    first = rows.class_start[c]
    for i in range(rows.class_start[c + 1] - first):
        ties_win = c < workspace.rival[i]
        workspace.slot[i] = first_winning_level(
            rows.class_p[first + i], workspace.score[i], ties_win, levels
        )
    list_sparse_flips(rows, c, len(levels), workspace)
