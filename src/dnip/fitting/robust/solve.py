"""From labels and unlabelled rows to weights that hold on other rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dnip.base.typing import Floats, Integers, Probabilities
from dnip.fitting.groups import sizes_of
from dnip.fitting.robust.calibrating import find_drift
from dnip.fitting.robust.repair import ConstraintRepair
from dnip.fitting.robust.smooth import ROWS_PER_CLASS, fit_smooth
from dnip.fitting.settings import FitSettings
from dnip.method.constraints import Constraints
from dnip.method.objective import MetricObjective, Objective, on_classes
from dnip.method.problem import Problem
from dnip.method.scales import WeightScale
from dnip.method.solution import Solution
from dnip.priors.estimate import to_power
from dnip.priors.target import check_prior, weigh_rows
from dnip.solvers import Coordinate, Progress, find_optimum


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
                f"{self.drift:.1g}), and not by their class mix alone. The weights follow the "
                "unlabelled rows: labelled ones were moved to where these lie."
            )
        if self.toward_constraints:
            said += (
                "\nThese do not keep the constraints, so the weights go on, "
                f"{self.toward_constraints:.0%} of the way to the optimum that does."
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


# Labels of a class at which it is halfway between the smooth estimator and the optimum: where
# most rows have no label, and where all have one, so that the optimum follows their chance.
_HALFWAY, _ALL_LABELLED = 4.0, 20.0
# Most cells, and most products of Newton's method, of a robust fit that was not asked for.
_MOST_CELLS, _MOST_PRODUCTS = 10_000_000, 200_000_000


class RobustSolution(NamedTuple):
    """Weights, and how they came about."""

    solution: Solution
    decision: Blend | None  # None for the plain optimum


class Estimator:
    """Finds weights that hold on other rows, even with few labels; one for a set of rows.

    There are two estimates. The smooth one uses every label well, but only makes classes equally
    likely: one log-weight per class and one temperature, by log-loss in which all classes count
    alike, pulled toward batch calibration as strongly as makes the labels most probable (empirical
    Bayes, by Laplace's approximation). No objective changes it, so it is made once. The other is
    the optimum of the objective on the labels and on unlabelled rows, which count for each class by
    the probability that the smooth estimate gives them. The error is weighed by the class shares. A
    class with n labels goes n/(n + 4) of the way from the first to the second, in logarithms of
    weights, where most rows have no label, and n/(n + 20) where all have one. A class that would be
    silenced is raised until one row of it is right. See "Few labels" in the documentation.

    Parameters
    ----------
    rows : Problem
        The labelled rows.
    settings : FitSettings
        ``robust="off"`` is the plain optimum. ``"auto"`` means ``"off"`` for functions and terms
        without COBias, for solvers other than coordinate, and for large tables (10 million cells,
        or very many classes). A target prior cannot be ``"estimate"`` here.
    unlabelled : ndarray of shape (U, N)
        Class probabilities of rows without a label, from where the weights will be used; none of
        them is an empty array. If they differ from the labelled ones by more than chance and class
        mix, the weights follow them.
    deadline : float, optional
        A ``time.perf_counter`` reading at which to stop with the best so far.
    groups : ndarray of shape (M,), optional
        The number of the group of each row; a group counts as one label.
    exponent, there
        As for :func:`dnip.fitting.robust.smooth.fit_smooth`.

    Attributes
    ----------
    rows : Problem
        The labelled rows; those that count, moved to where the unlabelled ones are, if these are
        different.
    is_robust : bool
        Whether there are two estimates; else there is the plain optimum alone.

    Raises
    ------
    InvalidInputError
        For a target prior or constraints that do not fit the classes.

    Examples
    --------
    >>> from dnip.fitting.settings import FitSettings
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]])
    >>> rows, unlabelled = Problem.of(p, [0, 1, 0, 1]), np.array([[0.7, 0.3]] * 50)
    >>> estimator = Estimator(rows, FitSettings(), unlabelled)
    >>> solution, decision = estimator.solve(FitSettings())
    >>> solution.weights.round(2)
    array([0.37, 1.  ])
    >>> print(decision.sentence)
    robust: with 2 labels per class, the weights go 28% of the way
    from a simple model to the best weights for the labels and 50 unlabelled rows.
    """

    def __init__(
        self,
        rows: Problem,
        settings: FitSettings,
        unlabelled: Probabilities,
        deadline: float | None = None,
        *,
        groups: Integers | None = None,
        exponent: float = 1.0,
        there: Floats | None = None,
    ) -> None:
        self.rows, self._problem = rows, rows
        target: Floats | None = None
        self._absent: tuple[int, ...] = ()
        if settings.target_prior is not None:
            target = check_prior(settings.target_prior, rows.classes)
            weight = weigh_rows(rows.labels, target, rows.classes, rows.weights)
            self._problem = Problem.trusted(rows.probabilities, rows.labels, rows.classes, weight)
            self._absent = tuple(np.flatnonzero(target == 0).tolist())
        goal = on_classes(settings.objective, rows.classes)
        helps = isinstance(goal, MetricObjective) or (
            isinstance(goal, Objective) and goal.beta > 0 and "cobias" in goal.terms
        )
        applies = isinstance(settings.solver, Coordinate) and helps and _is_quick(rows)
        self.is_robust = settings.robust == "on" or (settings.robust == "auto" and applies)
        if not self.is_robust:
            return
        rng = np.random.default_rng(settings.seed)
        counted = rows.counts > 0
        p = np.asarray(rows.probabilities[counted], np.float64)
        labels, counts = rows.labels[counted], rows.weights[counted]
        if groups is not None:
            counts = counts / sizes_of(groups[counted])
        drift = None
        if len(unlabelled):
            common = to_power(p, exponent), labels, to_power(unlabelled, exponent)
            drift = find_drift(*common, target, counts)
        if drift is not None:
            p = to_power(drift.probabilities, 1 / exponent)
            self.rows = replace(rows, probabilities=p, labels=labels, counts=rows.counts[counted])
        rows_of_all = p, labels, counts, unlabelled, rng, target, deadline
        self._smooth = fit_smooth(*rows_of_all, exponent=exponent, there=there)
        self._expected = self._smooth.rows.as_problem(rows.classes, self._smooth.shares)
        self._drift, self._n_unlabelled = drift, len(unlabelled)

    def solve(
        self, settings: FitSettings, deadline: float | None = None, progress: Progress | None = None
    ) -> RobustSolution:
        """Find weights for an objective.

        Parameters
        ----------
        settings : FitSettings
            Those of the estimator, with any β. If the weights of a robust fit do not keep the
            constraints, they go toward the optimum that does, until they do.
        deadline : float, optional
            As for the estimator.
        progress : callable, optional
            Called with a :class:`~dnip.method.solution.TraceEntry` at every event.

        Returns
        -------
        solution : Solution
            Its value and terms are those of the final weights on the labelled rows.
        decision : Blend or None
            How the weights came about; None for the plain optimum.

        Raises
        ------
        InfeasibleError
            If no weights on the scale satisfy the constraints, or none were found.

        Warns
        -----
        DNIPWarning
            For classes without examples.
        """
        began = time.perf_counter()

        def optimum_of(rows: Problem, settings: FitSettings, *, anew: bool = False) -> Solution:
            now = time.perf_counter()
            if deadline is not None and not anew:
                settings = replace(settings, time_limit=max(deadline - now, 0.0))
            return find_optimum(rows, settings, now, absent=self._absent, progress=progress)

        problem, absent = self._problem, self._absent
        if not self.is_robust:
            return RobustSolution(optimum_of(problem, settings), None)
        smooth, goal = self._smooth, on_classes(settings.objective, problem.classes)
        repair = ConstraintRepair(settings.constraints, problem)
        freezing = Constraints(freeze=repair.demands.frozen, allow_silence=True)
        scale = settings.scale or WeightScale.over(self.rows.probabilities, self.rows.counts)
        settings = replace(settings, scale=scale)
        sought = replace(settings, objective=goal, constraints=freezing)
        solution = optimum_of(self._expected, sought)

        # between the two, on the scale, and so that the constraints hold
        optimum = np.log(solution.weights)
        labelled = smooth.support.sum() / (smooth.support.sum() + self._n_unlabelled)
        halfway = _HALFWAY + (_ALL_LABELLED - _HALFWAY) * labelled
        trust = smooth.support / (smooth.support + halfway)
        blended = repair.freeze(repair.unsilence(blend(smooth.log_weights, optimum, trust)))
        indices, toward = repair.repair(
            repair.round_to_scale(blended, scale, absent),
            lambda: optimum_of(problem, settings, anew=not repair.raw_keeps),
            scale,
            absent,
        )
        counts = problem.in_examples(problem.confusion(scale.multipliers(indices)))
        decision = Blend(
            n_unlabelled=self._n_unlabelled,
            support=smooth.support,
            trust=trust,
            shares=smooth.shares,
            sharpness=smooth.sharpness,
            batch=smooth.batch,
            smooth=smooth.log_weights,
            optimum=optimum,
            drift=None if self._drift is None else self._drift.p_value,
            toward_constraints=toward,
        )
        solution = solution.restated(
            goal,
            counts,
            weight_indices=indices,
            objective=goal.to_dict(),
            seconds=time.perf_counter() - began,
            constraints=repair.summary(counts),
        )
        return RobustSolution(solution, decision)


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
