"""From labels and unlabelled rows to weights that hold on other rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dnip.base.typing import Confusion, Floats, Probabilities, WeightIndices
from dnip.fitting.calibrating import find_drift
from dnip.fitting.result import Blend
from dnip.fitting.settings import FitSettings
from dnip.fitting.smooth import ROWS_PER_CLASS, fit_smooth
from dnip.method.constraints import Constraints
from dnip.method.objective import MetricObjective, Objective, on_classes
from dnip.method.problem import Problem
from dnip.method.scales import Spacing, WeightScale
from dnip.method.solution import Solution
from dnip.priors.estimate import to_power
from dnip.priors.target import check_prior, weigh_rows
from dnip.solvers import Coordinate, Progress, find_optimum

# Labels of a class at which it is halfway between the smooth estimator and the optimum: where
# most rows have no label, and where all have one, so that the optimum follows their chance.
_HALFWAY, _ALL_LABELLED = 4.0, 20.0
# Most cells, and most products of Newton's method, of a robust fit that was not asked for.
_MOST_CELLS, _MOST_PRODUCTS = 10_000_000, 200_000_000


class _RobustSolution(NamedTuple):
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
    group_sizes : ndarray of shape (M,), optional
        How many rows are in the group of each row; a group counts as one label.
    exponent, there
        As for :func:`dnip.fitting.smooth.fit_smooth`.

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
    robust: the labels (2 per class) decide 28% of each weight,
    and a simple model of the probabilities, also of 50 unlabelled rows, the rest.
    """

    def __init__(
        self,
        rows: Problem,
        settings: FitSettings,
        unlabelled: Probabilities,
        deadline: float | None = None,
        *,
        group_sizes: Floats | None = None,
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
        n_rows, n_classes = rows.probabilities.shape
        products = min(n_rows, ROWS_PER_CLASS * n_classes) * n_classes**2
        is_quick = rows.probabilities.size <= _MOST_CELLS and products <= _MOST_PRODUCTS
        applies = isinstance(settings.solver, Coordinate) and helps and is_quick
        self.is_robust = settings.robust == "on" or (settings.robust == "auto" and applies)
        if not self.is_robust:
            return
        rng = np.random.default_rng(settings.seed)
        counted = rows.counts > 0
        p = np.asarray(rows.probabilities[counted], np.float64)
        labels, counts = rows.labels[counted], rows.weights[counted]
        if group_sizes is not None:
            counts = counts / group_sizes[counted]
        drift = None
        if len(unlabelled):
            common = to_power(p, exponent), labels, to_power(unlabelled, exponent)
            drift = find_drift(*common, target, counts)
        if drift is not None:
            p = to_power(drift.probabilities, 1 / exponent)
            self.rows = replace(rows, probabilities=p, labels=labels, counts=rows.counts[counted])
        rows_of_all = p, labels, counts, unlabelled, rows.classes, rng, target, deadline
        self._smooth = fit_smooth(*rows_of_all, exponent=exponent, there=there)
        self._drift, self._n_unlabelled = drift, len(unlabelled)

    def solve(
        self, settings: FitSettings, deadline: float | None = None, progress: Progress | None = None
    ) -> _RobustSolution:
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
            return _RobustSolution(optimum_of(problem, settings), None)
        smooth, goal = self._smooth, on_classes(settings.objective, problem.classes)
        repair = _ConstraintRepair(settings.constraints, problem)
        frozen = list(repair.demands.frozen)
        scale = settings.scale or WeightScale.over(self.rows.probabilities, self.rows.counts)
        settings = replace(settings, scale=scale)
        freezing = Constraints(freeze=frozen, allow_silence=True)
        solver = settings.solver
        if isinstance(solver, Coordinate):  # what is blended need not be exact
            solver = replace(solver, chains=1)
        solution = optimum_of(
            smooth.expected, replace(settings, objective=goal, constraints=freezing, solver=solver)
        )

        # between the two, on the scale, and so that the constraints hold
        optimum = np.log(solution.weights)
        labelled = smooth.support.sum() / (smooth.support.sum() + self._n_unlabelled)
        halfway = _HALFWAY + (_ALL_LABELLED - _HALFWAY) * labelled
        trust = smooth.support / (smooth.support + halfway)
        blended = repair.unsilence(blend(smooth.log_weights, optimum, trust))
        if frozen:
            blended = np.minimum(blended - blended[frozen].mean(), 0.0)
            blended[frozen] = 0.0
        indices, toward = repair.repair(
            _round_to_scale(blended, scale, anchored=bool(frozen), absent=absent),
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
            constraints=repair.demands.to_dict(counts, problem.in_examples(repair.raw)),
        )
        return _RobustSolution(solution, decision)


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


# Steps on the way to weights that keep constraints.
_STEPS = 20
# Log-odds by which a raised class comes ahead: more than rounding to a scale can take away.
_CLEAR = 0.02


class _ConstraintRepair:
    """Changes the weights of a robust fit so that they keep the constraints on labelled rows.

    Attributes
    ----------
    demands : Demands
    raw : ndarray of shape (N, N)
        Counts under the raw argmax.
    raw_keeps : bool
        Whether the raw argmax keeps all constraints. If not, a search for weights that do has a
        time limit of its own: if it were cut short, there would be nothing to return.
    """

    def __init__(self, constraints: Constraints, problem: Problem) -> None:
        self.demands = constraints.on(problem.classes, problem.present)
        self._problem = problem
        self.raw = problem.confusion(np.ones(problem.n_classes))
        self._least, self._total = self.demands.floors(problem.class_counts, np.diag(self.raw))
        self.raw_keeps = self.keeps(self.raw)

    def unsilence(self, log_weights: Floats) -> Floats:
        """Raise each silenced class just far enough to be right once.

        A class is silenced if the raw argmax gets it right on some rows and the weights on none.
        The row that needs the smallest change is chosen.
        """
        raised, problem = log_weights.copy(), self._problem
        correct = np.diag(problem.confusion(np.exp(raised)))
        silenced = (correct == 0) & (np.diag(self.raw) > 0) & self.demands.no_silence
        for c in np.flatnonzero(silenced).tolist():
            p = problem.probabilities[problem.labels == c]
            with np.errstate(divide="ignore"):
                scores = np.log(p) + raised
            of_class = scores[:, c].copy()
            scores[:, c] = -np.inf
            missing = float((scores.max(axis=1) - of_class).min())
            if missing < np.inf:
                raised[c] += max(missing, 0.0) + _CLEAR
        return raised

    def repair(
        self,
        indices: WeightIndices,
        find_optimum: Callable[[], Solution],
        scale: WeightScale,
        absent: Sequence[int] = (),
    ) -> tuple[WeightIndices, float]:
        """Return the first weights on the way to others that keep the constraints.

        These are equal weights where a limit on lost accuracy is asked for and equal weights keep
        all constraints: losing less by them holds on other rows, too. Else they are an optimum.

        Parameters
        ----------
        indices : ndarray of shape (N,)
            Weight indices.
        find_optimum : callable
            Returns an optimum that keeps the constraints; called only if the weights do not.
        scale : WeightScale
        absent : sequence of int
            Classes with the least weight.

        Returns
        -------
        indices : ndarray of shape (N,)
        way : float
            Part of the way to the optimum, 0..1, in logarithms of weights.
        """
        if self.keeps(self._problem.confusion(scale.multipliers(indices))):
            return indices, 0.0
        if self.raw_keeps and self.demands.max_accuracy_loss is not None:
            end = np.full(len(indices), scale.size)
        else:
            end = find_optimum().weight_indices
        here, there = np.log(scale.multipliers(indices)), np.log(scale.multipliers(end))
        anchored = bool(self.demands.frozen)
        for step in range(1, _STEPS):
            way = step / _STEPS
            blended = (1 - way) * here + way * there
            between = _round_to_scale(blended, scale, anchored=anchored, absent=absent)
            if self.keeps(self._problem.confusion(scale.multipliers(between))):
                return between, way
        return end, 1.0

    def keeps(self, confusion: Confusion) -> bool:
        """Whether enough rows are right, of each class and in all."""
        correct = np.diag(confusion)
        return bool((correct >= self._least).all() and correct.sum() >= self._total)


def _round_to_scale(
    log_weights: Floats, scale: WeightScale, *, anchored: bool = False, absent: Sequence[int] = ()
) -> WeightIndices:
    """Return the weights of a scale whose ratios come closest to those of log-weights.

    Predictions depend on ratios alone, so the largest weight may be anywhere on the scale. The
    place with the least squared error of the log-weights is chosen, the highest one on a tie.

    Parameters
    ----------
    log_weights : ndarray of shape (N,)
    scale : WeightScale
    anchored : bool, default=False
        Whether the largest weight must be 1.
    absent : sequence of int
        Classes that get the least weight.

    Returns
    -------
    ndarray of shape (N,)
        Weight indices, 1..K.

    Examples
    --------
    >>> _round_to_scale(np.log([0.7, 0.4, 0.1]), WeightScale.of(30))
    array([28, 16,  4])
    """
    ratios = log_weights - log_weights.max()
    levels = np.log(scale.levels)
    borders = (levels[:-1] + levels[1:]) / 2
    # steps of a geometric scale are alike wherever the largest weight is
    is_alike = anchored or scale.spacing is Spacing.LOG
    tops = levels[-1:] if is_alike else levels[::-1]
    candidates = np.searchsorted(borders, tops[:, None] + ratios)
    error = levels[candidates] - ratios
    error -= error.mean(axis=1, keepdims=True)
    loss = (error**2).sum(axis=1)
    best = np.flatnonzero(np.isclose(loss, loss.min(), atol=1e-12))[0]
    indices = np.asarray(candidates[best] + 1, np.int64)
    indices[list(absent)] = 1
    return indices
