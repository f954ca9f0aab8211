"""A problem seen through one objective: values, descents and kicks, for every solver.

A descent runs compiled as a whole, which saves half of the time on small tables. Where threads
share the rows, it goes line by line.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple, TypeVar

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Confusion, Counts, Floats, Integers, WeightIndices
from dnip.method.constraints import Demands
from dnip.method.objective import Compiled, MetricObjective, Objective, ObjectiveLike
from dnip.method.problem import Problem
from dnip.method.scales import Spacing, WeightScale
from dnip.solvers.kernels.coordinate import Descent
from dnip.solvers.kernels.rows import Flips, Levels, Rows
from dnip.solvers.kernels.values import MISSED, Values

S = TypeVar("S")
T = TypeVar("T")

# Bytes of a table whose rows are divided among threads, and cells that are worth a thread.
_DIVIDED, _FEWEST_CELLS = 1 << 22, 1 << 17
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
        per_value = self.n_classes
        if isinstance(objective, Objective) and objective.needs_cells:
            per_value **= 2
        levels = _levels_of(weights)
        self._passes = _Passes(problem, levels, per_value, self.following)
        self.most_lines = self._passes.most_lines if self._compiled else 1
        self._demands, self._floors = demands, dict[str, Any]()
        if demands is not None and (demands.no_silence or demands.has_rates):
            raw = np.diag(self._passes.count(self.equal_weights()))
            floors, total = demands.floors(problem.class_counts, raw)
            self._floors = {"floors": floors, "floor": total}
        self.values = self.compile()
        self._descent = Descent(self.values, levels, self._passes.whole)

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
        return Proposal(here, float(self.values(self._passes.count(here))))

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
            n_searches = self._search_lines()
            self.line_searches += n_searches
            self.evaluations += n_searches * self.scale
            if not n_searches or is_over(self.deadline):
                return Proposal(descent.point.copy(), descent.value)

    def _search_lines(self) -> int:
        """Search as many lines as may lie between two looks at the clock; return 0 at the end."""
        descent, passes = self._descent, self._passes
        if passes.whole is not None:
            n_searches: int = descent.run(self.most_lines)
            return n_searches
        if (c := descent.next_class()) < 0:
            return 0
        if not descent.counted:
            descent.set_counts(passes.count(descent.point))
        descent.search(passes.find_flips(descent.point, c))
        return 1

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
        if self.problem.shares is not None:  # passes count right predictions alone
            multipliers = self._weights.multipliers(point.astype(np.int64))
            return self.problem.in_examples(self.problem.confusion(multipliers))
        return self.problem.in_examples(self._passes.count(point.astype(np.float64)))

    def in_one_piece(self) -> Rows:
        """Return all rows, also where threads share them."""
        return self._passes.whole or self._passes.lay_out(slice(None))

    def lay_out_by_candidates(self) -> Rows:
        """Return all rows as branch and bound reads them."""
        return self._passes.lay_out(slice(None), sparse=True)

    def keeps_floors(self, point: WeightIndices | Floats) -> bool:
        """Whether enough rows are right at a point, held classes included."""
        return not self.values.shortfall(self._passes.count(point.astype(np.float64)))

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


class _Passes:
    """What a search needs from the rows of a problem.

    The open rows are copied into the layout that is searched fastest. Those of a large table are
    divided among threads: kernels release the interpreter lock, and the counts of the parts add up.

    Parameters
    ----------
    problem : Problem
    levels : Levels
        The weights that a class may have.
    per_value : int, optional
        Counts that an objective reads for one value; N by default.
    followers : sequence of int, optional
        Classes that stand at the geometric middle of those with examples.

    Attributes
    ----------
    whole : Rows or None
        All open rows, for descents that run compiled as a whole; None if they are divided.
    most_lines : int
        Lines or points that compiled code may look at between two looks at the clock.
    """

    def __init__(
        self,
        problem: Problem,
        levels: Levels,
        per_value: int | None = None,
        followers: Sequence[int] = (),
    ) -> None:
        leaders = np.flatnonzero(problem.present).tolist() if followers else []
        self._problem, self._levels, self._following = problem, levels, (followers, leaders)
        p, n_parts = problem.probabilities, 1
        if p.nbytes > _DIVIDED and problem.shares is None:
            n_parts = max(min(n_cores(), p.size // _FEWEST_CELLS), 1)
        bounds = pairwise(len(p) * i // n_parts for i in range(n_parts + 1))
        self._pool = ThreadPoolExecutor(n_parts, "dnip") if n_parts > 1 else None
        self._parts = self._run(self.lay_out, [slice(*ends) for ends in bounds])
        self.whole = self._parts[0] if n_parts == 1 else None
        # a line reads every row, and counts where a row flips
        read = sum(rows.n_cells + rows.n_rows for rows in self._parts)
        read += (per_value or p.shape[1]) * (1 + min(len(p), levels.size))
        self.most_lines = max(_CELLS // read, 1)
        if n_parts > 1:
            most = sum(rows.flips.room for rows in self._parts)
            self._joined = Flips(p.shape[1], most)

    def lay_out(self, piece: slice, *, sparse: bool = False) -> Rows:
        """Return some rows for compiled code; shared rows only in one piece."""
        of = self._problem
        p, labels, counts = (a[piece] for a in (of.probabilities, of.labels, of.counts))
        return Rows(p, labels, counts, self._levels, of.shares, *self._following, sparse=sparse)

    def count(self, indices: Floats) -> Confusion:
        """Return the confusion counts of shape (N, N) at weight indices of shape (N,)."""
        return reduce(add, self._run(lambda rows: rows.count(indices), self._parts))

    def find_flips(self, indices: Floats, c: int) -> Flips:
        """Return where rows flip as class `c` goes from 1 to K, the others at `indices`.

        The next call uses the same memory.
        """
        flips = self._run(lambda rows: rows.find_flips(indices, c), self._parts)
        if len(flips) == 1:
            return flips[0]
        self._joined.join(flips)
        return self._joined

    def _run(self, work: Callable[[S], T], parts: list[S]) -> list[T]:
        return list(map(work, parts) if self._pool is None else self._pool.map(work, parts))


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
