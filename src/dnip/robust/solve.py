"""From labels and unlabelled rows to weight indices that hold on other rows."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.errors import DNIPWarning, InvalidInputError
from dnip.metrics.confusion import count_pairs
from dnip.objective import Objective, as_objective, on_classes
from dnip.priors import check_prior, weigh_rows
from dnip.problem import Problem
from dnip.robust.blend import blend, trust_labels
from dnip.robust.decision import Decision
from dnip.robust.guard import go_as_far_as_harmless, is_harmless
from dnip.robust.keeping import Keeper
from dnip.robust.resampling import SAMPLES, repeatable_part, resampled_optima
from dnip.robust.smooth import fit_smooth, is_quick
from dnip.solution import Status
from dnip.solvers import Coordinate, Search
from dnip.validation import ArrayPlace, check_choice, check_probabilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dnip.constraints import Constraints
    from dnip.objective import ConfusionFunction, ObjectiveLike
    from dnip.priors import PriorLike
    from dnip.robust.rounding import Rounded
    from dnip.solution import Solution
    from dnip.solvers import Progress, Solver
    from dnip.typing import Counts, Floats, Probabilities

#: When to fit robustly: where few labels ask for it, always, or never.
ROBUST = ("auto", "on", "off")

# From here on, `auto` takes the plain optimum itself.
_ENOUGH_TRUST = 0.95
# The least μ of a search on few labels: PMI sums logarithms of their small counts.
_SMOOTHING = 10.0

_CUT_SHORT = (Status.TIME_LIMIT, Status.INTERRUPTED)


class RobustSolution(NamedTuple):
    """A solution, and how it came about; None where the plain optimum was asked for."""

    solution: Solution
    decision: Decision | None


def solve_robustly(
    probabilities: ArrayLike,
    labels: ArrayLike,
    objective: ObjectiveLike | ConfusionFunction | None = None,
    *,
    robust: str = "auto",
    unlabelled: ArrayLike | None = None,
    scale: int | str = 30,
    solver: str | Solver = "coordinate",
    seed: int = 0,
    sample_weight: ArrayLike | None = None,
    target_prior: PriorLike | None = None,
    time_limit: float | None = None,
    classes: Sequence[str] | None = None,
    constraints: Constraints | None = None,
    progress: Progress | None = None,
) -> RobustSolution:
    """Find weight indices that are safe on few labels, and the plain optimum on many.

    Between a smooth fit, which wastes no label but only makes classes equally likely, and the
    optimum of the objective, which follows the noise of few labels, every class goes as far as its
    labels are to be trusted. Unlabelled rows serve both. See "Few labels" in the documentation.

    Parameters
    ----------
    probabilities, labels, objective
        As for :func:`dnip.solve`.
    robust : {"auto", "on", "off"}, default="auto"
        ``"off"`` is :func:`dnip.solve`. ``"auto"`` takes the plain optimum where every class has
        labels enough; it is that of `solve` for objectives without COBias, for solvers other than
        coordinate, as who names one asks for its optimum, and for tables of so many classes (10
        million cells, 4,000 rows of each class counted) that it would take long. ``"on"`` always
        blends.
    unlabelled : array-like of shape (U, N), optional
        Class probabilities of rows without a label, from where the weights will be used.
    target_prior : mapping, sequence or "uniform", optional
        Class shares where the weights will be used. Examples then count by target over observed
        share of their class; one without a share does not count, and gets the least weight.
    scale, solver, seed, sample_weight, time_limit, classes, progress
        As for :func:`dnip.solve`.
    constraints : Constraints, optional
        What the weights have to keep to on the labelled rows, a robust fit's as well: where it does
        not, it goes toward the optimum that does until it does.

    Returns
    -------
    solution : Solution
        Its value and terms are those of the final weights on the labelled rows.
    decision : Decision or None
        What was decided; None where `solve` alone was asked.

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
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> found = solve_robustly(p, [0, 1, 0, 1], unlabelled=[[0.7, 0.3]] * 50)
    >>> found.solution.weight_indices
    array([12, 28])
    >>> print(found.decision.sentence)
    robust: with 2 labels per class the optimum counts 0%,
    a smooth fit drawn to batch calibration of 50 unlabelled rows the rest.
    """
    began = time.perf_counter()
    check_choice("robust", robust, ROBUST)
    problem = Problem.of(probabilities, labels, sample_weight=sample_weight, classes=classes)
    target: Floats | None = None
    absent: tuple[int, ...] = ()
    if target_prior is not None:
        target = check_prior(target_prior, problem.classes)
        problem = _weighed(problem, target)
        absent = tuple(np.flatnonzero(target == 0).tolist())
    search = Search(objective, scale, solver, seed, time_limit, progress, absent, constraints)
    unseen = _check_unlabelled(unlabelled, problem)
    goal = on_classes(as_objective(objective), problem.classes)
    searches = solver == Coordinate.name or isinstance(solver, Coordinate)
    applies = searches and _closes_gaps(goal) and is_quick(problem)
    if robust == "off" or (robust == "auto" and not applies):
        return RobustSolution(search.solve(problem, began), None)

    keeper = Keeper(constraints, problem)
    rng = np.random.default_rng(seed)
    smooth = fit_smooth(problem, unseen, rng, target)
    trust = trust_labels(smooth.accuracies, smooth.support, smooth.slopes)
    plain = robust == "auto" and trust[smooth.present].min() >= _ENOUGH_TRUST
    best = search.solve(problem, began) if plain or keeper.has_floors else None
    if plain and best is not None:
        evidence = smooth.labelled
        found = best
        goal_weights = optimum = np.log(found.weights)
    else:
        evidence = smooth.expected
        easier = _smoothed(goal)
        search = Search(easier, scale, solver, seed, time_limit, progress, absent, keeper.freezing)
        with warnings.catch_warnings():
            if best is not None:  # the search before has told of classes without examples
                warnings.simplefilter("ignore", DNIPWarning)
            found = search.solve(evidence.as_problem(problem.classes), began)
        left = _time_left(time_limit, began, found)
        resampled = resampled_optima(
            evidence, easier, problem.classes, search.scale, rng, left, absent, keeper.freezing
        )
        trust = np.minimum(trust, repeatable_part(resampled, smooth.log_weights))
        optimum = np.vstack([np.log(found.weights), resampled]).mean(axis=0)
        goal_weights = blend(smooth.log_weights, optimum, trust, smooth.present)
    kept, toward = 1.0, 0.0 if keeper.has_floors else None
    if not (plain and is_harmless(evidence, found.weights, smooth.shares)):
        weights, kept = go_as_far_as_harmless(
            evidence,
            keeper.freeze(goal_weights),
            smooth.shares,
            search.scale,
            absent,
            anchored=keeper.anchored,
        )
        weights, toward = keeper.correct(weights, best, search.scale, absent)
        found = _restate(found, weights, problem, goal, keeper, began)
    decision = Decision(
        "optimum" if plain else "blend",
        kept,
        len(unseen),
        smooth.support,
        trust,
        smooth.shares,
        smooth.sharpness,
        smooth.batch,
        smooth.log_weights,
        optimum,
        toward,
    )
    return RobustSolution(found, decision)


def _weighed(problem: Problem, target: Floats) -> Problem:
    """Return the problem of a population with other class shares."""
    own = np.asarray(problem.mass * problem.unit, np.float64)
    weight = weigh_rows(problem.labels, target, problem.classes, own)
    return Problem.of(
        problem.probabilities, problem.labels, sample_weight=weight, classes=problem.classes
    )


def _closes_gaps(goal: ObjectiveLike) -> bool:
    return isinstance(goal, Objective) and goal.beta > 0 and "cobias" in goal.terms


def _smoothed(goal: ObjectiveLike) -> ObjectiveLike:
    if isinstance(goal, Objective) and goal.smoothing < _SMOOTHING:
        return replace(goal, smoothing=_SMOOTHING)
    return goal


def _time_left(time_limit: float | None, began: float, found: Solution) -> float | None:
    """Return the seconds that each resampled search may take: none once the user has had enough."""
    if found.status is Status.INTERRUPTED:
        return 0.0
    if time_limit is None:
        return None
    return max(0.0, began + time_limit - time.perf_counter()) / SAMPLES


def _check_unlabelled(unlabelled: ArrayLike | None, problem: Problem) -> Probabilities:
    if unlabelled is None:
        return np.empty((0, problem.n_classes))
    others = check_probabilities(unlabelled, place=ArrayPlace("unlabelled"))
    if others.shape[1] != problem.n_classes:
        raise InvalidInputError(
            f"unlabelled has {others.shape[1]} columns, but probabilities has {problem.n_classes}",
            hint="Give unlabelled rows of the same classes",
        )
    return others


def _restate(
    found: Solution,
    weights: Rounded,
    problem: Problem,
    goal: ObjectiveLike,
    keeper: Keeper,
    began: float,
) -> Solution:
    """Return a solution of other weights, with the objective of those on the labelled rows."""
    confusion = _confusion(problem, weights.multipliers)
    return replace(
        found,
        weight_indices=weights.indices,
        continuous_weights=None if len(weights.indices) else weights.multipliers,
        objective=goal.to_dict(),
        value=goal(confusion),
        terms=goal.terms_of(confusion),
        confusion=confusion,
        status=found.status if found.status in _CUT_SHORT else Status.FINISHED,
        lower_bound=None,
        gap=None,
        seconds=time.perf_counter() - began,
        constraints=keeper.told(confusion, _confusion(problem, np.ones(problem.n_classes))),
    )


def _confusion(problem: Problem, multipliers: Floats) -> Counts:
    predicted = (multipliers * problem.probabilities).argmax(axis=1)
    n_classes = problem.n_classes
    if problem.unit == 1 and problem.mass.max() == 1:
        return count_pairs(problem.labels, predicted, n_classes, n_classes)
    cells = problem.labels * n_classes + predicted
    weighed = np.bincount(cells, problem.mass * problem.unit, n_classes**2)
    return weighed.reshape(n_classes, n_classes)
