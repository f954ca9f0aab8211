"""What searches of a whole front share: line searches that keep every point worth keeping."""

from __future__ import annotations

from types import NoneType
from typing import NamedTuple

import numpy as np

from dnip.base.typing import Confusion, Floats, Integers, ShortIntegers
from dnip.solvers.kernels.descent import Descent, Lines
from dnip.solvers.kernels.door import kernel
from dnip.solvers.kernels.flips import Flips, Workspace
from dnip.solvers.kernels.levels import Levels
from dnip.solvers.kernels.rows import Rows
from dnip.solvers.kernels.values import Memo, Terms


class Cells(NamedTuple):
    """The points kept: of those with about the same number correct, the one of lowest COBias."""

    cobias: Floats  # (C,) infinite where no point is kept
    correct: Integers  # (C,) examples predicted correctly
    indices: ShortIntegers  # (C, N)
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
    stay: bool  # visit each line once from where the point stands, instead of descending


def new_cells(total: int, n_classes: int, most: int) -> Cells:
    """Make room for at most about `most` points of `total` examples."""
    width = max(-(-total // most), 1)
    n_cells = total // width + 1
    return Cells(
        np.full(n_cells, np.inf),
        np.zeros(n_cells, np.int64),
        np.zeros((n_cells, n_classes), np.uint16),
        np.array([width], np.int64),
    )


#: Keep a point if it is the best of its cell.
offer = kernel("offer", NoneType, Cells, int, float, Floats, int, int, int)


#: Walk the line of a class, offer its points, and stop where the goal is best.
visit_line = kernel("visit_line", NoneType, Visit, Flips, Floats, Confusion, Integers, int)


#: Say whether the line of a class was never visited, and note that it is now.
is_new_line = kernel("is_new_line", int, Lines, Floats, int, int)


#: Visit the lines through a point, or descend from it, and return how many lines it took.
visit_lines = kernel("visit_lines", int, Visit, Rows, Levels, Workspace, Descent)
