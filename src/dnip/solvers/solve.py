"""From probabilities and labels to a solution."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.base.errors import DNIPWarning, InfeasibleError, InvalidInputError, listed
from dnip.base.validation import (
    check_choice,
    check_integer,
    check_number,
)
from dnip.method.constraints import Constraints
from dnip.method.objective import Objective, as_objective, on_classes
from dnip.method.problem import Problem
from dnip.method.scales import DEFAULT_SCALE, WIDEST, Spacing, WeightScale
from dnip.method.solution import Solution, Status
from dnip.solvers.anneal import Anneal
from dnip.solvers.coordinate import Coordinate
from dnip.solvers.driver import Outcome, Progress, Solver, run
from dnip.solvers.exact import Exact
from dnip.solvers.exhaustive import Exhaustive
from dnip.solvers.nearest import Attempt, explain
from dnip.solvers.spaced import bring_to_one, landscape_over

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import ArrayLike

    from dnip.base.typing import Floats
    from dnip.method.constraints import Demands
    from dnip.method.objective import ConfusionFunction, ObjectiveLike
    from dnip.solvers.landscape import Landscape
    from dnip.solvers.streamed import StreamedProblem

#: The solvers that a name can ask for, with their default settings.
SOLVERS: dict[str, Callable[[], Solver]] = {
    solver.name: solver for solver in (Coordinate, Exact, Anneal, Exhaustive)
}

# Seconds that a search for what a constraint can reach may take: this, or so many times what the
# search itself took.
_LEAST_SPARE, _SPARE = 2.0, 3.0
# Rounds in which classes without examples follow the middle of the fitted ones.
_MAX_ROUNDS = 5


def solve(
    probabilities: ArrayLike,
    labels: ArrayLike,
    objective: ObjectiveLike | ConfusionFunction | None = None,
    *,
    scale: int | str | WeightScale = DEFAULT_SCALE,
    solver: str | Solver = "coordinate",
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = None,
    classes: Sequence[str] | None = None,
    constraints: Constraints | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Find weight indices ξ, one per class, that minimise an objective on an opt set.

    Examples are predicted as argmax_n ω_n·p_mn, the lowest class on a tie; ω_n is the weight that
    the index ξ_n stands for.

    Parameters
    ----------
    probabilities : array-like of shape (M, N)
        Class probabilities; a large matrix of float64 or float32 is searched where it stands.
    labels : array-like of shape (M,)
        Class indices 0..N-1, of at least two classes. A class without examples is not fitted:
        its index becomes the geometric middle of the fitted ones, and a warning names it.
    objective : Objective or callable, optional
        What to minimise; ``Objective()`` by default. Any function of a confusion matrix (N, N)
        will do, at the price of calling it for each candidate.
    scale : int, str or WeightScale, default="log:1000"
        ``"log:K"``: indices are 1..K and weights K geometric steps from 1/K to 1. K alone: weights
        ξ/K, as in the paper. ``"continuous"``: any weights, without indices; for the coordinate
        solver only.
    solver : str or Solver, default="coordinate"
        ``"coordinate"``, ``"exact"``, ``"anneal"``, ``"exhaustive"``, or a solver with settings
        of its own.
    seed : int, default=0
        Of the solver's random choices; the same seed gives the same solution.
    sample_weight : array-like of shape (M,), optional
        How much each example counts.
    time_limit : float, optional
        Seconds after which the best so far is returned.
    classes : sequence of str, optional
        Class names, for messages.
    constraints : Constraints, optional
        What the weights have to keep to on these examples. Whatever they are, a class that the raw
        argmax gets right on some examples is not left with none, unless they allow it or the
        objective is the published one.
    progress : callable, optional
        Receives a :class:`~dnip.method.solution.TraceEntry` at every event.

    Returns
    -------
    Solution

    Raises
    ------
    InvalidInputError
        For input or settings that break their contract.
    InfeasibleError
        If no weights on the scale keep to the constraints, or none were found.

    Warns
    -----
    DNIPWarning
        For classes without examples.

    Examples
    --------
    >>> from dnip import Objective, solve
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> solution = solve(p, [0, 1, 0, 1], Objective(beta=2.7, tau=0.2), scale=30)
    >>> solution.terms["error"], solution.terms["cobias"]
    (0.0, 0.0)
    """
    began = time.perf_counter()
    search = Search(objective, scale, solver, seed, time_limit, progress, constraints=constraints)
    problem = Problem.of(probabilities, labels, sample_weight=sample_weight, classes=classes)
    return search.solve(problem, began)


