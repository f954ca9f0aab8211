"""From labels and unlabelled rows to weights that hold on other rows.

A robust fit goes part of the way from a smooth estimate, which wastes no label, to the optimum of
the objective. Below it are the two halves of the first: log-weights by class-balanced log-loss, and
the calibration and class mix that coefficients carry.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Confusion, Floats, Labels, Probabilities, WeightIndices
from dnip.fitting.settings import FitSettings
from dnip.method.constraints import Constraints, Demands
from dnip.method.objective import MetricObjective, Objective, on_classes
from dnip.method.problem import Problem, draw_per_class
from dnip.method.scales import Spacing, WeightScale
from dnip.method.solution import Solution
from dnip.metrics.chance import rates_p_value, smirnov_p_value
from dnip.metrics.intervals import effective_rows
from dnip.priors import (
    Calibration,
    PriorEstimate,
    PriorLike,
    TargetPrior,
    centred,
    check_prior,
    estimate_prior,
    is_estimate,
    label_shares,
    likely_shares,
    log_probabilities,
    most_rows,
    softmax,
    to_power,
    update_shares,
    weigh_rows,
)
from dnip.solvers import Coordinate, Progress, find_optimum
from dnip.solvers.landscape import is_over
from dnip.tables.sampling import RowSample

# How deep below the likeliest class of its row a probability counts: so many times the depth of the
# labels of most rows that the raw argmax gets wrong, where there are so many of these.
_DEEP, _MOST_WRONG, _LEAST_WRONG = 3.0, 0.9, 5


def find_floor(probabilities: Probabilities, labels: Labels) -> float | None:
    """Return how far below the largest of its row a probability still decides, in nats.

    A wrong row is decided otherwise by a weight of its label that makes up for how far the label
    lies below the likeliest class. Beyond three times that of most wrong rows lie classes that no
    sensible weight brings back; a classifier that is too sure has many. That of p^k is k times that
    of p.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)

    Returns
    -------
    float or None
        None where fewer than five rows say so.

    Examples
    --------
    >>> p = np.array([[0.5, 0.25, 0.25]] * 9)
    >>> round(find_floor(p, np.ones(9, int)), 3), find_floor(p, np.zeros(9, int))
    (2.079, None)
    """
    of_label = probabilities[np.arange(len(labels)), labels]
    wrong = (probabilities.argmax(axis=1) != labels) & (of_label > 0)
    if np.count_nonzero(wrong) < _LEAST_WRONG:
        return None
    # logarithms first: the quotient of a tiny probability overflows
    depths = np.log(probabilities[wrong].max(axis=1)) - np.log(of_label[wrong])
    deepest = np.quantile(depths, _MOST_WRONG, method="inverted_cdf")  # the same for copies
    return float(_DEEP * deepest) or None


def raised(probabilities: Probabilities, floor: float | None) -> Probabilities:
    """Return probabilities that lie no further than a floor below the largest of their row.

    Examples
    --------
    >>> raised(np.array([[0.8, 0.2, 0.0]]), np.log(2)).round(3)
    array([[0.5 , 0.25, 0.25]])
    """
    if floor is None or not len(probabilities):
        return probabilities
    least = probabilities.max(axis=1, keepdims=True) * np.exp(-floor)
    higher = np.maximum(probabilities, least)
    return np.asarray(higher / higher.sum(axis=1, keepdims=True))


# Labels of a class at which it is halfway between the smooth estimator and the optimum: where
# most rows have no label, and where all have one, so that the optimum follows their chance.
_HALFWAY, _ALL_LABELLED = 4.0, 20.0
#: Most cells of a robust fit that was not asked for.
MOST_CELLS = 10_000_000


class Common(NamedTuple):
    """What holds for all rows of a fit, and for its refits.

    Attributes
    ----------
    exponent : float
        Brings ln p to the spread that priors are made for; weights are those for p as it came.
    floor : float or None
        How deep below the largest of its row a probability counts, in nats; see `find_floor`.
    there : ndarray of shape (N,) or None
        Class shares of the unlabelled rows as far as they can be told, where no mix was asked for.
    """

    exponent: float = 1.0
    floor: float | None = None
    there: Floats | None = None


class _RobustSolution(NamedTuple):
    """Weights, and how they came about."""

    solution: Solution
    decision: Blend | None  # None for the plain optimum


@dataclass(frozen=True, eq=False)
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

    Attributes
    ----------
    rows : Problem
        The labelled rows; those that count, moved to where the unlabelled ones are, if these are
        different.
    problem : Problem
        The labelled rows as they came, by the class mix where the weights will be used.
    absent : tuple of int
        Classes that do not occur there.
    smooth : Smooth or None
        The smooth estimate; None for the plain optimum alone.
    n_unlabelled : int
    drift : float or None
        The p value of the unlabelled rows being like the labelled ones, where these were moved.
    """

    rows: Problem
    problem: Problem
    absent: tuple[int, ...]
    smooth: Smooth | None
    n_unlabelled: int
    drift: float | None

    @property
    def is_robust(self) -> bool:
        """Whether there are two estimates; else there is the plain optimum alone."""
        return self.smooth is not None

    @classmethod
    def of(
        cls,
        rows: Problem,
        settings: FitSettings,
        unlabelled: Probabilities,
        deadline: float | None = None,
        *,
        group_sizes: Floats | None = None,
        common: Common = Common(),  # noqa: B008 - a constant
    ) -> Self:
        """Make the smooth estimate of some rows, if it is wanted.

        Parameters
        ----------
        rows : Problem
            The labelled rows.
        settings : FitSettings
            ``robust="off"`` is the plain optimum. ``"auto"`` means ``"off"`` for functions and
            terms without COBias, for solvers other than coordinate, and for tables of more
            than 10 million cells. A target prior cannot be ``"estimate"`` here.
        unlabelled : ndarray of shape (U, N)
            Class probabilities of rows without a label, from where the weights will be used; none
            of them is an empty array. If they differ from the labelled ones by more than chance and
            class mix, the weights follow them.
        deadline : float, optional
            A ``time.perf_counter`` reading at which to stop with the best so far.
        group_sizes : ndarray of shape (M,), optional
            How many rows are in the group of each row; a group counts as one label.
        common : Common, optional

        Raises
        ------
        InvalidInputError
            For a target prior or constraints that do not fit the classes.

        Examples
        --------
        >>> from dnip.fitting.settings import fit_settings
        >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]])
        >>> rows, unlabelled = Problem.of(p, [0, 1, 0, 1]), np.array([[0.7, 0.3]] * 50)
        >>> estimator = Estimator.of(rows, fit_settings(), unlabelled)
        >>> solution, decision = estimator.solve(fit_settings())
        >>> solution.weights.round(2)
        array([0.37, 1.  ])
        >>> print(decision.sentence)
        robust: the labels (2 per class) decide 28% of each weight,
        and a simple model of the probabilities, also of 50 unlabelled rows, the rest.
        """
        problem, target = rows, None
        absent: tuple[int, ...] = ()
        if settings.target_prior is not None:
            target = check_prior(settings.target_prior, rows.classes)
            weight = weigh_rows(rows.labels, target, rows.classes, rows.weights)
            problem = Problem.trusted(rows.probabilities, rows.labels, rows.classes, weight)
            absent = tuple(np.flatnonzero(target == 0).tolist())
        if not _is_wanted(rows, settings):
            return cls(rows, problem, absent, None, 0, None)
        counted = rows.counts > 0
        p = raised(np.asarray(rows.probabilities[counted], np.float64), common.floor)
        labels, counts = rows.labels[counted], rows.weights[counted]
        unlabelled = raised(unlabelled, common.floor)
        if group_sizes is not None:
            counts = counts / group_sizes[counted]
        drift = None
        if len(unlabelled):
            here, there = (to_power(some, common.exponent) for some in (p, unlabelled))
            drift = find_drift(here, labels, there, target, counts)
        if drift is not None:
            p = to_power(drift.probabilities, 1 / common.exponent)
            rows = replace(rows, probabilities=p, labels=labels, counts=rows.counts[counted])
        smooth = fit_smooth(
            p, labels, counts, unlabelled, rows.classes, common, target, settings.seed, deadline
        )
        p_value = None if drift is None else drift.p_value
        return cls(rows, problem, absent, smooth, len(unlabelled), p_value)

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
            return find_optimum(rows, settings, now, absent=self.absent, progress=progress)

        problem, absent, smooth = self.problem, self.absent, self.smooth
        if smooth is None:
            return _RobustSolution(optimum_of(problem, settings), None)
        goal = on_classes(settings.objective, problem.classes)
        demands = settings.constraints.on(problem.classes, problem.present)
        scale = settings.scale or WeightScale.over(self.rows.probabilities, self.rows.counts)
        settings = replace(settings, scale=scale)
        frozen = [problem.classes[c] for c in demands.frozen]  # a number may be a name
        freezing, solver = Constraints(freeze=frozen, allow_silence=True), settings.solver
        if isinstance(solver, Coordinate):  # what is blended need not be exact
            solver = replace(solver, chains=1)
        solution = optimum_of(
            smooth.expected, replace(settings, objective=goal, constraints=freezing, solver=solver)
        )

        # between the two, on the scale, and so that the constraints hold
        optimum = np.log(solution.weights)
        labelled = smooth.support.sum() / (smooth.support.sum() + self.n_unlabelled)
        halfway = _HALFWAY + (_ALL_LABELLED - _HALFWAY) * labelled
        trust, present = smooth.support / (smooth.support + halfway), smooth.support > 0
        way = optimum - smooth.log_weights
        blended = smooth.log_weights + trust * (way - way[present].mean())
        blended[~present] = blended[present].mean()
        hold = _Hold(demands, problem, scale, absent)
        indices, toward = hold.keep(
            blended, lambda: optimum_of(problem, settings, anew=not hold.raw_keeps)
        )
        counts = problem.in_examples(problem.confusion(scale.multipliers(indices)))
        decision = Blend(
            n_unlabelled=self.n_unlabelled,
            support=smooth.support,
            trust=trust,
            shares=smooth.shares,
            sharpness=smooth.sharpness,
            batch=smooth.batch,
            smooth=smooth.log_weights,
            optimum=optimum,
            drift=self.drift,
            toward_constraints=toward,
        )
        solution = solution.restated(
            goal,
            counts,
            weight_indices=indices,
            objective=goal.to_dict(),
            seconds=time.perf_counter() - began,
            constraints=demands.to_dict(counts, problem.in_examples(hold.raw)),
        )
        return _RobustSolution(solution, decision)


