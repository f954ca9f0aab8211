"""The search of one opt set: rounds of the driver, constraints, and what is reported."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.base.errors import DNIPWarning, InfeasibleError, InvalidInputError, listed
from dnip.method.objective import on_classes
from dnip.method.problem import Problem
from dnip.method.scales import WIDEST, Spacing
from dnip.method.solution import Solution, Status
from dnip.solvers.coordinate import Coordinate
from dnip.solvers.driver import Outcome, Progress, Solver, run
from dnip.solvers.nearest import Attempt, explain
from dnip.solvers.spaced import bring_to_one, landscape_over

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnip.base.typing import Floats
    from dnip.method.constraints import Demands
    from dnip.method.objective import ObjectiveLike
    from dnip.solvers.landscape import Landscape
    from dnip.solvers.passes import OptSet
    from dnip.solvers.settings import SearchSettings

# Seconds for a search for what a constraint can reach: at least this, or so many times what the
# search itself took.
_LEAST_SPARE, _SPARE = 2.0, 3.0
# Rounds in which classes without examples follow the middle of the fitted ones.
_MAX_ROUNDS = 5

_CUT_SHORT = (Status.TIME_LIMIT, Status.INTERRUPTED)


def find_optimum(
    problem: OptSet,
    settings: SearchSettings,
    began: float,
    *,
    absent: Collection[int] = (),
    progress: Progress | None = None,
) -> Solution:
    """Search one opt set for the plain optimum of an objective.

    Parameters
    ----------
    problem : Problem, StreamedProblem or SharedProblem
        The opt set.
    settings : SearchSettings
    began : float
        The ``time.perf_counter`` reading from which time counts.
    absent : collection of int
        Classes that do not occur where the weights will be used: they get the least weight.
    progress : callable, optional
        Called with a :class:`~dnip.method.solution.TraceEntry` at every event.

    Raises
    ------
    InvalidInputError
        For constraints that name other classes, or settings that need the whole table in memory.
    InfeasibleError
        If no weights on the scale keep the constraints, or none were found.
    """
    if not isinstance(problem, Problem):
        settings.check_in_passes()
    deadline = None if settings.time_limit is None else began + settings.time_limit
    names = problem.classes
    demands = settings.constraints.on(names, problem.present)
    for c in demands.frozen:
        if c in absent:
            raise InvalidInputError(
                f"class {names[c]} is frozen, but its share is 0 where weights will be used",
                hint="Give it a share, or do not freeze it",
            )
    missing = np.flatnonzero(~problem.present).tolist()
    unfitted = tuple(c for c in missing if c not in absent and c not in demands.frozen)
    if unfitted:
        _warn_unfitted([names[c] for c in unfitted])

    goal = on_classes(settings.objective, names)
    task = _Task(problem, settings, goal, demands, unfitted, tuple(absent), progress)
    found = task.run(settings.solver, deadline)
    if not found.landscape.keeps_floors(found.point):
        found = _search_again(task, found, deadline)
    return _conclude(found, task, seconds=time.perf_counter() - began)


class _Found(NamedTuple):
    """The result of a search."""

    outcome: Outcome
    landscape: Landscape
    point: Floats  # (N,) classes without examples at the middle of the others
    evaluations: int

    @property
    def was_cut_short(self) -> bool:
        return self.outcome.status in _CUT_SHORT


@dataclass(frozen=True, eq=False)
class _Task:
    """What to search: an opt set, seen through an objective, under demands."""

    problem: OptSet
    settings: SearchSettings
    goal: ObjectiveLike
    demands: Demands
    unfitted: tuple[int, ...]
    absent: tuple[int, ...]
    progress: Progress | None

    def run(self, solver: Solver, deadline: float | None, start: Floats | None = None) -> _Found:
        """Search in rounds: classes without examples follow the middle of the others."""
        scale = self.settings.scale
        top, least = (float(scale.size), 1.0) if scale.size else (1.0, 1 / WIDEST)
        absent = dict.fromkeys(self.absent, least)
        frozen = dict.fromkeys(self.demands.frozen, top)
        held = dict.fromkeys(self.unfitted, top) | absent
        evaluations = 0
        for _ in range(_MAX_ROUNDS):
            landscape = landscape_over(
                self.problem, self.goal, scale, {**held, **frozen}, self.demands
            )
            outcome = run(
                solver,
                landscape,
                rng=np.random.default_rng(self.settings.seed),
                deadline=deadline,
                progress=self.progress,
                start=start,
            )
            evaluations += landscape.evaluations
            middle = landscape.middle(outcome.point[self.problem.present])
            followed = dict.fromkeys(self.unfitted, middle) | absent
            if followed == held or outcome.status in _CUT_SHORT:
                break
            held = followed
        point = outcome.point.copy()
        for c, index in followed.items():
            point[c] = index
        if not landscape.keeps_floors(point):
            point = outcome.point.copy()  # the last step of the middle was one too far
        return _Found(outcome, landscape, point, evaluations)

    def is_proven(self, found: _Found) -> bool:
        """Whether no point is better. Classes without examples only follow a rule of thumb."""
        return found.outcome.status is Status.OPTIMAL and not self.unfitted


def _search_again(task: _Task, found: _Found, deadline: float | None) -> _Found:
    """Look for what each constraint can reach; search on if all of them are kept there.

    Raises
    ------
    InfeasibleError
        If they are not.
    """
    solver = task.settings.solver
    probe = solver if solver.is_directed else Coordinate()
    spare = max(_LEAST_SPARE, _SPARE * found.outcome.trace[-1].seconds)

    def attempt(goal: ObjectiveLike, demands: Demands) -> Attempt:
        end = time.perf_counter() + spare
        tried = replace(task, goal=goal, demands=demands).run(
            probe, end if deadline is None else min(end, deadline)
        )
        if tried.outcome.status is Status.INTERRUPTED:
            raise KeyboardInterrupt  # there is nothing worth keeping
        return Attempt(
            tried.point,
            tried.landscape.confusion(tried.point),
            tried.landscape.keeps_floors(tried.point),
            task.is_proven(tried),
        )

    reached = explain(
        found.landscape,
        task.demands,
        found.point,
        task.is_proven(found),
        None if found.was_cut_short else attempt,
    )
    if isinstance(reached, InfeasibleError):
        raise reached
    again = task.run(solver, deadline, start=reached)
    if not again.landscape.keeps_floors(again.point):  # the classes without examples moved
        raise InfeasibleError("no weights were found that satisfy the constraints")
    return again


def _warn_unfitted(names: Sequence[str]) -> None:
    warnings.warn(
        f"no labelled example of class {listed(names)}: not fitted, its weight "
        "is the geometric middle of the fitted ones",
        DNIPWarning,
        stacklevel=4,
    )


def _conclude(found: _Found, task: _Task, *, seconds: float) -> Solution:
    """Report the plain objective of the final point, whatever the solver did inside."""
    outcome, landscape, point, evaluations = found
    scale, unfitted = task.settings.scale, (*task.unfitted, *task.absent)
    weights = None
    if scale.spacing is Spacing.CONTINUOUS:
        weights = point = bring_to_one(point)
    confusion = landscape.confusion(point)
    value = landscape.objective(confusion)
    # classes without examples follow a rule of thumb, and the others are optimal for that alone
    bound = None if unfitted or outcome.lower_bound == -math.inf else outcome.lower_bound
    status = outcome.status
    if unfitted and status in (Status.OPTIMAL, Status.WITHIN_GAP):
        status = Status.FINISHED
    if bound is not None:  # the two values of one point may differ by rounding
        bound = value if status is Status.OPTIMAL else min(bound, value)
    kept = None
    if task.demands.are_asked or task.demands.frozen:
        raw = landscape.confusion(landscape.equal_weights())
        kept = task.demands.to_dict(confusion, raw)
    return Solution(
        weight_indices=(point if weights is None else np.empty(0)).astype(np.int64),
        scale=scale.size,
        objective=landscape.objective.to_dict(),
        value=value,
        terms=landscape.objective.terms_of(confusion),
        confusion=confusion,
        status=status,
        lower_bound=bound,
        gap=None if bound is None else value - bound,
        evaluations=evaluations,
        seconds=seconds,
        solver=task.settings.solver.name,
        seed=task.settings.seed,
        trace=outcome.trace,
        unfitted=unfitted,
        spacing=scale.spacing,
        continuous_weights=weights,
        constraints=kept,
    )