class Search:
    """The settings of :func:`solve`, checked, to be used on an opt set.

    Parameters
    ----------
    objective, scale, solver, seed, time_limit, progress, constraints
        As for :func:`solve`.
    absent : collection of int
        Classes that do not occur where the weights will be used: they keep the least weight.
    """

    def __init__(
        self,
        objective: ObjectiveLike | ConfusionFunction | None = None,
        scale: int | str | WeightScale = DEFAULT_SCALE,
        solver: str | Solver = "coordinate",
        seed: int = 0,
        time_limit: float | None = None,
        progress: Progress | None = None,
        absent: Collection[int] = (),
        constraints: Constraints | None = None,
    ) -> None:
        self.scale = WeightScale.of(scale)
        self._seed = check_integer("seed", seed, at_least=0)
        self._time_limit = time_limit
        if time_limit is not None:
            self._time_limit = check_number("time_limit", time_limit, at_least=0)
        solver = _solver_of(solver)
        if self.scale.spacing is Spacing.CONTINUOUS and not getattr(solver, "continuous", False):
            raise InvalidInputError(
                f"the {solver.name} solver searches weight indices, but continuous weights have "
                "none",
                hint="Take the coordinate solver, or a scale of many points such as log:1000",
            )
        self._solver = solver
        self._goal = as_objective(objective)
        self._progress = progress
        self._absent = dict.fromkeys(absent, 1.0 if self.scale.size else 1 / WIDEST)
        if constraints is not None and not isinstance(constraints, Constraints):
            raise InvalidInputError(
                f"constraints must be a Constraints; got {constraints!r}",
                hint="Give dnip.Constraints(max_accuracy_loss=..., min_class_accuracies=..., ...)",
            )
        constraints = Constraints() if constraints is None else constraints
        if may_silence(self._goal, constraints):
            constraints = replace(constraints, allow_silence=True)
        self.constraints = constraints

    def solve(self, problem: Problem | StreamedProblem, began: float) -> Solution:
        """Search one opt set; time counts from `began`, a ``time.perf_counter`` reading."""
        deadline = None if self._time_limit is None else began + self._time_limit
        names = problem.classes
        goal = on_classes(self._goal, names)
        demands = self.constraints.on(names, problem.present)
        frozen = demands.frozen
        for c in frozen:
            if c in self._absent:
                raise InvalidInputError(
                    f"class {names[c]} is frozen, but its share is 0 where weights will be used",
                    hint="Give it a share, or do not freeze it",
                )
        missing = np.flatnonzero(~problem.present).tolist()
        unfitted = tuple(c for c in missing if c not in self._absent and c not in frozen)
        if unfitted:
            _warn_unfitted([names[c] for c in unfitted])

        found = self._search(problem, goal, demands, unfitted, self._solver, deadline)
        if not found.landscape.keeps_floors(found.indices):
            found = self._search_again(problem, goal, demands, unfitted, found, deadline)
        return _conclude(
            found,
            self.scale,
            (*unfitted, *self._absent),
            demands,
            solver=self._solver.name,
            seed=self._seed,
            seconds=time.perf_counter() - began,
        )

    def _search(
        self,
        problem: Problem | StreamedProblem,
        goal: ObjectiveLike,
        demands: Demands,
        unfitted: tuple[int, ...],
        solver: Solver,
        deadline: float | None,
        start: Floats | None = None,
    ) -> _Found:
        """Search in rounds, in which classes without examples follow the middle of the others."""
        top = float(self.scale.size or 1)
        frozen = dict.fromkeys(demands.frozen, top)
        held = dict.fromkeys(unfitted, top) | self._absent
        evaluations = 0
        for _ in range(_MAX_ROUNDS):
            landscape = landscape_over(problem, goal, self.scale, {**held, **frozen}, demands)
            outcome = run(
                solver,
                landscape,
                rng=np.random.default_rng(self._seed),
                deadline=deadline,
                progress=self._progress,
                start=start,
            )
            evaluations += landscape.evaluations
            middle = landscape.middle(outcome.indices[problem.present])
            followed = dict.fromkeys(unfitted, middle) | self._absent
            if followed == held or outcome.status in (Status.TIME_LIMIT, Status.INTERRUPTED):
                break
            held = followed
        indices = outcome.indices.copy()
        for c, index in followed.items():
            indices[c] = index
        if not landscape.keeps_floors(indices):
            indices = outcome.indices.copy()  # the last step of the middle was one too far
        return _Found(outcome, landscape, indices, evaluations)

    def _search_again(
        self,
        problem: Problem | StreamedProblem,
        goal: ObjectiveLike,
        demands: Demands,
        unfitted: tuple[int, ...],
        found: _Found,
        deadline: float | None,
    ) -> _Found:
        """Look for what the constraints can reach, one by one; search on if all are kept there.

        Raises
        ------
        InfeasibleError
            If they are not.
        """
        able = isinstance(self._solver, Exact | Exhaustive | Coordinate)
        solver = self._solver if able else Coordinate()
        spare = max(_LEAST_SPARE, _SPARE * found.outcome.trace[-1].seconds)

        def attempt(goal: ObjectiveLike, demands: Demands) -> Attempt:
            end = time.perf_counter() + spare
            tried = self._search(
                problem,
                goal,
                demands,
                unfitted,
                solver,
                end if deadline is None else min(end, deadline),
            )
            if tried.outcome.status is Status.INTERRUPTED:
                raise KeyboardInterrupt  # there is nothing to keep
            return Attempt(
                tried.indices,
                tried.landscape.confusion(tried.indices),
                tried.landscape.keeps_floors(tried.indices),
                tried.outcome.status is Status.OPTIMAL and not unfitted,
            )

        stopped = found.outcome.status in (Status.TIME_LIMIT, Status.INTERRUPTED)
        proven = found.outcome.status is Status.OPTIMAL and not unfitted
        told = explain(
            found.landscape, demands, found.indices, proven, None if stopped else attempt
        )
        if isinstance(told, InfeasibleError):
            raise told
        again = self._search(problem, goal, demands, unfitted, self._solver, deadline, told)
        if not again.landscape.keeps_floors(again.indices):  # the classes without examples moved
            raise InfeasibleError("no weights were found that keep to the constraints")
        return again