def _is_wanted(rows: Problem, settings: FitSettings) -> bool:
    """Return whether to fit robustly: asked for, or where that helps and is quick."""
    if settings.robust != "auto":
        return settings.robust == "on"
    goal = on_classes(settings.objective, rows.classes)
    helps = isinstance(goal, MetricObjective) or (
        isinstance(goal, Objective) and goal.beta > 0 and "cobias" in goal.terms
    )
    is_quick = rows.probabilities.size <= MOST_CELLS
    return isinstance(settings.solver, Coordinate) and helps and is_quick


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
        trust = _span(self.trust[present], "{:.0%}")
        rows = f", also of {self.n_unlabelled:,} unlabelled rows," if self.n_unlabelled else ""
        text = f"robust: the labels ({labels} per class) decide {trust} of each weight,"
        text += f"\nand a simple model of the probabilities{rows} the rest."
        if self.drift is not None:
            text += (
                f"\nThe unlabelled rows differ from the labelled ones beyond chance (p = "
                f"{self.drift:.1g}), and not by their class mix alone. The weights follow the "
                "unlabelled rows: labelled ones were moved to where these lie. If labels were "
                "chosen by the model's answers, leave the unlabelled rows out."
            )
        if self.toward_constraints:
            text += (
                "\nThese do not keep the constraints, so the weights go on, "
                f"{self.toward_constraints:.0%} of the way to the optimum that does."
            )
        return text

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


