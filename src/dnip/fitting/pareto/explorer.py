"""The state of the search of a front: the lines visited and the best points found."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from dnip.method.objective import Objective
from dnip.metrics import cobias
from dnip.solvers.kernels.descent import new_lines
from dnip.solvers.kernels.fronts import (
    FrontTerms,
    Scalarisation,
    Visit,
    is_new_line,
    new_cells,
    offer,
    visit_line,
    visit_lines,
)
from dnip.solvers.kernels.values import new_memo
from dnip.solvers.landscape import compile_terms, levels_of
from dnip.solvers.passes import Passes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dnip.base.typing import Booleans, Confusion, Floats, Integers, WeightIndices
    from dnip.method.problem import Problem
    from dnip.method.scales import WeightScale

# Points kept at most, which resolves accuracy to a ten-thousandth.
_MOST = 10_000
# COBias is a sum of rounded numbers: lower means lower by more than this.
_SAME = 1e-12


class Explorer:
    """Weight indices of one problem, and the best points among all that were visited.

    Parameters
    ----------
    problem : Problem
    scale : WeightScale
        Linear or log.
    smoothing : float, optional
        μ of the PMI term.
    held : mapping of int to int
        Classes whose index is fixed, and the index.
    expected : int
        About how many lines will be visited.

    Attributes
    ----------
    free : ndarray
        The classes that are not held.
    n_lines : int
        Lines visited so far.
    deadline : float or None
        A reading of ``time.perf_counter`` at which a descent over many rows stops.
    """

    def __init__(
        self,
        problem: Problem,
        scale: WeightScale,
        smoothing: float | None,
        held: Mapping[int, int],
        expected: int,
    ) -> None:
        self.scale = scale
        self.free = np.array([c for c in range(problem.n_classes) if c not in held], np.int64)
        self.n_lines = 0
        self.deadline: float | None = None
        self._held = dict(held)
        self._levels = levels_of(scale)
        self._passes = Passes(problem, self._levels)
        gap = compile_terms(Objective(terms=("cobias",), beta=1.0), problem)
        pmi = compile_terms(Objective(terms=("pmi",), tau=1.0, smoothing=smoothing), problem)
        self._terms = FrontTerms(
            gap,
            pmi,
            new_memo(problem.class_counts, gap.smoothing),
            new_memo(problem.class_counts, pmi.smoothing),
        )
        self.total = int(problem.class_counts.sum())
        self._cells = new_cells(self.total, problem.n_classes, _MOST)
        self._lines = new_lines(expected)
        self._looked = np.zeros_like(self._cells.indices)  # points whose neighbours were visited

    def equal_weights(self) -> Floats:
        """Return the indices of the plain argmax."""
        return self.hold(np.full(len(self._cells.indices[0]), float(self.scale.size)))

    def hold(self, indices: WeightIndices | Floats) -> Floats:
        """Return a copy of weight indices in which held classes have their fixed index."""
        here = np.array(indices, np.float64)
        for c, index in self._held.items():
            here[c] = index
        return here

    def offer(self, indices: Floats, origin: int) -> None:
        """Count one point, and keep it if it is good."""
        confusion = self._passes.count(indices)
        offer(
            self._cells,
            int(np.trace(confusion)),
            cobias(confusion),
            indices,
            0,
            int(indices[0]),
            origin,
        )

    def descend(self, indices: Floats, goal: Scalarisation, order: Integers, origin: int) -> None:
        """Move a point, in place, to where no single class can improve the goal."""
        self._visit(indices, goal, order, origin, stay=False)

    def look(self, cell: int) -> None:
        """Visit all lines through the point of a cell."""
        self._looked[cell] = self._cells.indices[cell]
        self.visit(self._cells.indices[cell].astype(np.float64), self.free, self.origin(cell))

    def visit(self, indices: Floats, order: Integers, origin: int) -> None:
        """Visit the lines of some classes through a point."""
        self._visit(indices, _NOWHERE, order, origin, stay=True)

    def front(self) -> Integers:
        """Return the cells of the points that no other beats, from low to high accuracy."""
        lowest = np.minimum.accumulate(self._cells.cobias[::-1])[::-1]
        beyond = np.append(lowest[1:], np.inf)
        return np.flatnonzero(self._cells.cobias < beyond - _SAME)

    def unseen(self, front: Integers) -> Booleans:
        """Return whether each point of a front has neighbours to visit."""
        return np.asarray((self._looked[front] != self._cells.indices[front]).any(axis=1))

    def accuracy(self, cells: Integers) -> Floats:
        """Return the accuracy of cells."""
        return np.asarray(self._cells.correct[cells] / self.total)

    def cobias(self, cells: Integers) -> Floats:
        """Return the COBias of cells."""
        return np.asarray(self._cells.cobias[cells])

    def indices(self, cell: int) -> WeightIndices:
        """Return the weight indices of a cell."""
        return np.asarray(self._cells.indices[cell].astype(np.int64))

    def origin(self, cell: int) -> int:
        """Return the number of the start that a cell's point was found from."""
        return int(self._cells.origin[cell])

    def confusion(self, indices: WeightIndices) -> Confusion:
        """Return the counts at weight indices."""
        return self._passes.count(indices.astype(np.float64))

    def _visit(
        self, indices: Floats, goal: Scalarisation, order: Integers, origin: int, *, stay: bool
    ) -> None:
        passes = self._passes
        visit = Visit(self._terms, goal, self._cells, self._lines, origin, stay)
        if passes.whole is not None:
            rows, workspace = passes.whole
            self.n_lines += visit_lines(visit, rows, self._levels, workspace, indices, order)
            return
        confusion = passes.count(indices).copy()
        predicted = confusion.sum(axis=0)
        turn = unmoved = 0
        while unmoved < len(order):
            c = int(order[turn % len(order)])
            turn, unmoved = turn + 1, unmoved + 1
            if not is_new_line(self._lines, indices, c) and stay:
                continue
            flips = passes.find_flips(indices, c)
            now = indices[c]
            visit_line(visit, flips, indices, confusion, predicted, c)
            self.n_lines += 1
            if indices[c] != now:
                unmoved = 1
            if self.deadline is not None and time.perf_counter() >= self.deadline:
                break


_NOWHERE = Scalarisation(0.0, 0.0)