def _solver_of(solver: str | Solver) -> Solver:
    """Return the solver of a name, or one that is given, checked."""
    if isinstance(solver, str):
        return SOLVERS[check_choice("solver", solver, list(SOLVERS))]()
    is_solver = callable(getattr(solver, "search", None)) and hasattr(solver, "name")
    if not is_solver or isinstance(solver, type):
        raise InvalidInputError(
            f"solver must be the name of a solver or a solver; got {solver!r}",
            hint=f"Give one of {', '.join(SOLVERS)}, or an object such as dnip.solvers.Exact()",
        )
    return solver


def may_silence(
    objective: ObjectiveLike | ConfusionFunction | None, constraints: Constraints | None
) -> bool:
    """Whether a fit may leave a class with none right: if allowed, or as the paper has it."""
    published = isinstance(objective, Objective) and objective.is_published
    return published or (constraints is not None and constraints.allow_silence)


class _Found(NamedTuple):
    """What a search came to."""

    outcome: Outcome
    landscape: Landscape
    indices: Floats  # (N,) classes without examples at the middle of the others
    evaluations: int


def _warn_unfitted(names: Sequence[str]) -> None:
    warnings.warn(
        f"no labelled example of class {listed(names)}: not fitted, its weight "
        "is the geometric middle of the fitted ones",
        DNIPWarning,
        stacklevel=4,
    )


def _conclude(
    found: _Found,
    scale: WeightScale,
    unfitted: tuple[int, ...],
    demands: Demands,
    *,
    solver: str,
    seed: int,
    seconds: float,
) -> Solution:
    """Report the plain objective of the final indices, whatever the solver did inside."""
    outcome, landscape, indices, evaluations = found
    weights = None
    if scale.spacing is Spacing.CONTINUOUS:
        weights = indices = bring_to_one(indices)
    confusion = landscape.confusion(indices)
    value = landscape.objective(confusion)
    # classes without examples follow a rule of thumb: the rest is then optimal for that choice only
    bound = None if unfitted or outcome.lower_bound == -math.inf else outcome.lower_bound
    status = outcome.status
    if unfitted and status in (Status.OPTIMAL, Status.WITHIN_GAP):
        status = Status.FINISHED
    if bound is not None:  # the two values of one point may differ by rounding
        bound = value if status is Status.OPTIMAL else min(bound, value)
    kept = None
    if demands.are_asked or demands.frozen:
        kept = demands.to_dict(confusion, landscape.confusion(landscape.equal_weights()))
    return Solution(
        weight_indices=(indices if weights is None else np.empty(0)).astype(np.int64),
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
        solver=solver,
        seed=seed,
        trace=outcome.trace,
        unfitted=unfitted,
        spacing=scale.spacing,
        continuous_weights=weights,
        constraints=kept,
    )