# Steps on the way to weights that keep constraints.
_STEPS = 20
# Log-odds by which a raised class comes ahead: more than rounding to a scale can take away.
_CLEAR = 0.02


class _Hold:
    """Holds the weights of a robust fit to its constraints on labelled rows.

    Attributes
    ----------
    raw : ndarray of shape (N, N)
        Counts under the raw argmax.
    raw_keeps : bool
        Whether the raw argmax keeps all constraints. If not, a search for weights that do has a
        time limit of its own: if it were cut short, there would be nothing to return.
    """

    def __init__(
        self, demands: Demands, problem: Problem, scale: WeightScale, absent: Sequence[int]
    ) -> None:
        self._demands, self._problem, self._scale, self._absent = demands, problem, scale, absent
        self.raw = problem.confusion(np.ones(problem.n_classes))
        self._least, self._total = demands.floors(problem.class_counts, np.diag(self.raw))
        self.raw_keeps = self._are_kept(self.raw)

    def keep(
        self, log_weights: Floats, find_optimum: Callable[[], Solution]
    ) -> tuple[WeightIndices, float]:
        """Return the first weights of the scale on the way to others that keep the constraints.

        These are equal weights where a limit on lost accuracy is asked for and equal weights keep
        all constraints: losing less by them holds on other rows, too. Else they are an optimum,
        which is searched for where it is needed. Next to the weights is the part of the way, 0..1,
        in their logarithms.
        """
        log_weights = self._unsilenced(log_weights)
        frozen = list(self._demands.frozen)
        if frozen:
            log_weights = np.minimum(log_weights - log_weights[frozen].mean(), 0.0)
            log_weights[frozen] = 0.0
        indices = self._on_scale(log_weights)
        if self._are_kept(self._counts(indices)):
            return indices, 0.0
        if self.raw_keeps and self._demands.max_accuracy_loss is not None:
            end = np.full(len(indices), self._scale.size)
        else:
            end = find_optimum().weight_indices
        here, there = (np.log(self._scale.multipliers(each)) for each in (indices, end))
        for step in range(1, _STEPS):
            way = step / _STEPS
            between = self._on_scale((1 - way) * here + way * there)
            if self._are_kept(self._counts(between)):
                return between, way
        return end, 1.0

    def _unsilenced(self, log_weights: Floats) -> Floats:
        """Raise each silenced class just far enough to be right once.

        A class is silenced if the raw argmax gets it right on some rows and the weights on none.
        The row that needs the smallest change is chosen.
        """
        raised, problem = log_weights.copy(), self._problem
        correct = np.diag(problem.confusion(np.exp(raised)))
        silenced = (correct == 0) & (np.diag(self.raw) > 0) & self._demands.no_silence
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

    def _on_scale(self, log_weights: Floats) -> WeightIndices:
        anchored = bool(self._demands.frozen)
        return round_to_scale(log_weights, self._scale, anchored=anchored, absent=self._absent)

    def _counts(self, indices: WeightIndices) -> Confusion:
        return self._problem.confusion(self._scale.multipliers(indices))

    def _are_kept(self, confusion: Confusion) -> bool:
        """Whether enough rows are right, of each class and in all."""
        correct = np.diag(confusion)
        return bool((correct >= self._least).all() and correct.sum() >= self._total)


