"""A problem seen through one objective: values, descents and kicks, for every solver."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Confusion, Counts, Floats, Integers, WeightIndices
from dnip.method.constraints import Demands
from dnip.method.objective import Objective, ObjectiveLike
from dnip.method.problem import Problem
from dnip.method.scales import Spacing, WeightScale
from dnip.solvers.kernels.descent import (
    Setup,
    begin,
    descend,
    explore,
    kick,
    new_lines,
    next_class,
    pass_class,
    set_counts,
    settle,
)
from dnip.solvers.kernels.door import Struct
from dnip.solvers.kernels.flips import Flips, walk
from dnip.solvers.kernels.levels import Levels, linear_levels, listed_levels
from dnip.solvers.kernels.values import MISSED, Floors, Terms, new_memo, no_floors, shortfall, value
from dnip.solvers.passes import Passes

# Lines to remember in the first place; a fit of 100 classes searches 5,000.
_EXPECTED_LINES = 1 << 13


@dataclass(frozen=True, eq=False)
class Proposal:
    """A point of a landscape, and what a solver says of it.

    Attributes
    ----------
    point : ndarray of shape (N,)
        Weight indices as float64, because compiled code multiplies probabilities with them.
    value : float
        The objective there.
    statistics : dict
        Numbers on the solver's own state, such as a temperature, for the trace.
    lower_bound : float
        A proven bound: no point has a lower value.
    """

    point: Floats
    value: float
    statistics: dict[str, float] = field(default_factory=dict)
    lower_bound: float = -math.inf


class Kicks(NamedTuple):
    """Moves away from a local optimum, one per row."""

    factors: Floats  # (B, N) what each index is multiplied by
    tops: Floats  # (B,) the index that the largest weight then gets; 0 leaves it as it is
    orders: Integers  # (B, free classes) the order in which to search afterwards


class Landscape:
    """The objective over all weight indices of one problem.

    Parameters
    ----------
    problem : Problem
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

    Attributes
    ----------
    scale : int
        K.
    spacing : Spacing
        How the weights of the scale are spaced.
    levels : ndarray
        What indices 1..K multiply probabilities by, shape (K,).
    free : ndarray
        The classes that are not held.
    evaluations : int
        Objective values computed so far.
    line_searches : int
        Lines searched so far.
    setup : Struct or None
        For searches that run compiled as a whole; None where they cannot.
    most_lines : int
        Lines or points that compiled code may look at between two looks at the clock.
    deadline : float or None
        A ``time.perf_counter`` reading at which a long descent stops.
    """

    def __init__(
        self,
        problem: Problem,
        objective: ObjectiveLike,
        scale: int | WeightScale,
        held: Mapping[int, float],
        demands: Demands | None = None,
    ) -> None:
        self.problem = problem
        self.objective = objective
        weights = WeightScale.of(scale)
        self.scale, self.spacing, self.levels = weights.size, weights.spacing, weights.levels
        self.held = dict(held)
        self.free = np.array([c for c in range(problem.n_classes) if c not in held], np.int64)
        self.evaluations = 0
        self.line_searches = 0
        self.deadline: float | None = None
        self._kernel_levels = levels_of(weights)
        self._compiled = isinstance(objective, Objective)
        per_value = self.n_classes
        if isinstance(objective, Objective) and objective.needs_cells:
            per_value **= 2
        self._passes = Passes(problem, self._kernel_levels, per_value)
        self.most_lines = self._passes.most_lines
        self._lines = Struct(new_lines(_EXPECTED_LINES))
        self.floors = self._count_floors(demands)
        self.setup: Struct | None = None
        if isinstance(objective, Objective):
            terms = compile_terms(objective, problem, self.floors)
            memo = new_memo(problem.class_counts, terms.smoothing)
            self._terms, self._memo = Struct(terms), Struct(memo)
            if self._passes.whole is not None:
                rows, workspace = self._passes.whole
                own = rows, self._kernel_levels, workspace
                self.setup = Struct(Setup(*own, terms, memo, self._lines.record))

    @property
    def n_classes(self) -> int:
        """N."""
        return self.problem.n_classes

    def equal_weights(self) -> Floats:
        """Return the point of the raw argmax: all weights are equal."""
        return np.full(self.n_classes, float(self.scale))

    def evaluate(self, point: WeightIndices | Floats) -> Proposal:
        """Return a point and its value; held classes keep their index."""
        here = self._with_held(point)
        confusion = self._passes.count(here)
        return Proposal(here, self._value(confusion, confusion.sum(axis=0)))

    def descend(self, point: WeightIndices | Floats, order: Integers) -> Proposal:
        """Search the classes in turn, in the given order, until a whole round moves none.

        A class that is at one of its best indices stays there.
        """
        here = self._with_held(point)
        descent = begin(here, order)
        state = Struct(descent)
        if self.setup is not None:
            while True:
                n_searches = descend(self.setup, state, self.most_lines)
                self._count_searches(n_searches)
                if n_searches < self.most_lines or is_over(self.deadline):
                    return Proposal(here, float(descent.value[0]))
        while (c := next_class(state, self._lines)) >= 0:
            if not descent.counted[0]:
                set_counts(descent, self._passes.count(here))
            now = int(here[c])
            flips = self._passes.find_flips(here, c)
            reached = self._search_line(flips, here, descent.confusion, descent.predicted, c)
            pass_class(state, self._lines, now, reached)
            if is_over(self.deadline):
                break
        return Proposal(here, float(descent.value[0]))

    def explore(self, optimum: Proposal, kicks: Kicks, enough: int) -> Proposal:
        """Kick and descend again and again; a point that is no worse is kicked next.

        After `enough` line searches, no further kick is tried.
        """
        if self.setup is not None and self._passes.is_quick:
            here = optimum.point.copy()
            reached, n_searches = explore(self.setup, here, optimum.value, *kicks, enough)
            self._count_searches(n_searches)
            return Proposal(here, reached)
        before = self.line_searches
        for factors, top, order in zip(*kicks, strict=True):
            kicked = kick(optimum.point, factors, top, order, self._kernel_levels)
            there = self.descend(kicked, order)
            if there.value <= optimum.value:
                optimum = there
            if self.line_searches - before >= enough or is_over(self.deadline):
                break
        return optimum

    def confusion(self, point: WeightIndices | Floats) -> Counts:
        """Count examples by true and predicted class at a point, held classes included."""
        return self.problem.in_examples(self._passes.count(point.astype(np.float64)))

    def keeps_floors(self, point: WeightIndices | Floats) -> bool:
        """Whether enough rows are right at a point, held classes included."""
        if not len(self.floors.correct):
            return True
        return not self._shortfall(self._passes.count(point.astype(np.float64)))

    def _count_floors(self, demands: Demands | None) -> Floors:
        if demands is None or not demands.has_floors:
            return no_floors()
        true = self.problem.class_counts
        raw = np.diag(self._passes.count(self.equal_weights()))
        total = demands.total_count(int(raw.sum()), int(true.sum()))
        return Floors(demands.correct_counts(true, raw), total)

    def _shortfall(self, confusion: Confusion) -> float:
        if not len(self.floors.correct):
            return 0.0
        correct = np.ascontiguousarray(np.diag(confusion))
        return shortfall(correct, self.floors, self.problem.class_counts)

    def _with_held(self, point: WeightIndices | Floats) -> Floats:
        here = np.array(point, np.float64)
        for c, index in self.held.items():
            here[c] = index
        return here

    def _count_searches(self, n_searches: int) -> None:
        self.line_searches += n_searches
        self.evaluations += n_searches * self.scale

    def _search_line(
        self, flips: Flips, indices: Floats, confusion: Confusion, predicted: Integers, c: int
    ) -> float:
        """Move class `c` and the counts to its best index; return the objective there."""
        counts = confusion, predicted
        if self._compiled:
            self._count_searches(1)
            return settle(flips, self._terms, self._memo, indices, *counts, c, self.scale)
        self.line_searches += 1
        now = stands = int(indices[c])
        values = np.full(self.scale + 1, np.inf)
        for k in range(1, self.scale + 1):
            if k == 1 or flips.start[k] < flips.start[k + 1]:
                if is_over(self.deadline):
                    walk(flips, c, stands, now, *counts, self.n_classes)
                    return self._value(*counts)
                walk(flips, c, stands, k, *counts, self.n_classes)
                stands = k
                values[k] = self._value(*counts)
            else:
                values[k] = values[k - 1]
        best = now if values[now] <= values.min() else int(values.argmin())
        walk(flips, c, stands, best, *counts, self.n_classes)
        indices[c] = best
        return float(values[best])

    def _value(self, confusion: Confusion, predicted: Integers) -> float:
        self.evaluations += 1
        if self._compiled:
            return value(confusion, predicted, self._terms, self._memo)
        if missing := self._shortfall(confusion):
            return MISSED * (1 + missing)
        counts = self.problem.in_examples(confusion)
        z = self.objective(counts)
        if math.isnan(z):
            raise InvalidInputError(
                f"objective {self.objective.to_dict()} is not a number at the confusion matrix "
                f"{counts.tolist()}",
                hint="Return a number for every confusion matrix, such as inf where undefined",
            )
        return min(z, MISSED / 2) if len(self.floors.correct) else z


def is_over(deadline: float | None) -> bool:
    """Say whether a ``time.perf_counter`` reading has passed; None: never."""
    return deadline is not None and time.perf_counter() >= deadline


@lru_cache(maxsize=8)
def levels_of(scale: int | str | WeightScale) -> Levels:
    """Return the weights of a scale in the form for compiled code."""
    scale = WeightScale.of(scale)
    if scale.spacing is Spacing.LINEAR:
        return linear_levels(scale.size)
    return listed_levels(scale.levels)


def compile_terms(objective: Objective, problem: Problem, floors: Floors | None = None) -> Terms:
    """Return the numbers of an objective for compiled code, in the unit of the counts."""
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
