"""From an opt set and settings to a solution: the driver, constraints, and what is reported."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InfeasibleError, InvalidInputError, listed, warn
from dnip.base.typing import Floats
from dnip.base.validation import check_choice, check_integer, check_number
from dnip.method.constraints import Constraints, Demands
from dnip.method.objective import (
    Compiled,
    Goal,
    MetricObjective,
    Objective,
    ObjectiveLike,
    as_objective,
    on_classes,
)
from dnip.method.problem import Problem
from dnip.method.scales import MAX_SCALE, WeightScale
from dnip.method.solution import Solution, Status
from dnip.solvers.anneal import Anneal
from dnip.solvers.coordinate import Coordinate
from dnip.solvers.driver import Progress, Solver, run
from dnip.solvers.exact import Exact
from dnip.solvers.landscape import Landscape

# Clauses of a message on constraints that are missed.
_MOST_MISSED = 5

#: The solvers that a name can ask for, with their default settings.
SOLVERS: dict[str, Callable[..., Solver]] = {
    solver.name: solver for solver in (Coordinate, Exact, Anneal)
}


def solver_of(solver: str | Solver) -> Solver:
    """Return the solver of a name, or the given solver, checked.

    Raises
    ------
    InvalidInputError
        For an unknown name, or an object that is not a solver.

    Examples
    --------
    >>> solver_of("coordinate")
    Coordinate(effort=1.0, chains=4)
    """
    if isinstance(solver, str):
        return SOLVERS[check_choice("solver", solver, list(SOLVERS))]()
    if not isinstance(solver, Solver):
        raise InvalidInputError(
            f"solver must be the name of a solver or a solver; got {solver!r}",
            hint=f"Give one of {', '.join(SOLVERS)}, an object such as dnip.solvers.Exact(), or "
            "one whose class is derived from dnip.solvers.Solver",
        )
    return solver


@dataclass(frozen=True, eq=False)
class Settings:
    """Everything that a search needs to know besides its data; `settings_of` checks it.

    Attributes
    ----------
    objective : ObjectiveLike
        What to minimise.
    scale : WeightScale or None
        None: over the spread of the probabilities, so that p and p^k are one problem.
    solver : Solver
    seed : int
    time_limit : float or None
    constraints : Constraints
    """

    objective: ObjectiveLike
    scale: WeightScale | None
    solver: Solver
    seed: int
    time_limit: float | None
    constraints: Constraints


def settings_of(
    objective: Goal = None,
    *,
    scale: int | str | WeightScale | None = None,
    solver: str | Solver = "coordinate",
    seed: int = 0,
    time_limit: float | None = None,
    constraints: Constraints | None = None,
) -> Settings:
    """Check the settings of a search, which are those of :func:`dnip.solve`.

    The published objective allows silence.

    Raises
    ------
    InvalidInputError
        For a setting outside its range, or a solver that cannot minimise the objective.

    Examples
    --------
    >>> settings = settings_of(scale=30, solver="exact")
    >>> settings.solver, str(settings.scale)
    (Exact(gap=0.0), '30')
    """
    goal, algorithm = as_objective(objective), solver_of(solver)
    demanded = Constraints() if constraints is None else constraints
    if not isinstance(demanded, Constraints):
        raise InvalidInputError(
            f"constraints must be a dnip.Constraints; got {constraints!r}",
            hint="Write constraints=dnip.Constraints(max_accuracy_loss=0.01)",
        )
    if isinstance(goal, Objective) and goal.smoothing is not None:  # as published
        demanded = replace(demanded, allow_silence=True)
    if time_limit is not None:
        time_limit = check_number("time_limit", time_limit, at_least=0)
    levels = None if scale is None else WeightScale.of(scale)
    seed = check_integer("seed", seed, at_least=0)
    if levels is None and isinstance(algorithm, Anneal):
        raise InvalidInputError(
            f"the anneal solver makes so many moves for each step of the scale, and the usual "
            f"scale has {MAX_SCALE:,} steps",
            hint="Give scale=30 as in the paper, or scale='log:100' (--scale log:100)",
        )
    is_bounded = isinstance(goal, Objective) or goal == MetricObjective("balanced-accuracy")
    if not is_bounded and not algorithm.takes_any_objective:
        raise InvalidInputError(
            f"the {algorithm.name} solver bounds the terms of an Objective, and balanced "
            f"accuracy; it knows no bound for {goal.to_dict()}",
            hint="Use coordinate, which needs no bound and proves nothing",
        )
    return Settings(goal, levels, algorithm, seed, time_limit, demanded)


#: The paper's annealing, β = 2.7, τ = 0.2, K = 30. The paper chooses μ on a dev set and does not
#: print it. A plain fit has no dev set and takes that of the authors' code, 4000.
PAPER = settings_of(Objective.published(), scale=30, solver=Anneal())
#: What ``--preset`` takes.
PRESETS = {"paper": PAPER}


def solve(
    probabilities: ArrayLike,
    labels: ArrayLike,
    objective: Goal = None,
    *,
    scale: int | str | WeightScale | None = None,
    solver: str | Solver = "coordinate",
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    time_limit: float | None = None,
    classes: Sequence[str] | None = None,
    constraints: Constraints | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Find weight indices ξ, one per class, that minimise an objective on an opt set.

    Examples are predicted as argmax_n ω_n·p_mn (equation 3), where ω_n is the weight with the index
    ξ_n; a tie goes to the lowest class.

    Parameters
    ----------
    probabilities : array-like or DataFrame of shape (M, N)
        Class probabilities; a large matrix of float64 or float32 is not copied.
    labels : array-like of shape (M,)
        Class indices 0..N-1 or class names, of at least two classes. A class without examples is
        not fitted: its index becomes the geometric middle of the fitted ones, and a warning names
        it.
    objective : Objective, str or callable, optional
        What to minimise; ``Objective()`` by default. ``"balanced-accuracy"`` and ``"macro-f1"`` are
        maximised instead. Any function of a confusion matrix (N, N) works too, but is slower: it is
        called for each candidate.
    scale : int, str or WeightScale, optional
        ``"log:K"``: indices are 1..K and weights K geometric steps from 1/K to 1. K alone: weights
        ξ/K, as in the paper. ``"span:S"``: 10,000 geometric steps from e^-S to 1. By default S is
        the spread of the probabilities, so that p and p^k are one problem.
    solver : str or Solver, default="coordinate"
        ``"coordinate"``, ``"exact"``, ``"anneal"``, or a solver with settings of its own.
    seed : int, default=0
        Of the solver's random choices; the same seed gives the same solution.
    sample_weight : array-like of shape (M,), optional
        How much each example counts.
    time_limit : float, optional
        Seconds after which the best so far is returned.
    classes : sequence of str, optional
        Class names in column order; by default the columns of a data frame.
    constraints : Constraints, optional
        What the weights must satisfy on these examples. In any case, a class that the raw argmax
        gets right on some examples stays right on at least one, unless the constraints allow
        silence or the objective is the published one.
    progress : callable, optional
        Called with a :class:`~dnip.method.solution.TraceEntry` at every event.

    Returns
    -------
    Solution

    Raises
    ------
    InvalidInputError
        For input or settings that break their contract.
    InfeasibleError
        If no weights on the scale satisfy the constraints, or none were found.

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
    settings = settings_of(
        objective,
        scale=scale,
        solver=solver,
        seed=seed,
        time_limit=time_limit,
        constraints=constraints,
    )
    problem = Problem.of(probabilities, labels, sample_weight=sample_weight, classes=classes)
    return find_optimum(problem, settings, began, progress=progress)


def find_optimum(
    problem: Problem,
    settings: Settings,
    began: float,
    *,
    absent: Collection[int] = (),
    progress: Progress | None = None,
) -> Solution:
    """Search one opt set for the plain optimum of an objective.

    Parameters
    ----------
    problem : Problem
        The opt set.
    settings : Settings
    began : float
        The ``time.perf_counter`` reading from which time counts.
    absent : collection of int
        Classes that do not occur where the weights will be used: they get the least weight.
    progress : callable, optional
        Called with a :class:`~dnip.method.solution.TraceEntry` at every event.

    Raises
    ------
    InvalidInputError
        For constraints that name other classes.
    InfeasibleError
        If no weights on the scale keep the constraints, or none were found.
    """
    demands = settings.constraints.on(problem.classes, problem.present)
    unfitted = _find_unfitted(problem, demands, absent)
    goal = on_classes(settings.objective, problem.classes)
    scale = settings.scale or WeightScale.over(problem.probabilities, problem.counts)
    by_class = isinstance(goal, Compiled) and goal.is_by_class
    if not (by_class and isinstance(settings.solver, Coordinate)):
        problem = problem.expanded()
    lowest = dict.fromkeys(absent, 1.0)
    frozen = dict.fromkeys(demands.frozen, float(scale.size))
    held = dict.fromkeys(unfitted, float(scale.size)) | lowest | frozen
    landscape = Landscape(problem, goal, scale, held, demands, unfitted)
    best, status, trace = run(
        settings.solver,
        landscape,
        rng=np.random.default_rng(settings.seed),
        deadline=None if settings.time_limit is None else began + settings.time_limit,
        progress=progress,
    )
    point = best.point
    if not landscape.keeps_floors(point):
        is_proven = status is Status.OPTIMAL and not absent
        raise _infeasible(landscape, demands, point, is_proven=is_proven)

    # the plain objective of the final point, whatever the solver did inside
    confusion = landscape.confusion(point)
    value = goal(confusion)
    bound = None if best.lower_bound == -math.inf else best.lower_bound
    ruled = (*unfitted, *absent)
    if ruled:  # these classes have weights by a rule, and the others are optimal for that alone
        bound = None
        status = status.unproven
    if bound is not None:  # the two values of one point may differ by rounding
        bound = value if status is Status.OPTIMAL else min(bound, value)
    return Solution(
        weight_indices=point.astype(np.int64),
        scale=scale,
        objective=goal.to_dict(),
        value=value,
        terms=goal.terms_of(confusion),
        confusion=confusion,
        status=status,
        lower_bound=bound,
        gap=None if bound is None else value - bound,
        evaluations=landscape.evaluations,
        seconds=time.perf_counter() - began,
        solver=settings.solver.name,
        seed=settings.seed,
        trace=trace,
        unfitted=ruled,
        constraints=demands.to_dict(confusion, landscape.confusion(landscape.equal_weights())),
    )


def _find_unfitted(problem: Problem, demands: Demands, absent: Collection[int]) -> tuple[int, ...]:
    """Return the classes without examples that are neither absent nor frozen, and warn of them."""
    names = problem.classes
    for c in demands.frozen:
        if c in absent:
            raise InvalidInputError(
                f"class {names[c]} is frozen, but its share is 0 where weights will be used",
                hint="Give it a share, or do not freeze it",
            )
    missing = np.flatnonzero(~problem.present).tolist()
    unfitted = tuple(c for c in missing if c not in absent and c not in demands.frozen)
    if unfitted:
        warn(
            f"no labelled example of class {listed([names[c] for c in unfitted])}: not fitted, its "
            "weight is the geometric middle of the fitted ones"
        )
    return unfitted


def _infeasible(
    landscape: Landscape, demands: Demands, nearest: Floats, *, is_proven: bool
) -> InfeasibleError:
    """Return the error of demands that were missed, by least at the point `nearest`."""
    raw = landscape.confusion(landscape.equal_weights())
    missed = demands.missed(landscape.confusion(nearest), raw)
    more = f"; and {len(missed) - _MOST_MISSED} more" if len(missed) > _MOST_MISSED else ""
    known = "no weights on this scale" if is_proven else "no weights were found that"
    unsure = "" if is_proven else ", or take the exact solver to know for sure"
    return InfeasibleError(
        f"{known} satisfy all constraints on the labelled rows; where they are missed by least, "
        f"{'; '.join(missed[:_MOST_MISSED])}{more}",
        hint=f"Ask for less{unsure}",
    )
