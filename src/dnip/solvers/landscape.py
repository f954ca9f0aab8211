"""A problem seen through one objective: values, descents and kicks, for every solver."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Confusion, Counts, Floats, Integers, WeightIndices
from dnip.method.constraints import Demands
from dnip.method.objective import Compiled, MetricObjective, Objective, ObjectiveLike
from dnip.method.problem import Problem
from dnip.method.scales import Spacing, WeightScale
from dnip.solvers.kernels.coordinate import Descent
from dnip.solvers.kernels.rows import Levels, Rows
from dnip.solvers.kernels.values import MISSED, Values

# Cells that compiled code may read between two looks at the clock: a fraction of a second.
_CELLS = 100_000_000


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
        What to minimise. Compiled code evaluates those of :mod:`dnip.method.objective`; a function
        is called.
    scale : int or WeightScale
        The weights that a class may have.
    held : mapping of int to float
        Classes that keep a given index.
    demands : Demands, optional
        What points must satisfy. A point that does not has a value of at least ``MISSED``; it is
        the higher, the more is missing.
    following : sequence of int, optional
        Classes without examples, among those held: they stand at the geometric middle of the
        classes with examples, and :meth:`settle` moves them there.

    Attributes
    ----------
    n_classes : int
        N.
    scale : int
        K.
    spacing : Spacing
        How the weights of the scale are spaced.
    span : float or None
        That of the scale in nats, where it is given by its span.
    levels : ndarray
        What indices 1..K multiply probabilities by, shape (K,).
    free : ndarray
        The classes that are not held.
    evaluations : int
        Objective values computed so far.
    line_searches : int
        Lines searched so far.
    rows : Rows
        The open rows, in the layout that is searched fastest.
    values : Values
        The objective as compiled code has it.
    most_lines : int
        Lines or points that compiled code may look at between two looks at the clock; one where an
        objective is called.
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
        following: Sequence[int] = (),
    ) -> None:
        self.problem, self.n_classes = problem, problem.n_classes
        self.objective = objective
        weights = WeightScale.of(scale)
        self.scale, self.spacing, self.span = weights.size, weights.spacing, weights.span
        self.levels = weights.levels
        self._weights, self.held, self.following = weights, dict(held), list(following)
        self._held_classes, self._held_indices = [*self.held], [*self.held.values()]
        self.free = np.array([c for c in range(problem.n_classes) if c not in held], np.int64)
        self.evaluations = 0
        self.line_searches = 0
        self.deadline: float | None = None
        self._compiled = isinstance(objective, Compiled)
        self.rows = self.lay_out()
        self.most_lines = self._lines_within(_CELLS) if self._compiled else 1
        self._demands, self._floors = demands, dict[str, Any]()
        if demands is not None and (demands.no_silence or demands.has_rates):
            raw = np.diag(self.rows.count(self.equal_weights()))
            floors, total = demands.floors(problem.class_counts, raw)
            self._floors = {"floors": floors, "floor": total}
        self.values = self.compile()
        self._descent = Descent(self.values, self.rows.levels, self.rows)

    def _lines_within(self, n_cells: int) -> int:
        """Return how many lines read so many cells: every row, and counts where a row flips."""
        per_value = self.n_classes
        if isinstance(self.objective, Objective) and self.objective.needs_cells:
            per_value **= 2
        flips = min(len(self.problem.labels), self.scale)
        read = self.rows.n_cells + self.rows.n_rows + per_value * (1 + flips)
        return max(n_cells // int(read), 1)

    def thinned(
        self, per_class: int, many_times: int, rng: np.random.Generator
    ) -> Landscape | None:
        """Return the same over a sample of the rows, at most so many of each class.

        None where there are not many times more rows, and where each row of them may matter:
        constraints on accuracies, an objective that is called.
        """
        problem, demands = self.problem, self._demands
        is_strict = demands is not None and demands.has_rates
        if is_strict or not self._compiled:
            return None
        if len(problem.labels) < many_times * per_class * self.n_classes:
            return None
        sample = problem.thinned(per_class, rng)
        thinned = Landscape(
            sample, self.objective, self._weights, self.held, demands, self.following
        )
        thinned.deadline = self.deadline
        return thinned

    def equal_weights(self) -> Floats:
        """Return the point of the raw argmax: all weights are equal."""
        return np.full(self.n_classes, float(self.scale))

    def evaluate(self, point: WeightIndices | Floats) -> Proposal:
        """Return a point and its value; held classes keep their index."""
        here = np.array(point, np.float64)
        here[self._held_classes] = self._held_indices
        self.evaluations += 1
        return Proposal(here, float(self.values(self.rows.count(here))))

    def settle(self, proposal: Proposal) -> Proposal:
        """Return a proposal with the classes that follow at the middle of the others."""
        if not self.following:
            return proposal
        point = proposal.point.copy()
        point[self.following] = self._weights.middle(point[self.problem.present])
        return replace(proposal, point=point)

    def descend(self, point: WeightIndices | Floats, order: Integers) -> Proposal:
        """Search the classes in turn, in the given order, until a whole round moves none.

        A class that is at one of its best indices stays there.
        """
        descent, start = self._descent, np.array(point, np.float64)
        start[self._held_classes] = self._held_indices
        descent.begin(start, order)
        while True:
            n_searches = descent.run(self.most_lines)
            self.line_searches += n_searches
            self.evaluations += n_searches * self.scale
            if not n_searches or is_over(self.deadline):
                return Proposal(descent.point.copy(), descent.value)

    def explore(self, optimum: Proposal, kicks: Kicks, enough: int) -> Proposal:
        """Kick and descend again and again; a point that is no worse is kicked next.

        After `enough` line searches, no further kick is tried.
        """
        before = self.line_searches
        for factors, top, order in zip(*kicks, strict=True):
            kicked = self._descent.kicked(optimum.point, factors, top, order)
            there = self.descend(kicked, order)
            if there.value <= optimum.value:
                optimum = there
            if self.line_searches - before >= enough or is_over(self.deadline):
                break
        return optimum

    def confusion(self, point: WeightIndices | Floats) -> Counts:
        """Count examples by true and predicted class at a point, held classes included."""
        if self.problem.shares is not None:  # of shared rows, right predictions alone are counted
            multipliers = self._weights.multipliers(point.astype(np.int64))
            return self.problem.in_examples(self.problem.confusion(multipliers))
        return self.problem.in_examples(self.rows.count(point.astype(np.float64)))

    def lay_out(self, *, sparse: bool = False) -> Rows:
        """Return the rows for compiled code; branch and bound reads them by candidates."""
        of, followers = self.problem, self.following
        leaders = np.flatnonzero(of.present).tolist() if followers else []
        following = followers, leaders
        levels = _levels_of(self._weights)
        p, labels, counts = of.probabilities, of.labels, of.counts
        return Rows(p, labels, counts, levels, of.shares, *following, sparse=sparse)

    def keeps_floors(self, point: WeightIndices | Floats) -> bool:
        """Whether enough rows are right at a point, held classes included."""
        return not self.values.shortfall(self.rows.count(point.astype(np.float64)))

    def compile(self, *, only_floors: bool = False) -> Values:
        """Return the objective for compiled code, in the unit of the counts, or its floors alone.

        It keeps what it computes, so each thread takes one of its own.
        """
        true, goal = self.problem.class_counts, self.objective
        if isinstance(goal, MetricObjective) and not only_floors:
            by_class = goal.is_by_class
            return Values(true, recall=by_class, f1=not by_class, **self._floors)
        if only_floors:
            return Values(true, **self._floors)
        if not isinstance(goal, Objective):
            return Values(true, called=self._call, **self._floors)
        gap = float(goal.beta) if "cobias" in goal.terms else 0.0
        return Values(
            true,
            error=1.0 if "error" in goal.terms and goal.costs is None else 0.0,
            cobias=gap if goal.gap == "pairwise" else 0.0,
            single=gap if goal.gap == "single" else 0.0,
            tau=float(goal.tau) if "pmi" in goal.terms else 0.0,
            smoothing=goal.smoothing_over(self.problem.n_examples) / self.problem.unit,
            costs=goal.cost_matrix,
            **self._floors,
        )

    def _call(self, confusion: Confusion) -> float:
        """Return the value of an objective that is called; compiled code does so."""
        counts = self.problem.in_examples(confusion)
        z = self.objective(counts)
        if math.isnan(z):
            raise InvalidInputError(
                f"objective {self.objective.to_dict()} is not a number at the confusion matrix "
                f"{counts.tolist()}",
                hint="Return a number for every confusion matrix, such as inf where undefined",
            )
        return min(z, MISSED / 2) if self._floors else z


def is_over(deadline: float | None) -> bool:
    """Say whether a ``time.perf_counter`` reading has passed; None: never."""
    return deadline is not None and time.perf_counter() >= deadline


@lru_cache(maxsize=8)
def _levels_of(scale: int | str | WeightScale) -> Levels:
    """Return the weights of a scale in the form for compiled code."""
    scale = WeightScale.of(scale)
    return Levels(scale.levels, linear=scale.spacing is Spacing.LINEAR)