def round_to_scale(
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
    >>> round_to_scale(np.log([0.7, 0.4, 0.1]), WeightScale.of(30))
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


# --- The smooth estimate ---
# Precisions of the prior on the shift to choose from: standard deviations of 3 to 0.1 in log-odds.
_PULLS = (100.0, 10.0, 1.0, 0.1)
# Precision of the prior on the inverse temperature around 1.
_SHARPNESS_PULL = 1.0
# Labels may contradict the probabilities, but never reverse their order.
_LEAST_SHARPNESS = 0.1

_MAX_STEPS = 50
_TOLERANCE = 1e-9

# Newton's method solves a system of so many classes at most. Of more, the prior is taken as it is.
_MOST_CLASSES = 500

# Rounds of balancing a batch of uneven class shares.
_ROUNDS = 10


def fit_shift(
    log_p: Floats,
    labels: Labels,
    weight: Floats,
    prior: Floats,
    pull: float | None = None,
    deadline: float | None = None,
) -> Calibration:
    """Fit by class-balanced log-loss, with an L2 pull of the log-odds to those of a prior.

    The scores s·(ln p + prior) + δ are linear in s and δ. So the loss is convex, and Newton's
    method finds its only minimum; the log-weights are prior + δ/s. The strength of the pull is the
    one that makes the labels most probable (empirical Bayes, by Laplace's approximation). Of more
    than 500 classes the prior is taken as it is.

    Parameters
    ----------
    log_p : ndarray of shape (M, N)
        ln p.
    labels : ndarray of shape (M,)
        Class indices.
    weight : ndarray of shape (M,)
        How much each example counts.
    prior : ndarray of shape (N,)
        Log-weights that the fit is pulled to.
    pull : float, optional
        Precision of the prior in log-odds; by default chosen from 0.1 to 100.
    deadline : float, optional
        A ``time.perf_counter`` reading after which no further step is made.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 20)
    >>> fitted = fit_shift(np.log(p), np.array([0, 1] * 20), np.ones(40), np.zeros(2))
    >>> fitted.log_weights.round(2)
    array([-0.64,  0.64])
    """
    n_classes = len(prior)
    support = np.bincount(labels, weight, n_classes).astype(np.float64)
    if n_classes > _MOST_CLASSES:
        return Calibration(prior - prior.mean(), 1.0, support)
    scores = log_p + prior
    # every class that has labels gets the same part of the total weight
    balanced = weight * (weight.sum() / np.count_nonzero(support)) / support[labels]
    pulls = _PULLS if pull is None else (pull,)
    fits: list[_Fitted] = []
    for precision in pulls:  # each begins where the one before ended
        problem = scores, labels, balanced, precision, len(pulls) > 1, deadline
        fitted = _newton(*problem, fits[-1] if fits else None)
        if fitted.sharpness < _LEAST_SHARPNESS:
            fitted = _newton(*problem, None, hold_sharpness=True)
        fits.append(fitted)
        if is_over(deadline):
            break
    best = max(fits, key=lambda fitted: fitted.evidence)
    shift = prior + best.delta / best.sharpness
    return Calibration(shift - shift.mean(), best.sharpness, support)


class _Fitted(NamedTuple):
    sharpness: float
    delta: Floats  # (N,)
    evidence: float  # log-probability of the labels under the prior; 0 if not needed


def _newton(
    scores: Floats,
    labels: Labels,
    weight: Floats,
    pull: float,
    judged: bool,
    deadline: float | None,
    start: _Fitted | None,
    *,
    hold_sharpness: bool = False,
) -> _Fitted:
    n_rows, n_classes = scores.shape
    rows = np.arange(n_rows)

    def loss(x: Floats) -> float:
        z = x[0] * scores + x[1:]
        top = z.max(axis=1)
        surprise = top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[rows, labels]
        penalty = pull * (x[1:] ** 2).sum() + _SHARPNESS_PULL * (x[0] - 1) ** 2
        return float(weight @ surprise + penalty / 2)

    x = np.zeros(n_classes + 1)
    x[0] = 1.0
    if start is not None:
        x[0], x[1:] = start.sharpness, start.delta
    free = slice(int(hold_sharpness), None)
    if hold_sharpness:
        x[0] = _LEAST_SHARPNESS
    now = loss(x)
    for _ in range(_MAX_STEPS):
        q = softmax(x[0] * scores + x[1:])
        weighted = weight[:, None] * q
        mean = (q * scores).sum(axis=1)
        gradient = np.empty(n_classes + 1)
        residual = weighted.copy()
        residual[rows, labels] -= weight
        gradient[0] = (residual * scores).sum() + _SHARPNESS_PULL * (x[0] - 1)
        gradient[1:] = residual.sum(axis=0) + pull * x[1:]
        apart = scores - mean[:, None]
        curvature = np.empty((n_classes + 1, n_classes + 1))
        curvature[0, 0] = (weighted * apart**2).sum() + _SHARPNESS_PULL
        curvature[0, 1:] = curvature[1:, 0] = (weighted * apart).sum(axis=0)
        curvature[1:, 1:] = np.diag(weighted.sum(axis=0) + pull) - weighted.T @ q
        step = np.zeros(n_classes + 1)
        step[free] = np.linalg.solve(curvature[free, free], gradient[free])
        decrement = float(gradient @ step)
        length = 1.0
        while (then := loss(x - length * step)) > now - 1e-4 * length * decrement and length > 1e-6:
            length /= 2
        x, now = x - length * step, then
        if decrement < _TOLERANCE or is_over(deadline):
            break
    evidence = 0.0
    if judged:
        log_determinant = np.linalg.slogdet(curvature[free, free])[1]
        evidence = float(n_classes * np.log(pull) - log_determinant) / 2 - now
    return _Fitted(float(x[0]), x[1:], evidence)


def batch_shift(
    probabilities: Probabilities, shares: Floats, weight: Floats, deadline: float | None = None
) -> Floats:
    """Return log-weights that make the classes of a batch equally likely on average.

    Batch calibration (Zhou et al. 2024) divides by the mean probability of each class. That is
    right for classes of equal shares. If `shares` are uneven, each row counts inversely to the
    share of the class that it probably belongs to. The result is shrunk toward no change, by the
    part of its spread that is chance in a batch of this size (James and Stein 1961).

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    shares : ndarray of shape (N,)
        Class shares of the batch.
    weight : ndarray of shape (M,)
        How often each row counts.
    deadline : float, optional
        A ``time.perf_counter`` reading at which to stop with the best so far.

    Returns
    -------
    ndarray of shape (N,)
        Log-weights with mean 0.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.7, 0.3]] * 50)
    >>> batch_shift(p, np.array([0.5, 0.5]), np.ones(100)).round(2)
    array([-0.68,  0.68])
    """
    n_rows = weight.sum()
    average = weight @ probabilities / n_rows
    mean, shift = _level(average, n_rows)
    variance = weight @ (probabilities - average) ** 2 / n_rows
    chance = float((variance / mean**2).mean()) / n_rows
    if np.ptp(shares) > 0:
        log_p = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
        for _ in range(_ROUNDS):
            if is_over(deadline):
                break
            membership = weight[:, None] * softmax(log_p + shift + np.log(shares))
            # the mean of the classes' means, in which every class counts alike
            balanced = (membership / membership.sum(axis=0)).mean(axis=1)
            shift = _level(balanced @ probabilities, n_rows)[1]
    spread = float((shift**2).mean())
    return np.asarray(shift * max(0.0, 1 - chance / spread) if spread > 0 else shift)


def _level(average: Floats, n_rows: float) -> tuple[Floats, Floats]:
    """Return mean probabilities, and the log-weights that make them equal, with mean 0.

    Half a row of each class is added, so that one missing from the batch gets no huge weight.
    """
    mean = np.asarray((n_rows * average + 0.5) / (n_rows + len(average) / 2))
    shift = -np.log(mean)
    return mean, np.asarray(shift - shift.mean())


# How many labels the expected accuracy of a class counts as. Its error is about 0.09, as is that of
# the accuracy on 30 labels.
_EXPECTED_LABELS = 30.0
# Smaller memberships are left out: they are many rows that hardly count.
_LEAST_MEMBERSHIP = 0.005

# Most labelled rows of a class that are used, and the fewest for the sake of speed; most products
# of a step of Newton's method; and most labelled and unlabelled rows together.
_ROWS_PER_CLASS, _FEWEST_PER_CLASS, _MOST_PRODUCTS, _ROWS = 4_000, 10, 200_000_000, 4_000


class Smooth(NamedTuple):
    """Calibrated log-odds, and what they say about unlabelled rows."""

    support: Floats  # (N,) labels of each class
    batch: Floats  # (N,) log-weights of the prior
    log_weights: Floats  # (N,) classes without labels have the mean of the others
    sharpness: float  # inverse temperature
    shares: Floats  # (N,) class shares where the weights will be used
    expected: Problem  # labels, and all rows as what they may be, in the mix of these shares


def fit_smooth(
    probabilities: Probabilities,
    labels: Labels,
    weight: Floats,
    unlabelled: Probabilities,
    classes: Sequence[str],
    common: Common,
    target: Floats | None = None,
    seed: int = 0,
    deadline: float | None = None,
) -> Smooth:
    """Fit the smooth estimator to labels, with a pull to the batch calibration of all rows.

    Rows then count for every class that they may be of, beside their labels. The accuracy of a
    class is so a mean of the accuracy on its labels and of the expected accuracy on all rows, which
    counts as 30 labels.

    Parameters
    ----------
    probabilities, labels, weight, unlabelled, classes, common
        As the estimator has them: labelled rows, how often each counts, and rows without a label.
    target : ndarray of shape (N,), optional
        Class shares of the unlabelled rows and where the weights will be used, if known.
    seed : int
        Of samples of large sets.
    deadline : float, optional
        A ``time.perf_counter`` reading at which to stop with the best so far.
    """
    rng, exponent = np.random.default_rng(seed), common.exponent
    n_classes = probabilities.shape[1]
    everything = np.concatenate([probabilities, unlabelled])
    counts = np.zeros(everything.shape)
    counts[np.arange(len(labels)), labels] = weight
    support = np.bincount(labels, weight, n_classes).astype(np.float64)
    sampled = np.arange(len(everything))
    if len(everything) > _ROWS:
        sampled = np.sort(rng.choice(len(everything), _ROWS, replace=False))
    weights = np.concatenate([weight, np.ones(len(unlabelled))])[sampled]
    prior_shares = label_shares(support)
    known = common.there if target is None else target
    if known is not None:
        mixed = support + 0.5 + len(unlabelled) * known
        prior_shares = mixed / mixed.sum()
    sample = to_power(everything[sampled], exponent)
    batch = batch_shift(sample, prior_shares, weights, deadline)

    # a step of Newton's method takes as many products as rows times squared classes
    most = int(np.clip(_MOST_PRODUCTS // n_classes**3, _FEWEST_PER_CLASS, _ROWS_PER_CLASS))
    drawn = draw_per_class(labels, n_classes, rng, most)
    log_p = log_probabilities(to_power(probabilities[drawn], exponent))
    shift = fit_shift(log_p, labels[drawn], weight[drawn], batch, deadline=deadline)
    middle = shift.log_weights[support > 0].mean()
    log_weights = np.where(support > 0, shift.log_weights, middle)

    posterior = shift.posterior(log_probabilities(sample))
    shares = target
    if shares is None:
        shares = update_shares(posterior, prior_shares, support, weights)
    membership = posterior * np.where(shares > 0, shares, np.finfo(np.float64).tiny)
    membership /= membership.sum(axis=1, keepdims=True)
    if not is_over(deadline):
        matters = (membership >= _LEAST_MEMBERSHIP) & counts.any(axis=0)
        expected = np.where(matters, membership, 0.0) * weights[:, None]
        total = expected.sum(axis=0)
        counts[sampled] += _EXPECTED_LABELS * expected / np.where(total > 0, total, 1.0)
    seen = counts.sum(axis=0)
    factors = np.where(seen > 0, shares, 0.0) / np.where(seen > 0, seen, 1.0)
    counts = counts * factors * (seen.sum() / (factors * seen).sum())
    counted = counts.any(axis=1)
    return Smooth(
        support,
        batch / exponent,
        log_weights / exponent,
        shift.sharpness * exponent,
        shares,
        Problem.shared(everything[counted], counts[counted], classes),
    )


# --- Calibration, drift and the class mix ---
# Rows of each class that a calibration is learned from, and cells in all. That is enough for its
# few parameters, and takes milliseconds.
_OF_CLASS, _CELLS, _LEAST_OF_CLASS = 1_000, 100_000, 10

# Precision of the prior on log-odds. It is weaker than for the weights of a robust fit, because
# errors of a calibration go straight into the class shares that it estimates.
_PULL = 3.0


def calibrate(
    probabilities: Probabilities,
    labels: Labels,
    weight: Floats | None = None,
    deadline: float | None = None,
) -> Calibration:
    """Fit one additive log-weight per class and one temperature, by class-balanced log-loss.

    With few labels, the log-weights are pulled to the batch calibration of the labelled rows, whose
    class mix is known. A class without labels gets the mean of the others.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
    weight : ndarray of shape (M,), optional
        How much each example counts, 1 on average.
    deadline : float, optional
        A ``time.perf_counter`` reading at which to stop with the best so far.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 20)
    >>> calibration = calibrate(p, np.array([0, 1] * 20))
    >>> calibration.log_weights.round(1), calibration.labels
    (array([-0.6,  0.6]), array([20., 20.]))
    """
    if weight is None:
        weight = np.ones(len(labels))
    counted = weight > 0
    p, y, weight = probabilities[counted], labels[counted], weight[counted]
    n_classes = p.shape[1]
    support = np.bincount(y, weight, n_classes)
    shares = (support + 0.5) / (weight.sum() + n_classes / 2)
    batch = batch_shift(p, shares, weight, deadline)
    fitted = fit_shift(log_probabilities(p), y, weight, batch, _PULL, deadline)
    middle = fitted.log_weights[support > 0].mean()
    return replace(fitted, log_weights=np.where(support > 0, fitted.log_weights, middle))


def calibrate_sample(
    probabilities: Probabilities,
    labels: Labels,
    weight: Floats | None = None,
    deadline: float | None = None,
) -> Calibration:
    """Return the calibration of labelled rows, or of a sample if there are many.

    Parameters
    ----------
    probabilities, labels, weight, deadline
        As for :func:`calibrate`; the weight may be any multiple.
    """
    n_classes, rng = probabilities.shape[1], np.random.default_rng(0)
    most = min(_OF_CLASS, max(_CELLS // n_classes**2, _LEAST_OF_CLASS))
    drawn = draw_per_class(labels, n_classes, rng, most)
    counted = None if weight is None else weight[drawn] * (len(labels) / weight.sum())
    return calibrate(probabilities[drawn], labels[drawn], counted, deadline)


# Rows differ beyond chance if the p value over all classes is below this.
_LEVEL = 0.01


class _Drift(NamedTuple):
    """Labelled rows moved to where the unlabelled ones are, and the p value of the test."""

    probabilities: Probabilities  # (M, N) of the labelled rows
    p_value: float


def find_drift(
    labelled: Probabilities,
    labels: Labels,
    unlabelled: Probabilities,
    target: Floats | None = None,
    counts: Floats | None = None,
    *,
    by_answer: bool = False,
) -> _Drift | None:
    """Return moved labelled rows if the two sets differ beyond chance and class mix, else None.

    Another class mix changes no class accuracy. So labelled rows first get weights for the mix that
    the unlabelled ones probably have (Saerens et al. 2002). A difference that remains, by the test
    of Kolmogorov and Smirnov on the probabilities of each class and on the largest (Bonferroni's
    correction, 1 %), is a change of the texts, the prompt or the model. Then the log-probabilities
    of the labelled rows get the mean and the spread of the unlabelled ones.

    Parameters
    ----------
    labelled : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
    unlabelled : ndarray of shape (U, N)
    target : ndarray of shape (N,), optional
        The class mix of the unlabelled rows, if it is known.
    counts : ndarray of shape (M,), optional
        How often each labelled row counts.
    by_answer : bool, default=False
        Whether to test, too, how often each class is the most probable one, which is what a choice
        by the model's answer changes most.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([2, 1], 600)
    >>> y = (rng.random(600) < p[:, 1]).astype(int)
    >>> find_drift(p[:300], y[:300], p[300:]) is None
    True
    >>> other = p[300:] * [1, 9]
    >>> drift = find_drift(p[:300], y[:300], other / other.sum(axis=1, keepdims=True))
    >>> bool(drift.probabilities[:, 1].mean() > p[:300, 1].mean() + 0.1)
    True
    """
    n_classes = labelled.shape[1]
    log_u = log_probabilities(unlabelled)
    if counts is None:
        counts = np.ones(len(labels))
    if target is None:
        target = likely_shares(calibrate(labelled, labels, counts).posterior(log_u))
    support = np.bincount(labels, counts, n_classes)
    factor = (target / np.where(support > 0, support, 1.0))[labels]
    weight = counts * factor
    n_rows = float(weight.sum() ** 2 / (weight @ factor))  # effective number of rows
    columns = (np.column_stack([p, p.max(axis=1)]).T for p in (labelled, unlabelled))
    p_values = [_smirnov(x, weight, n_rows, y) for x, y in zip(*columns, strict=True)]
    if by_answer:
        said = (np.eye(n_classes)[p.argmax(axis=1)] for p in (labelled, unlabelled))
        here, there = np.average(next(said), axis=0, weights=weight), next(said).mean(axis=0)
        p_values += [
            rates_p_value(first, n_rows, second, len(unlabelled))
            for first, second in zip(here.tolist(), there.tolist(), strict=True)
        ]
    p_value = len(p_values) * min(p_values)
    if p_value >= _LEVEL:
        return None
    here, there = (centred(log_p) for log_p in (log_probabilities(labelled), log_u))
    away = here - np.average(here, axis=0, weights=counts)
    variance = np.average(away**2, axis=0, weights=counts).mean()
    spread = np.sqrt(there.var(axis=0).mean() / max(variance, 1e-12))
    moved = away * spread + there.mean(axis=0)
    return _Drift(softmax(moved), float(p_value))


def _smirnov(x: Floats, weight: Floats, n_rows: float, y: Floats) -> float:
    """Return the p value of a weighted sample and another one having the same distribution.

    The weighted one counts as `n_rows` rows of equal weight (Kish 1965).
    """
    order = np.argsort(x)
    x, y = x[order], np.sort(y)
    height = np.concatenate(([0.0], np.cumsum(weight[order]) / weight.sum()))
    everywhere = np.concatenate([x, y])
    below_x = height[np.searchsorted(x, everywhere, side="right")]
    below_y = np.searchsorted(y, everywhere, side="right") / len(y)
    distance = float(np.abs(below_x - below_y).max())
    return smirnov_p_value(distance, n_rows, len(y))


def find_target(
    prior: PriorLike,
    classes: Sequence[str],
    calibration: Calibration,
    support: Floats,
    unlabelled: Probabilities,
) -> TargetPrior:
    """Find the class mix to fit for: given, read from a text, or estimated."""
    estimate = None
    if is_estimate(prior):
        if not len(unlabelled):
            raise InvalidInputError(
                "target prior: there are no rows without a label to estimate it from",
                hint="Give --unlabelled TABLE, leave labels empty in rows of the opt table, or "
                "give the shares",
            )
        estimate = estimate_of(unlabelled, calibration)
        shares = estimate.shares
    else:
        shares = check_prior(prior, classes)
    return TargetPrior(shares, estimate, effective_rows(support, shares))


def estimate_of(unlabelled: Probabilities, calibration: Calibration) -> PriorEstimate:
    """Estimate the class mix of rows without a label, or of a sample if there are many."""
    sample = RowSample(most_rows(unlabelled.shape[1]))
    sample.add(probabilities=unlabelled)
    return estimate_prior(sample.columns["probabilities"], calibration)
