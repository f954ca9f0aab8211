"""A problem seen through one objective: what every solver walks on."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.errors import InvalidInputError
from dnip.kernels.descent import (
    Descent,
    begin,
    descend,
    explore,
    kick,
    next_class,
    pass_class,
    set_counts,
)
from dnip.kernels.flips import walk
from dnip.kernels.line_search import settle
from dnip.kernels.lines import new_lines
from dnip.kernels.values import Terms, new_memo, value
from dnip.objective import Objective
from dnip.solvers.passes import CompiledPasses, passes_over

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from dnip.kernels.flips import Workspace
    from dnip.kernels.lines import Lines
    from dnip.kernels.rows import Rows
    from dnip.kernels.values import Memo
    from dnip.objective import ObjectiveLike
    from dnip.problem import Problem
    from dnip.solvers.streamed import StreamedProblem
    from dnip.typing import Confusion, Counts, Floats, Integers, WeightIndices

    CompiledState: TypeAlias = tuple[Rows, Workspace, Terms, Memo, Lines]

# Lines to remember in the first place; a fit of 100 classes searches 5,000.
_EXPECTED_LINES = 1 << 13


class Position(NamedTuple):
    """Weight indices (whole numbers, as float64 because they multiply probabilities) and value."""

    indices: Floats
    value: float


class Kicks(NamedTuple):
    """Moves away from a local optimum, one per row."""

    factors: Floats  # (B, N) what each index is multiplied by
    tops: Floats  # (B,) where the largest index shall stand then; 0 leaves it
    orders: Integers  # (B, free classes) the order in which to search from there


class Landscape:
    """The objective over all weight indices of one problem.

    Parameters
    ----------
    problem : Problem or StreamedProblem
        The opt set.
    objective : ObjectiveLike
        What to minimise. An :class:`Objective` is evaluated by compiled code, any other one by
        calling it.
    scale : int
        K.
    held : mapping of int to int
        Classes that stay at a given index.

    Attributes
    ----------
    free : ndarray
        The other classes.
    evaluations : int
        Objective values computed so far.
    line_searches : int
        Lines searched so far.
    deadline : float or None
        A ``time.perf_counter`` reading at which a descent over many rows stops where it is.
    """

    def __init__(
        self,
        problem: Problem | StreamedProblem,
        objective: ObjectiveLike,
        scale: int,
        held: Mapping[int, int],
    ) -> None:
        self.problem = problem
        self.objective = objective
        self.scale = scale
        self.held = dict(held)
        self.free = np.array([c for c in range(problem.n_classes) if c not in held], np.int64)
        self.evaluations = 0
        self.line_searches = 0
        self.deadline: float | None = None
        self._passes = passes_over(problem, scale)
        self._lines = new_lines(_EXPECTED_LINES)
        self._compiled = isinstance(objective, Objective)
        self._state: CompiledState | None = None  # what a search needs that is compiled whole
        if isinstance(objective, Objective):
            self._terms = compile_terms(objective, problem)
            self._memo = new_memo(problem.class_mass, self._terms.smoothing)
            if isinstance(self._passes, CompiledPasses):
                rows, workspace = self._passes.rows, self._passes.workspace
                self._state = (rows, workspace, self._terms, self._memo, self._lines)

    @property
    def n_classes(self) -> int:
        """N."""
        return self.problem.n_classes

    def stand(self, indices: WeightIndices | Floats) -> Position:
        """Evaluate weight indices of shape (N,); held classes keep theirs."""
        here = self._with_held(indices)
        confusion = self._passes.count(here)
        return Position(here, self._evaluate(confusion, confusion.sum(axis=0)))

    def descend(self, indices: WeightIndices | Floats, order: Integers) -> Position:
        """Search the classes of `order` round and round until a whole round moves none.

        A class that is known to stand at one of its best indices stays.
        """
        here = self._with_held(indices)
        if self._state is not None:
            reached, n_searches = descend(*self._state, here, order, self.scale)
            self._count_searches(n_searches)
            return Position(here, reached)
        descent = begin(here, order)
        while (c := next_class(descent, self._lines)) >= 0:
            if not descent.counted[0]:
                set_counts(descent, self._passes.count(here))
            now = int(here[c])
            pass_class(descent, self._lines, now, self._search_line(descent, c))
            if self.deadline is not None and time.perf_counter() >= self.deadline:
                break
        return Position(here, float(descent.value[0]))

    def explore(self, optimum: Position, kicks: Kicks, enough: int) -> Position:
        """Kick and descend again and again; what is no worse becomes the optimum to kick next.

        No further kick is tried after `enough` line searches.
        """
        if self._state is not None:
            here = optimum.indices.copy()
            reached, n_searches = explore(
                *self._state, here, optimum.value, *kicks, self.scale, enough
            )
            self._count_searches(n_searches)
            return Position(here, reached)
        before = self.line_searches
        for factors, top, order in zip(*kicks, strict=True):
            start = kick(optimum.indices, factors, top, order, self.scale)
            there = self.descend(start, order)
            if there.value <= optimum.value:
                optimum = there
            if self.line_searches - before >= enough:
                break
        return optimum

    def confusion(self, indices: WeightIndices) -> Counts:
        """Count examples by true and predicted class at weight indices, held classes included."""
        return self._in_examples(self._passes.count(indices.astype(np.float64)))

    def _with_held(self, indices: WeightIndices | Floats) -> Floats:
        here = np.array(indices, np.float64)
        for c, index in self.held.items():
            here[c] = index
        return here

    def _count_searches(self, n_searches: int) -> None:
        self.line_searches += n_searches
        self.evaluations += n_searches * self.scale

    def _search_line(self, descent: Descent, c: int) -> float:
        """Move class `c` to its best index, the counts with it, and return the objective there."""
        flips = self._passes.find_flips(descent.indices, c)
        counts = descent.confusion, descent.predicted
        if self._compiled:
            self._count_searches(1)
            return settle(flips, self._terms, self._memo, descent.indices, *counts, c, self.scale)
        self.line_searches += 1
        now = stands = int(descent.indices[c])
        values = np.full(self.scale + 1, np.inf)
        for k in range(1, self.scale + 1):
            if k == 1 or flips.start[k] < flips.start[k + 1]:
                walk(flips, c, stands, k, *counts)
                stands = k
                values[k] = self._evaluate(*counts)
            else:
                values[k] = values[k - 1]
        best = now if values[now] <= values.min() else int(values.argmin())
        walk(flips, c, stands, best, *counts)
        descent.indices[c] = best
        return float(values[best])

    def _evaluate(self, confusion: Confusion, predicted: Integers) -> float:
        self.evaluations += 1
        if self._compiled:
            return float(value(confusion, predicted, self._terms, self._memo))
        z = self.objective(self._in_examples(confusion))
        if math.isnan(z):
            raise InvalidInputError(
                f"objective {self.objective.to_dict()} is not a number at the confusion matrix "
                f"{self._in_examples(confusion).tolist()}",
                hint="Return a number for every confusion matrix, such as inf where undefined",
            )
        return z

    def _in_examples(self, confusion: Confusion) -> Counts:
        """Return counts of mass as counts of examples: a copy, safe to hand out."""
        if self.problem.unit == 1.0:
            return confusion.copy()
        return confusion.astype(np.float64) * self.problem.unit


def compile_terms(objective: Objective, problem: Problem | StreamedProblem) -> Terms:
    """Return the numbers of an objective that compiled code works with, in the unit of mass."""
    gap = float(objective.beta) if "cobias" in objective.terms else 0.0
    return Terms(
        error=1.0 if "error" in objective.terms else 0.0,
        cobias=gap if objective.gap == "pairwise" else 0.0,
        single=gap if objective.gap == "single" else 0.0,
        tau=float(objective.tau) if "pmi" in objective.terms else 0.0,
        smoothing=objective.smoothing / problem.unit,
    )
