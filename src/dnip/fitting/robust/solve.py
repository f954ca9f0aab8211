"""From labels and unlabelled rows to weights that hold on other rows."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Unpack

import numpy as np

from dnip.base.arrays import ArrayLocation, check_probabilities
from dnip.base.errors import InvalidInputError
from dnip.fitting.robust.constraint_repair import ConstraintRepair
from dnip.fitting.robust.decision import Decision
from dnip.fitting.robust.drift import find_drift
from dnip.fitting.robust.rounding import lower, round_to_scale
from dnip.fitting.robust.smooth import ROWS_PER_CLASS, fit_smooth
from dnip.fitting.settings import FitKeywords, FitSettings
from dnip.method.objective import Objective, on_classes
from dnip.method.problem import Problem
from dnip.method.solution import Status
from dnip.priors import check_prior, weigh_rows
from dnip.solvers import Coordinate, find_optimum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from dnip.base.typing import Floats, Labels, Probabilities
    from dnip.fitting.robust.rounding import Rounded
    from dnip.method.objective import ConfusionFunction, ObjectiveLike
    from dnip.method.solution import Solution
    from dnip.solvers import Progress

# Labels of a class at which it is halfway between the smooth estimator and the optimum.
_HALFWAY = 4.0
# Most cells, and most products of Newton's method, of a robust fit that was not asked for.
_MOST_CELLS, _MOST_PRODUCTS = 10_000_000, 200_000_000

_CUT_SHORT = (Status.TIME_LIMIT, Status.INTERRUPTED)


class RobustSolution(NamedTuple):
    """A solution, and the decision behind it; None for the plain optimum.

    `moved` are the labelled rows, moved to where the unlabelled ones are, if these are different.
    """

    solution: Solution
    decision: Decision | None
    moved: Probabilities | None = None


def solve_robustly(
    probabilities: ArrayLike,
    labels: ArrayLike,
    objective: ObjectiveLike | ConfusionFunction | None = None,
    *,
    unlabelled: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
    progress: Progress | None = None,
    **settings: Unpack[FitKeywords],
) -> RobustSolution:
    """Find weights that hold on other rows, even with few labels.

    There are two estimates. The smooth one uses every label well, but only makes classes equally
    likely. The other is the optimum of the objective on the labels and on unlabelled rows, which
    count for each class by the probability that the smooth estimate gives them. A class with n
    labels goes n/(n + 4) of the way from the first to the second. See "Few labels" in the
    documentation.

    Parameters
    ----------
    probabilities, labels, objective
        As for :func:`dnip.solve`.
    unlabelled : array-like of shape (U, N), optional
        Class probabilities of rows without a label, from where the weights will be used. If they
        differ from the labelled ones by more than chance and class mix, the weights follow them.
    sample_weight : array-like of shape (M,), optional
        How often each example counts: 2 means the same as the example twice.
    classes, progress
        As for :func:`dnip.solve`.
    **settings
        ``scale``, ``solver``, ``seed`` and ``time_limit`` as for :func:`dnip.solve`, and:

        robust : {"auto", "on", "off"}, default="auto"
            ``"off"`` is :func:`dnip.solve`. ``"auto"`` means ``"off"`` for objectives without
            COBias, for solvers other than coordinate, and for large tables (10 million cells, or
            very many classes).
        target_prior : mapping, sequence or "uniform", optional
            Class shares where the weights will be used. Examples then count by the target share of
            their class over the observed one. A class with share 0 gets the least weight.
        constraints : Constraints, optional
            What the weights must satisfy on the labelled rows. If those of a robust fit do not,
            they go toward the optimum that does, until they do.

    Returns
    -------
    solution : Solution
        Its value and terms are those of the final weights on the labelled rows.
    decision : Decision or None
        How the weights came about; None for the plain optimum.

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
    >>> p = [[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]
    >>> found = solve_robustly(p, [0, 1, 0, 1], unlabelled=[[0.7, 0.3]] * 50)
    >>> found.solution.weights.round(2)
    array([0.36, 1.  ])
    >>> print(found.decision.sentence)
    robust: with 2 labels per class, the optimum of labels and 50 unlabelled rows counts 33%,
    a smooth fit the rest.
    """
    began = time.perf_counter()
    chosen = FitSettings(objective, **settings)
    problem = Problem.of(probabilities, labels, sample_weight=sample_weight, classes=classes)
    others = _check_unlabelled(unlabelled, problem)
    return fit_robustly(problem, chosen, others, began, progress=progress)


def fit_robustly(
    given: Problem,
    settings: FitSettings,
    unlabelled: Probabilities,
    began: float | None = None,
    *,
    progress: Progress | None = None,
) -> RobustSolution:
    """Fit as :func:`solve_robustly` does, on checked input.

    Parameters
    ----------
    given : Problem
        The labelled rows.
    settings : FitSettings
    unlabelled : ndarray of shape (U, N)
        None of them is an empty array.
    began : float, optional
        The ``time.perf_counter`` reading from which time counts; now by default.
    progress : callable, optional
        Called with a :class:`~dnip.method.solution.TraceEntry` at every event.
    """
    if began is None:
        began = time.perf_counter()
    problem = given
    target: Floats | None = None
    absent: tuple[int, ...] = ()
    if settings.target_prior is not None:
        target = check_prior(settings.target_prior, given.classes)
        problem = _weighed(given, target)
        absent = tuple(np.flatnonzero(target == 0).tolist())

    def plain_optimum(began: float) -> Solution:
        return find_optimum(problem, settings, began, absent=absent, progress=progress)

    goal = on_classes(settings.objective, problem.classes)
    applies = isinstance(settings.solver, Coordinate) and _closes_gaps(goal) and _is_quick(problem)
    if settings.robust == "off" or (settings.robust == "auto" and not applies):
        return RobustSolution(plain_optimum(began), None)

    # 1. the smooth estimate
    deadline = None if settings.time_limit is None else began + settings.time_limit
    rng = np.random.default_rng(settings.seed)
    p, labels, counts = _counted_rows(given)
    drift = find_drift(p, labels, unlabelled, target, counts) if len(unlabelled) else None
    if drift is not None:
        p = drift.probabilities
    smooth = fit_smooth(p, labels, counts, unlabelled, rng, target, deadline)

    # 2. the optimum on labelled rows, and on unlabelled ones in expectation
    repair = ConstraintRepair(settings.constraints, problem)
    found = find_optimum(
        smooth.rows.as_problem(problem.classes, smooth.shares),
        replace(settings, objective=goal, constraints=repair.freezing),
        began,
        absent=absent,
        progress=progress,
    )

    # 3. between the two, on the scale, and so that the constraints hold
    optimum = np.log(found.weights)
    trust = smooth.support / (smooth.support + _HALFWAY)
    blended = repair.freeze(repair.wake(blend(smooth.log_weights, optimum, trust)))
    rounded = round_to_scale(blended, settings.scale, anchored=repair.anchored)
    weights, toward = repair.repair(
        lower(rounded, absent, settings.scale),
        lambda: plain_optimum(began if repair.raw_keeps else time.perf_counter()),
        settings.scale,
        absent,
    )
    decision = Decision(
        n_unlabelled=len(unlabelled),
        support=smooth.support,
        trust=trust,
        shares=smooth.shares,
        sharpness=smooth.sharpness,
        batch=smooth.batch,
        smooth=smooth.log_weights,
        optimum=optimum,
        drift=None if drift is None else drift.p_value,
        toward_constraints=toward,
    )
    solution = _restate(found, weights, problem, goal, repair, began)
    return RobustSolution(solution, decision, None if drift is None else drift.probabilities)


def _counted_rows(problem: Problem) -> tuple[Probabilities, Labels, Floats]:
    """Return probabilities, labels and weights, in examples, of the rows that count."""
    counted = problem.counts > 0
    return (
        np.asarray(problem.probabilities[counted], np.float64),
        problem.labels[counted],
        np.asarray(problem.counts[counted] * problem.unit, np.float64),
    )


def blend(smooth: Floats, optimum: Floats, trust: Floats) -> Floats:
    """Return log-weights between two estimates; classes without labels get the mean of the others.

    Only differences of log-weights matter, so the two are first shifted to the same mean.

    Parameters
    ----------
    smooth, optimum : ndarray of shape (N,)
        Log-weights.
    trust : ndarray of shape (N,)
        How much of the way from `smooth` to `optimum` each class goes; 0 for one without labels.

    Examples
    --------
    >>> blend(np.zeros(3), np.array([0.4, -0.4, 9.0]), np.array([0.5, 0.5, 0]))
    array([ 0.2, -0.2,  0. ])
    """
    present = trust > 0
    way = optimum - smooth
    blended = smooth + trust * (way - way[present].mean())
    blended[~present] = blended[present].mean()
    return np.asarray(blended)


def _is_quick(problem: Problem) -> bool:
    n_rows, n_classes = len(problem.labels), problem.n_classes
    products = min(n_rows, ROWS_PER_CLASS * n_classes) * n_classes**2
    return problem.n_cells <= _MOST_CELLS and products <= _MOST_PRODUCTS


def _weighed(problem: Problem, target: Floats) -> Problem:
    """Return the problem with weights for other class shares."""
    own = np.asarray(problem.counts * problem.unit, np.float64)
    weight = weigh_rows(problem.labels, target, problem.classes, own)
    return Problem.trusted(problem.probabilities, problem.labels, problem.classes, weight)


def _closes_gaps(goal: ObjectiveLike) -> bool:
    return isinstance(goal, Objective) and goal.beta > 0 and "cobias" in goal.terms


def _check_unlabelled(unlabelled: ArrayLike | None, problem: Problem) -> Probabilities:
    if unlabelled is None:
        return np.empty((0, problem.n_classes))
    others = check_probabilities(unlabelled, location=ArrayLocation("unlabelled"))
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
    repair: ConstraintRepair,
    began: float,
) -> Solution:
    """Return a solution with other weights, and their objective on the labelled rows."""
    confusion = problem.in_examples(problem.confusion(weights.multipliers))
    return replace(
        found,
        weight_indices=weights.indices,
        objective=goal.to_dict(),
        value=goal(confusion),
        terms=goal.terms_of(confusion),
        confusion=confusion,
        status=found.status if found.status in _CUT_SHORT else Status.FINISHED,
        lower_bound=None,
        gap=None,
        seconds=time.perf_counter() - began,
        constraints=repair.summary(weights.multipliers),
    )
