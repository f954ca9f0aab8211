"""The search of a front: the best points found, sweeps of the terms' weights, neighbours, gaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dnip.base.typing import Booleans, Confusion, Floats, Integers, WeightIndices
from dnip.method.objective import Objective
from dnip.method.problem import Problem
from dnip.method.scales import WeightScale
from dnip.metrics import cobias
from dnip.solvers.kernels.descent import begin, new_lines
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
from dnip.solvers.landscape import compile_terms, is_over, levels_of
from dnip.solvers.passes import Passes

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

    def offer(self, indices: Floats) -> None:
        """Count one point, and keep it if it is good."""
        confusion = self._passes.count(indices)
        correct, first = int(np.trace(confusion)), int(indices[0])
        offer(self._cells, correct, cobias(confusion), indices, 0, first, len(indices))

    def descend(self, indices: Floats, goal: Scalarisation, order: Integers) -> None:
        """Move a point, in place, to where no single class can improve the goal."""
        self._visit(indices, goal, order, stay=False)

    def look(self, cell: int) -> None:
        """Visit all lines through the point of a cell."""
        self._looked[cell] = self._cells.indices[cell]
        self.visit(self._cells.indices[cell].astype(np.float64), self.free)

    def visit(self, indices: Floats, order: Integers) -> None:
        """Visit the lines of some classes through a point."""
        self._visit(indices, Scalarisation(0.0, 0.0), order, stay=True)

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

    def confusion(self, indices: WeightIndices) -> Confusion:
        """Return the counts at weight indices."""
        return self._passes.count(indices.astype(np.float64))

    def _visit(self, indices: Floats, goal: Scalarisation, order: Integers, *, stay: bool) -> None:
        passes = self._passes
        visit = Visit(self._terms, goal, self._cells, self._lines, stay)
        if passes.whole is not None and passes.is_quick:
            rows, workspace = passes.whole
            descent = begin(indices, order)
            self.n_lines += visit_lines(visit, rows, self._levels, workspace, descent)
            return
        confusion = passes.count(indices).copy()
        predicted = confusion.sum(axis=0)
        turn = unmoved = 0
        while unmoved < len(order):
            c = int(order[turn % len(order)])
            turn, unmoved = turn + 1, unmoved + 1
            if not is_new_line(self._lines, indices, c, len(indices)) and stay:
                continue
            flips = passes.find_flips(indices, c)
            now = indices[c]
            visit_line(visit, flips, indices, confusion, predicted, c)
            self.n_lines += 1
            if indices[c] != now:
                unmoved = 1
            if is_over(self.deadline):
                break


#: β of the sweep between error alone and COBias alone.
BETAS: tuple[float, ...] = tuple(float(2.0**power) for power in range(-5, 6))
#: τ of the sweep; each has a sweep of β of its own.
TAUS = (0.0, 0.05, 0.2, 1.0)

# What a Tchebycheff goal adds of the plain sum, so that no point is as good as one that beats it.
_AUGMENTED = 0.05
# Kicks between two looks around.
_KICKS = 8
# Part of the kicks that go beyond each end of the front, and what they minimise there: the other
# term only decides between equals.
_AT_ENDS = 0.1
_ENDS = (Scalarisation(1e-4, 1.0), Scalarisation(1.0, 1e-4))


def sweep(explorer: Explorer, rng: np.random.Generator) -> Iterator[None]:
    """Descend from error alone to COBias alone and back, each from where its neighbour ended."""
    for tau in TAUS:
        here = explorer.equal_weights()
        between = [Scalarisation(1.0, beta, tau) for beta in (0.0, *BETAS)]
        goals = [*between, Scalarisation(0.0, 1.0, tau)]
        for goal in (*goals, *reversed(goals)):
            explorer.descend(here, goal, rng.permutation(explorer.free))
            yield


def fill(explorer: Explorer, rng: np.random.Generator) -> Iterator[None]:
    """Look around the points of the front, then kick from them, and so on without end.

    Points beside wide gaps come first. A kicked point descends into the gap, toward the corner
    that both points beside the gap span (augmented Tchebycheff). So it also finds points that
    are the best of no weighted sum.
    """
    enough = explorer.n_lines
    while True:
        yield from look_around(explorer, explorer.n_lines + max(enough, len(explorer.free)))
        before = explorer.n_lines
        front = explorer.front()
        for place in rng.choice(len(front) + 1, _KICKS, p=_shares(explorer, front)).tolist():
            beside = front[max(place - 1, 0) : place + 1].tolist()
            parent = int(rng.choice(beside))
            here = kicked(explorer, parent, rng)
            goal = into_gap(explorer, *beside) if len(beside) == 2 else _ENDS[int(place > 0)]
            explorer.descend(here, goal, rng.permutation(explorer.free))
            yield
        enough = explorer.n_lines - before


def look_around(explorer: Explorer, enough: float = np.inf) -> Iterator[None]:
    """Visit all lines through all points of the front until every point was looked around.

    It stops after `enough` lines in all.
    """
    while explorer.n_lines < enough:
        front = explorer.front()
        unseen = explorer.unseen(front)
        if not unseen.any():
            return
        room = gaps(explorer, front)
        beside = np.maximum(np.append(room, 0.0), np.append(0.0, room))
        waiting = np.flatnonzero(unseen)
        for place in waiting[np.argsort(-beside[waiting], kind="stable")].tolist():
            explorer.look(int(front[place]))
            yield
            if explorer.n_lines >= enough:
                return


def _shares(explorer: Explorer, front: Integers) -> Floats:
    """Return how often to kick beyond the low end, into each gap, and beyond the high end."""
    room = gaps(explorer, front)
    inside = 1 - 2 * _AT_ENDS if len(room) else 0.0
    even = np.full(len(room), 1 / max(len(room), 1))
    share = inside * (even + (room / room.sum() if room.sum() > 0 else even)) / 2
    ends = (1 - inside) / 2
    return np.concatenate([[ends], share, [ends]])


def gaps(explorer: Explorer, front: Integers) -> Floats:
    """Return the area of the rectangle between any two neighbours of a front."""
    accuracy, cobias = explorer.accuracy(front), explorer.cobias(front)
    return np.asarray(np.diff(accuracy) * np.diff(cobias))


def into_gap(explorer: Explorer, low: int, high: int) -> Scalarisation:
    """Return the goal of a gap, its corner: the accuracy of one point, the COBias of the other."""
    error = 1 - explorer.accuracy(np.array([high, low]))
    cobias = explorer.cobias(np.array([low, high]))
    width = max(float(error[1] - error[0]), 1 / explorer.total)
    height = max(float(cobias[1] - cobias[0]), 1 / explorer.total)
    return Scalarisation(
        _AUGMENTED / width,
        _AUGMENTED / height,
        0.0,
        1 / width,
        1 / height,
        float(error[0]),
        float(cobias[0]),
    )


def kicked(explorer: Explorer, cell: int, rng: np.random.Generator) -> Floats:
    """Return a point shifted in some or all log weights, and along its ray.

    Predictions depend on ratios alone, but a higher vector resolves them more finely.
    """
    levels, free = explorer.scale.levels, explorer.free
    weights = levels[explorer.indices(cell) - 1]
    strength = np.exp(rng.uniform(np.log(0.03), np.log(0.4)))
    touched = rng.random(len(weights)) < rng.choice([2 / len(weights), 0.3, 1.0])
    touched[rng.choice(free)] = True
    weights *= np.exp(np.where(touched, strength * rng.standard_normal(len(weights)), 0.0))
    if rng.random() < 0.5:
        top = levels[rng.integers((len(levels) + 1) // 2, len(levels) + 1) - 1]
        weights *= top / weights[free].max()
    nearest = np.searchsorted(np.sqrt(levels[1:] * levels[:-1]), weights) + 1
    return explorer.hold(nearest)
