"""A problem seen through one objective: values, descents and kicks, for every solver."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.method.objective import Objective
from dnip.method.problem import Problem
from dnip.method.scales import WeightScale
from dnip.solvers.kernels.descent import (
    Setup,
    begin,
    descend,
    explore,
    kick,
    next_class,
    pass_class,
    set_counts,
)
from dnip.solvers.kernels.flips import walk
from dnip.solvers.kernels.line_search import settle
from dnip.solvers.kernels.lines import new_lines
from dnip.solvers.kernels.values import MISSED, Floors, Terms, new_memo, no_floors, shortfall, value
from dnip.solvers.levels import levels_of
from dnip.solvers.passes import CompiledPasses, OptSet, Passes, passes_over

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dnip.base.typing import Confusion, Counts, Floats, Integers, WeightIndices
    from dnip.method.constraints import Demands
    from dnip.method.objective import ObjectiveLike
    from dnip.solvers.kernels.boxes import BoxRows
    from dnip.solvers.kernels.flips import Flips

# Lines to remember in the first place; a fit of 100 classes searches 5,000.
_EXPECTED_LINES = 1 << 13
# Cells that compiled code may read between two looks at the clock: a fraction of a second. A whole
# descent runs compiled if it reads fewer, with so many lines for each class.
_CELLS, _LINES_PER_CLASS = 50_000_000, 10


class Position(NamedTuple):
    """A point of a landscape, and its value.

    Attributes
    ----------
    point : ndarray of shape (N,)
        Weight indices as float64, because compiled code multiplies probabilities with them. On the
        continuous scale, the weights themselves.
    value : float
        The objective there.
    """

    point: Floats
    value: float


class Kicks(NamedTuple):
    """Moves away from a local optimum, one per row."""

    factors: Floats  # (B, N) what each index is multiplied by
    tops: Floats  # (B,) the index that the largest weight then gets; 0 leaves it as it is
    orders: Integers  # (B, free classes) the order in which to search afterwards


class Landscape:
    """The objective over all weight indices of one problem.

    Parameters
    ----------
    problem : Problem, StreamedProblem or SharedProblem
        The opt set.
    objective : ObjectiveLike
        What to minimise. Compiled code evaluates an :class:`Objective`; others are called.
    scale : int or WeightScale
        The weights that a class may have.
    held : mapping of int to float
        Classes that keep a given index.
    demands : Demands, optional
        What points must satisfy. A point that does not has a value of at least ``MISSED``; it is
        the higher, the more is missing.
    passes : Passes, optional
        Passes over the rows of the problem; by default those of the scale.

    Attributes
    ----------
    scale : int
        K; 0 on the continuous scale.
    levels : ndarray
        What indices 1..K multiply probabilities by, shape (K,).
    free : ndarray
        The classes that are not held.
    evaluations : int
        Objective values computed so far.
    line_searches : int
        Lines searched so far.
    setup : Setup or None
        For searches that run compiled as a whole; None where they cannot.
    most_lines : int
        Lines or points that compiled code may look at between two looks at the clock.
    deadline : float or None
        A ``time.perf_counter`` reading at which a long descent stops.
    """

    def __init__(
        self,
        problem: OptSet,
        objective: ObjectiveLike,
        scale: int | WeightScale,
        held: Mapping[int, float],
        demands: Demands | None = None,
        passes: Passes | None = None,
    ) -> None:
        self.problem = problem
        self.objective = objective
        self._weights = WeightScale.of(scale)
        self.scale, self.levels = self._weights.size, self._weights.levels
        self.held = dict(held)
        self.free = np.array([c for c in range(problem.n_classes) if c not in held], np.int64)
        self.evaluations = 0
        self.line_searches = 0
        self.deadline: float | None = None
        self._passes = passes_over(problem, levels_of(self._weights)) if passes is None else passes
        self._lines = new_lines(_EXPECTED_LINES)
        self._compiled = isinstance(objective, Objective)
        self.setup: Setup | None = None
        self.floors = self._count_floors(demands)
        if isinstance(objective, Objective):
            self._terms = compile_terms(objective, problem, self.floors)
            self._memo = new_memo(problem.class_mass, self._terms.smoothing)
            if isinstance(self._passes, CompiledPasses):
                own = self._passes.rows, self._passes.levels, self._passes.workspace
                self.setup = Setup(*own, self._terms, self._memo, self._lines)
        # a line reads every row, and all classes where a row flips
        n_rows = len(problem.labels) if isinstance(problem, Problem) else problem.n_open
        per_line = n_rows + self.n_classes * (1 + min(n_rows, self.scale))
        self.most_lines = max(_CELLS // per_line, 1)
        self._is_quick = self.most_lines >= _LINES_PER_CLASS * self.n_classes

    @property
    def n_classes(self) -> int:
        """N."""
        return self.problem.n_classes

    def equal_weights(self) -> Floats:
        """Return the point of the raw argmax: all weights are equal."""
        return np.full(self.n_classes, float(self.scale))

    def lowest_weights(self) -> Floats:
        """Return the point with the lowest index of every class."""
        return np.ones(self.n_classes)

    def draw(self, rng: np.random.Generator) -> Floats:
        """Draw a point to start from."""
        return rng.integers(1, self.scale + 1, self.n_classes).astype(np.float64)

    def draw_tops(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw the largest index after each of `size` kicks."""
        return rng.integers((self.scale + 1) // 2, self.scale + 1, size).astype(np.float64)

    def least_top(self, rows: BoxRows) -> int:
        """Return a height above 1 that some index of every point reaches, or of a copy of it.

        ξ and 2ξ predict alike, so this is K/2.
        """
        return self.scale // 2

    def middle(self, point: Floats) -> float:
        """Return the index of the geometric middle of weights."""
        return float(np.rint(np.exp(np.log(point).mean())))

    def stand(self, point: WeightIndices | Floats) -> Position:
        """Evaluate a point; held classes keep their index."""
        here = self._with_held(point)
        confusion = self._passes.count(here)
        return Position(here, self._evaluate(confusion, confusion.sum(axis=0)))

    def descend(self, point: WeightIndices | Floats, order: Integers) -> Position:
        """Search the classes in turn, in the given order, until a whole round moves none.

        A class that is at one of its best indices stays there.
        """
        here = self._with_held(point)
        descent = begin(here, order)
        if self.setup is not None:
            while True:
                n_searches = descend(self.setup, descent, self.most_lines)
                self._count_searches(n_searches)
                if n_searches < self.most_lines or self._is_over():
                    return Position(here, float(descent.value[0]))
        while (c := next_class(descent, self._lines)) >= 0:
            if not descent.counted[0]:
                set_counts(descent, self._passes.count(here))
            now = int(here[c])
            flips = self._passes.find_flips(here, c)
            counts = descent.confusion, descent.predicted
            reached = self._search_line(flips, here, *counts, c, self.scale)
            pass_class(descent, self._lines, now, reached)
            if self._is_over():
                break
        return Position(here, float(descent.value[0]))

    def _is_over(self) -> bool:
        return self.deadline is not None and time.perf_counter() >= self.deadline

    def approach(self, point: WeightIndices | Floats, order: Integers) -> Iterator[Position]:
        """Descend; yield points on the way that are worth keeping, and the end last."""
        yield self.descend(point, order)

    def explore(self, optimum: Position, kicks: Kicks, enough: int) -> Position:
        """Kick and descend again and again; a point that is no worse is kicked next.

        After `enough` line searches, no further kick is tried.
        """
        if self.setup is not None and self._is_quick:
            here = optimum.point.copy()
            reached, n_searches = explore(self.setup, here, optimum.value, *kicks, enough)
            self._count_searches(n_searches)
            return Position(here, reached)
        before = self.line_searches
        for factors, top, order in zip(*kicks, strict=True):
            there = self.descend(self._kick(optimum.point, factors, top, order), order)
            if there.value <= optimum.value:
                optimum = there
            if self.line_searches - before >= enough or self._is_over():
                break
        return optimum

    def confusion(self, point: WeightIndices | Floats) -> Counts:
        """Count examples by true and predicted class at a point, held classes included."""
        return self._in_examples(self._passes.count(point.astype(np.float64)))

    def keeps_floors(self, point: WeightIndices | Floats) -> bool:
        """Whether enough rows are right at a point, held classes included."""
        if not len(self.floors.correct):
            return True
        confusion = self._passes.count(point.astype(np.float64))
        return not self._shortfall(confusion)

    def _count_floors(self, demands: Demands | None) -> Floors:
        if demands is None or not demands.has_floors:
            return no_floors()
        true = self.problem.class_mass
        raw = np.diag(self._passes.count(self.equal_weights()))
        total = demands.total_count(int(raw.sum()), int(true.sum()))
        return Floors(demands.correct_counts(true, raw), total)

    def _shortfall(self, confusion: Confusion) -> float:
        if not len(self.floors.correct):
            return 0.0
        correct = np.ascontiguousarray(np.diag(confusion))
        return float(shortfall(correct, self.floors, self.problem.class_mass))

    def _with_held(self, point: WeightIndices | Floats) -> Floats:
        here = np.array(point, np.float64)
        for c, index in self.held.items():
            here[c] = index
        return here

    def _kick(self, point: Floats, factors: Floats, top: float, order: Integers) -> Floats:
        return kick(point, factors, top, order, levels_of(self._weights))

    def _count_searches(self, n_searches: int) -> None:
        self.line_searches += n_searches
        self.evaluations += n_searches * self.scale

    def _search_line(
        self,
        flips: Flips,
        indices: Floats,
        confusion: Confusion,
        predicted: Integers,
        c: int,
        n_levels: int,
    ) -> float:
        """Move class `c` and the counts to its best index; return the objective there."""
        counts = confusion, predicted
        self.line_searches += 1
        if self._compiled:
            self.evaluations += n_levels
            return settle(flips, self._terms, self._memo, indices, *counts, c, n_levels)
        now = stands = int(indices[c])
        values = np.full(n_levels + 1, np.inf)
        for k in range(1, n_levels + 1):
            if k == 1 or flips.start[k] < flips.start[k + 1]:
                walk(flips, c, stands, k, *counts)
                stands = k
                values[k] = self._evaluate(*counts)
            else:
                values[k] = values[k - 1]
        best = now if values[now] <= values.min() else int(values.argmin())
        walk(flips, c, stands, best, *counts)
        indices[c] = best
        return float(values[best])

    def _evaluate(self, confusion: Confusion, predicted: Integers) -> float:
        self.evaluations += 1
        if self._compiled:
            return float(value(confusion, predicted, self._terms, self._memo))
        if missing := self._shortfall(confusion):
            return MISSED * (1 + missing)
        z = self.objective(self._in_examples(confusion))
        if math.isnan(z):
            raise InvalidInputError(
                f"objective {self.objective.to_dict()} is not a number at the confusion matrix "
                f"{self._in_examples(confusion).tolist()}",
                hint="Return a number for every confusion matrix, such as inf where undefined",
            )
        return min(z, MISSED / 2) if len(self.floors.correct) else z

    def _in_examples(self, confusion: Confusion) -> Counts:
        """Return counts of mass as counts of examples: a copy."""
        if self.problem.unit == 1.0:
            return confusion.copy()
        return confusion.astype(np.float64) * self.problem.unit


def compile_terms(objective: Objective, problem: OptSet, floors: Floors | None = None) -> Terms:
    """Return the numbers of an objective for compiled code, in the unit of mass."""
    gap = float(objective.beta) if "cobias" in objective.terms else 0.0
    return Terms(
        error=1.0 if "error" in objective.terms and objective.costs is None else 0.0,
        cobias=gap if objective.gap == "pairwise" else 0.0,
        single=gap if objective.gap == "single" else 0.0,
        tau=float(objective.tau) if "pmi" in objective.terms else 0.0,
        smoothing=objective.smoothing_over(problem.n_examples) / problem.unit,
        costs=objective.cost_matrix,
        floors=no_floors() if floors is None else floors,
    )
