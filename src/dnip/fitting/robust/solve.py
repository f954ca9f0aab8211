"""From labels and unlabelled rows to weights that hold on other rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dnip.base.typing import Floats, Probabilities
from dnip.fitting.robust.calibrating import find_drift
from dnip.fitting.robust.repair import ConstraintRepair
from dnip.fitting.robust.smooth import ROWS_PER_CLASS, fit_smooth
from dnip.method.constraints import Constraints
from dnip.method.objective import Objective, on_classes
from dnip.method.problem import Problem
from dnip.method.scales import WeightScale
from dnip.method.solution import Solution
from dnip.priors.calibration import weigh_rows
from dnip.priors.target import check_prior
from dnip.solvers import Coordinate, Progress, Settings, find_optimum


@dataclass(frozen=True, eq=False)
class Blend:
    """How the coefficients of a robust fit came about.

    Attributes
    ----------
    n_unlabelled : int
        Unlabelled rows that were given; only a sample is used if there are many.
    support : ndarray of shape (N,)
        Labels of each class.
    trust : ndarray of shape (N,)
        Part of the way from the smooth estimator to the optimum, 0..1.
    shares : ndarray of shape (N,)
        Class shares, given or estimated.
    sharpness : float
        Inverse temperature at which the probabilities are calibrated.
    batch, smooth, optimum : ndarray of shape (N,)
        Log-weights of the prior, of the smooth estimator, and of the optimum of labels and
        unlabelled rows.
    drift : float or None
        The p value of the unlabelled rows being like the labelled ones, if it is so small that the
        labelled ones were moved; else None.
    toward_constraints : float
        How far the weights went from there to the optimum that satisfies the constraints, 0..1.
    """

    n_unlabelled: int
    support: Floats
    trust: Floats
    shares: Floats
    sharpness: float
    batch: Floats
    smooth: Floats
    optimum: Floats
    drift: float | None
    toward_constraints: float

    @property
    def sentence(self) -> str:
        """What was decided and why, in a few lines of text."""
        present = self.support > 0
        labels = _span(self.support[present], "{:,.0f}")
        part = _span(self.trust[present], "{:.0%}")
        rows = f" and {self.n_unlabelled:,} unlabelled rows" if self.n_unlabelled else ""
        noun = "label" if labels == "1" else "labels"
        said = f"robust: with {labels} {noun} per class, the weights go {part} of the way"
        said += f"\nfrom a simple model to the best weights for the labels{rows}."
        if self.drift is not None:
            said += (
                f"\nThe unlabelled rows differ from the labelled ones beyond chance (p = "
                f"{self.drift:.1g}), and not by their\nclass mix alone. The weights follow the "
                "unlabelled rows: labelled ones were moved to where these lie."
            )
        if self.toward_constraints:
            said += (
                f"\nThe constraints were not kept there: {self.toward_constraints:.0%} of the way "
                "to the optimum that keeps them was gone."
            )
        return said

    def to_dict(self) -> dict[str, Any]:
        """Return it as a coefficients file records it."""
        return {
            "unlabelled_rows": self.n_unlabelled,
            "labels": self.support.tolist(),
            "trust": self.trust.tolist(),
            "shares": self.shares.tolist(),
            "sharpness": self.sharpness,
            "log_weights": {
                "batch": self.batch.tolist(),
                "smooth": self.smooth.tolist(),
                "optimum": self.optimum.tolist(),
            },
            "drift_p_value": self.drift,
            "toward_constraints": self.toward_constraints,
        }


def _span(values: Floats, form: str) -> str:
    low, high = form.format(values.min()), form.format(values.max())
    return low if low == high else f"{low} to {high}"


# Labels of a class at which it is halfway between the smooth estimator and the optimum.
_HALFWAY = 4.0
# Most cells, and most products of Newton's method, of a robust fit that was not asked for.
_MOST_CELLS, _MOST_PRODUCTS = 10_000_000, 200_000_000


class RobustSolution(NamedTuple):
    """What `fit_robustly` returns."""

    solution: Solution
    decision: Blend | None
    rows: Problem


def fit_robustly(
    given: Problem,
    settings: Settings,
    unlabelled: Probabilities,
    *,
    part: float = 1.0,
    progress: Progress | None = None,
) -> RobustSolution:
    """Find weights that hold on other rows, even with few labels.

    There are two estimates. The smooth one uses every label well, but only makes classes equally
    likely: one log-weight per class and one temperature, by log-loss in which all classes count
    alike, pulled toward batch calibration as strongly as makes the labels most probable (empirical
    Bayes, by Laplace's approximation). The other is the optimum of the objective on the labels and
    on unlabelled rows, which count for each class by the probability that the smooth estimate gives
    them. The error is weighed by the class shares. A class with n labels goes n/(n + 4) of the way
    from the first to the second, in logarithms of weights. A class that would be silenced is raised
    until one row of it is right. See "Few labels" in the documentation.

    Parameters
    ----------
    given : Problem
        The labelled rows.
    settings : Settings
        ``robust="off"`` is the plain optimum. ``"auto"`` means ``"off"`` for objectives without
        COBias, for solvers other than coordinate, and for large tables (10 million cells, or very
        many classes). A target prior cannot be ``"estimate"`` here. If the weights of a robust fit
        do not keep the constraints, they go toward the optimum that does, until they do.
    unlabelled : ndarray of shape (U, N)
        Class probabilities of rows without a label, from where the weights will be used; none of
        them is an empty array. If they differ from the labelled ones by more than chance and class
        mix, the weights follow them.
    part : float, default=1.0
        How much of the way from equal weights to these the final ones go, in logarithms.
    progress : callable, optional
        Called with a :class:`~dnip.method.solution.TraceEntry` at every event.

    Returns
    -------
    solution : Solution
        Its value and terms are those of the final weights on the labelled rows.
    decision : Blend or None
        How the weights came about; None for the plain optimum.
    rows : Problem
        The labelled rows; those that count, moved to where the unlabelled ones are, if these are
        different.

    Raises
    ------
    InvalidInputError
        For a target prior or constraints that do not fit the classes.
    InfeasibleError
        If no weights on the scale satisfy the constraints, or none were found.

    Warns
    -----
    DNIPWarning
        For classes without examples.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]])
    >>> problem, unlabelled = Problem.of(p, [0, 1, 0, 1]), np.array([[0.7, 0.3]] * 50)
    >>> found = fit_robustly(problem, Settings(), unlabelled)
    >>> found.solution.weights.round(2)
    array([0.36, 1.  ])
    >>> print(found.decision.sentence)
    robust: with 2 labels per class, the weights go 33% of the way
    from a simple model to the best weights for the labels and 50 unlabelled rows.
    """
    began = time.perf_counter()
    problem = given
    target: Floats | None = None
    absent: tuple[int, ...] = ()
    if settings.target_prior is not None:
        target = check_prior(settings.target_prior, given.classes)
        weight = weigh_rows(given.labels, target, given.classes, given.weights)
        problem = Problem.trusted(given.probabilities, given.labels, given.classes, weight)
        absent = tuple(np.flatnonzero(target == 0).tolist())

    def plain_optimum(began: float) -> Solution:
        return find_optimum(problem, settings, began, absent=absent, progress=progress)

    goal = on_classes(settings.objective, problem.classes)
    closes_gaps = isinstance(goal, Objective) and goal.beta > 0 and "cobias" in goal.terms
    applies = isinstance(settings.solver, Coordinate) and closes_gaps and _is_quick(problem)
    if settings.robust == "off" or (settings.robust == "auto" and not applies):
        return RobustSolution(plain_optimum(began), None, given)

    # 1. the smooth estimate
    deadline = None if settings.time_limit is None else began + settings.time_limit
    rng = np.random.default_rng(settings.seed)
    counted = given.counts > 0
    p = np.asarray(given.probabilities[counted], np.float64)
    labels, counts = given.labels[counted], given.weights[counted]
    drift = find_drift(p, labels, unlabelled, target, counts) if len(unlabelled) else None
    if drift is not None:
        p = drift.probabilities
    smooth = fit_smooth(p, labels, counts, unlabelled, rng, target, deadline)

    # 2. the optimum on labelled rows, and on unlabelled ones in expectation
    repair = ConstraintRepair(settings.constraints, problem)
    rows = smooth.rows.as_problem(problem.classes, smooth.shares)

    freezing = Constraints(freeze=repair.demands.frozen, allow_silence=True)
    scale = settings.scale or WeightScale.over(given.probabilities, given.counts)
    settings = replace(settings, scale=scale)
    sought = replace(settings, objective=goal, constraints=freezing)
    found = find_optimum(rows, sought, began, absent=absent, progress=progress)

    # 3. between the two, on the scale, and so that the constraints hold
    optimum = np.log(found.weights)
    trust = smooth.support / (smooth.support + _HALFWAY)
    blended = part * repair.freeze(repair.unsilence(blend(smooth.log_weights, optimum, trust)))
    indices, toward = repair.repair(
        repair.round_to_scale(blended, scale, absent),
        lambda: plain_optimum(began if repair.raw_keeps else time.perf_counter()),
        scale,
        absent,
    )
    confusion = problem.confusion(scale.multipliers(indices))
    how = Blend(
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
    solution = found.restated(
        goal,
        problem.in_examples(confusion),
        weight_indices=indices,
        objective=goal.to_dict(),
        seconds=time.perf_counter() - began,
        constraints=repair.summary(problem.in_examples(confusion)),
    )
    if drift is not None:
        given = replace(given, probabilities=p, labels=labels, counts=given.counts[counted])
    return RobustSolution(solution, how, given)


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
    return problem.probabilities.size <= _MOST_CELLS and products <= _MOST_PRODUCTS
