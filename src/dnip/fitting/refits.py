"""Fits without each fold of the labelled rows: what they say of other rows, and a verdict.

Rows that belong together lie in one fold: several answers to one prompt, paraphrases, copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import InfeasibleError, listed, unwarned
from dnip.base.typing import Booleans, Confusion, Counts, Floats, Integers, Labels, Probabilities
from dnip.fitting.estimate import Estimator
from dnip.fitting.settings import FitSettings
from dnip.method.objective import MetricObjective, Objective, ObjectiveLike, beta_of
from dnip.method.prediction import decide
from dnip.method.problem import Problem
from dnip.metrics import METRICS, accuracy, balanced_accuracy
from dnip.metrics.confusion import cobias_of, count_pairs
from dnip.metrics.intervals import Expectation, central, followed_chance, refit_spread
from dnip.solvers import Coordinate
from dnip.tables.groups import sizes_of
from dnip.tables.mass import CapturedMass
from dnip.using.evaluation import Evaluation

#: Folds where nothing else is asked for.
USUAL_FOLDS = 5
# Line searches of a refit, as a part of those of a fit; more hardly change what is expected.
_EFFORT = 0.25


class LeftOut(NamedTuple):
    """A fold of the labelled rows, and weights that have not seen it."""

    rows: Booleans  # (M,)
    multipliers: Floats  # (N,)


class Judged(NamedTuple):
    """What refits say of a fit, and the refits."""

    evidence: FitEvidence
    left_out: list[LeftOut]


class Refits:
    """Estimators of all labelled rows but a fold, for every fold; asked for any β.

    Parameters
    ----------
    rows : Problem
        The labelled rows.
    settings : FitSettings
        Of the fit.
    unlabelled : ndarray of shape (U, N)
        Rows without a label, for robust refits.
    target : ndarray of shape (N,), optional
        The class mix where the coefficients will be used; that of the labels by default.
    is_mix_given : bool, default=False
        Whether `target` was asked for, rather than being the natural mix.
    captured_mass : CapturedMass, optional
        How many rows have a low captured mass, which is a fault of the prompt.
    groups : ndarray of shape (M,), optional
        The number of the group of each row. A group lies in one fold, and counts as one row.
    exponent, there
        As for :class:`dnip.fitting.estimate.Estimator`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> p = np.clip(0.7 + 0.15 * rng.normal(size=200) - 0.3 * y, 0.01, 0.99)
    >>> rows = Problem.of(np.stack([p, 1 - p], axis=1), y, classes=["no", "yes"])
    >>> settings = FitSettings(robust="off")
    >>> refits = Refits(rows, settings, rows.probabilities[:0])
    >>> refits.assess(settings).verdict
    'apply'
    """

    def __init__(
        self,
        rows: Problem,
        settings: FitSettings,
        unlabelled: Probabilities,
        *,
        target: Floats | None = None,
        is_mix_given: bool = False,
        captured_mass: CapturedMass | None = None,
        groups: Integers | None = None,
        exponent: float = 1.0,
        there: Floats | None = None,
    ) -> None:
        self._rows, self._target, self._is_mix_given = rows, target, is_mix_given
        self._captured_mass, self._raw = captured_mass, decide(rows.probabilities)
        self._judged: dict[float, Judged] = {}
        sizes = sizes_of(groups)
        self._weight = None if sizes is None else 1 / sizes
        folds = _folds_of(rows.labels, USUAL_FOLDS, settings.seed, groups)

        p, y, self._folds = rows.probabilities, rows.labels, list[tuple[Booleans, Estimator]]()
        with unwarned():
            for fold in folds:
                rest = ~fold
                estimator = Estimator(
                    Problem.trusted(p[rest], y[rest], rows.classes, rows.weights[rest]),
                    _of_refits(settings),
                    unlabelled,
                    group_sizes=None if sizes is None else sizes[rest],
                    exponent=exponent,
                    there=there,
                )
                self._folds.append((fold, estimator))

    def left_out(self, settings: FitSettings) -> list[LeftOut]:
        """Return every fold and the weights that were fitted without it."""
        refitted = []
        with unwarned():
            for fold, estimator in self._folds:
                try:
                    multipliers = estimator.solve(_of_refits(settings)).solution.multipliers
                except InfeasibleError:  # such labels would have left the raw argmax
                    multipliers = np.ones(self._rows.n_classes)
                refitted.append(LeftOut(fold, multipliers))
        return refitted

    def judge(self, settings: FitSettings) -> Judged:
        """Return what refits say of a fit at the β of these settings, made once for each β."""
        beta = beta_of(settings.objective)
        if beta not in self._judged:
            left_out = self.left_out(settings)
            self._judged[beta] = Judged(self.assess(settings, left_out), left_out)
        return self._judged[beta]

    def judge_raw(self, settings: FitSettings) -> Judged:
        """Return the same of weights of 1."""
        raw = [LeftOut(fold, np.ones(self._rows.n_classes)) for fold, _ in self._folds]
        return Judged(self.assess(settings, raw), raw)

    def assess(self, settings: FitSettings, left_out: list[LeftOut] | None = None) -> FitEvidence:
        """Return what refits say of other rows; `left_out` is known already, if given."""
        refits = self.left_out(settings) if left_out is None else left_out
        p, labels, n = self._rows.probabilities, self._rows.labels, self._rows.n_classes
        fitted, on_all, apart = self._raw.copy(), [], []
        for rows, multipliers in refits:
            predicted = decide(p, multipliers)
            on_all.append(self._count(predicted))
            apart.append(self._count(predicted, rows))
            fitted[rows] = predicted[rows]
        rights = 2 * (self._raw == labels) + (fitted == labels)
        evaluation = Evaluation(
            self._rows.classes,
            len(labels) if self._weight is None else round(self._weight.sum()),
            0,
            self._count(self._raw),
            self._count(fitted),
            count_pairs(labels, rights, n, 4, self._weight).reshape(n, 2, 2),
            target=self._target,
            captured_mass=self._captured_mass,
        )
        return FitEvidence.of(
            evaluation,
            followed_chance(on_all, apart) if apart else 1.0,
            refit_spread(on_all),
            settings.objective,
            [multipliers for _, multipliers in refits],
            is_mix_given=self._is_mix_given,
        )

    def _count(
        self, predicted: NDArray[np.integer], rows: Booleans | slice = slice(None)
    ) -> Confusion:
        """Count rows by class and by prediction; a group counts as one row."""
        n, weight = self._rows.n_classes, None if self._weight is None else self._weight[rows]
        return count_pairs(self._rows.labels[rows], predicted[rows], n, n, weight)


def _of_refits(settings: FitSettings) -> FitSettings:
    """Return the settings of a refit: what is lost is judged by the rows left out."""
    limit = None if settings.time_limit is None else settings.time_limit / USUAL_FOLDS
    constraints = settings.constraints
    if settings.robust != "off" and isinstance(settings.objective, Objective):
        constraints = replace(constraints, max_accuracy_loss=None)
    solver = settings.solver
    if solver.proves:  # the coordinate solver finds the same optima, without the proof
        solver = Coordinate()
    if isinstance(solver, Coordinate):
        solver = replace(solver, effort=_EFFORT * solver.effort, chains=1)
    return replace(settings, time_limit=limit, constraints=constraints, solver=solver)


def _folds_of(
    labels: Labels, n_folds: int, seed: int, groups: Integers | None = None
) -> list[Booleans]:
    """Divide rows into folds that each get an even share of every class.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    n_folds : int
        A fold lacks a class only if the class has fewer rows than there are folds.
    seed : int
    groups : ndarray of shape (M,), optional
        Rows of one group lie in one fold; the group counts for the class of its first row.

    Returns
    -------
    list of ndarray of shape (M,)
        Whether each row is in the fold. Folds are left out without which two classes could not be
        fitted, and those without rows.

    Examples
    --------
    >>> [np.flatnonzero(fold).tolist() for fold in _folds_of(np.array([0, 0, 1, 1, 1, 1]), 2, 0)]
    [[1, 3, 4], [0, 2, 5]]
    """
    first, member = np.arange(len(labels)), np.arange(len(labels))
    if groups is not None:
        first, member = np.unique(groups, return_index=True, return_inverse=True)[1:]
    rng = np.random.default_rng(seed)
    number = np.empty(len(first), np.int64)
    for c in np.unique(labels[first]):
        members = np.flatnonzero(labels[first] == c)
        number[members] = (rng.permutation(len(members)) + rng.integers(n_folds)) % n_folds
    folds = [number[member] == fold for fold in range(n_folds)]
    return [fold for fold in folds if fold.any() and len(np.unique(labels[~fold])) >= 2]


# --- What they say ---
#: How sure it must be that error + β·COBias falls, or that the metric of the objective rises.
NEEDED = 0.8
#: Level of the intervals in texts.
LEVEL = 0.9
#: What is said of probabilities that know nothing of the class.
NO_SIGNAL = (
    "The probabilities say nothing about the class, beyond chance. No weights can\n"
    "mend that. Change the prompt or the model."
)
#: Labels that each class needs, so that one can be left out.
FEWEST = 2

# No sample leaves no doubt at all.
_SUREST = 0.99
# The least standard deviation that chance is given.
_LEAST_DEVIATION = 0.02
_DRAWS, _SEED = 1_000, 0


@dataclass(frozen=True, eq=False)
class FitEvidence:
    """What cross-validation says about a fit.

    Attributes
    ----------
    evaluation : Evaluation
        Of the labelled rows. In `reweighted`, refits predict the rows that they have not seen.
    raw, reweighted : Expectation
        What other rows are likely to show, of what depends on gaps between classes.
    before, after : float
        error + β·COBias to expect of the raw argmax and of the coefficients; 1 less the metric,
        where the objective is one.
    sure : float
        How sure it is that this falls, 0.01..0.99.
    ranges : ndarray of shape (N, 2)
        Least and greatest weight of each class over the refits, the largest of each being 1.
    n_refits : int
        Refits that left labels out; 0 where there are too few labels for any.
    objections : tuple of str
        Reasons not to apply the coefficients; empty if they should be applied.
    metric : str or None
        The metric of the objective, by its name in ``METRICS``.
    """

    evaluation: Evaluation
    raw: Expectation
    reweighted: Expectation
    before: float
    after: float
    sure: float
    ranges: Floats
    n_refits: int
    objections: tuple[str, ...]
    metric: str | None = None

    @classmethod
    def of(
        cls,
        evaluation: Evaluation,
        followed: float,
        spread: float,
        goal: ObjectiveLike,
        multipliers: Sequence[Floats],
        *,
        is_mix_given: bool = False,
    ) -> FitEvidence:
        """Judge refits by what they predict on rows that they have not seen.

        Raw argmax and refits predict the same rows, so the uncertainty of their difference comes
        from drawing rows again (bootstrap), class by class.

        Parameters
        ----------
        evaluation : Evaluation
            Of all labelled rows; `reweighted` and `agreement` are of refits on rows left out.
        followed : float
            κ; see :func:`dnip.metrics.intervals.followed_chance`.
        spread : float
            See :func:`dnip.metrics.intervals.refit_spread`.
        goal : ObjectiveLike
            A metric, or what has the weight of COBias.
        multipliers : sequence of ndarray of shape (N,)
            Of each refit.
        is_mix_given : bool, default=False
            Whether a class mix was asked for; what always one answer scores then counts for
            nothing.
        """
        assert evaluation.reweighted is not None
        expected = (
            Expectation(evaluation.raw, 0.0),
            Expectation(evaluation.reweighted, followed, spread=spread),
        )
        metric = goal if isinstance(goal, MetricObjective) else None
        in_mix = [evaluation.in_population(counts) for counts in evaluation.sides.values()]
        before, after = (
            metric(counts) if metric else 1 - accuracy(counts) + beta_of(goal) * side.cobias
            for counts, side in zip(in_mix, expected, strict=True)
        )
        sure = _how_sure(evaluation, before, after, goal)
        equal = np.ones(len(evaluation.classes))
        weights = np.array([omega / omega.max() for omega in multipliers] or [equal])
        return cls(
            evaluation,
            *expected,
            before,
            after,
            sure,
            np.stack([weights.min(axis=0), weights.max(axis=0)], axis=1),
            len(multipliers),
            _object(evaluation, expected, sure, metric, is_mix_given=is_mix_given),
            None if metric is None else metric.function.__name__,
        )

    def completed(self, signal: bool | None, others: Mapping[float, FitEvidence]) -> Self:
        """Return the same with what is known of the signal, and of other β.

        Parameters
        ----------
        signal : bool or None
            Whether probabilities tell anything of the class; without any, nothing else counts.
        others : mapping of float to FitEvidence
            What refits at other β say, by β. A class that only another β makes right at all is an
            objection.
        """
        assert self.evaluation.reweighted is not None
        silent, lines = np.diag(self.evaluation.reweighted) == 0, []
        for beta, other in sorted(others.items()):
            assert other.evaluation.reweighted is not None
            revived = silent & (np.diag(other.evaluation.reweighted) > 0)
            revived &= self.evaluation.raw.sum(axis=1) >= FEWEST
            silent &= ~revived
            if revived.any():
                names = listed([self.evaluation.classes[c] for c in np.flatnonzero(revived)])
                lines.append(f"Never right here, but with --beta {beta:g}: class {names}.")
        objections = (NO_SIGNAL,) if signal is False else self.objections
        evaluation = replace(self.evaluation, signal=signal)
        return replace(self, evaluation=evaluation, objections=(*lines, *objections))

    @property
    def accuracies(self) -> list[float]:
        """Accuracy before and after, in the mix where the coefficients will be used."""
        sides = self.evaluation.sides.values()
        return [accuracy(self.evaluation.in_population(counts)) for counts in sides]

    @property
    def accuracy_change(self) -> float:
        """Accuracy after less before."""
        before, after = self.accuracies
        return after - before

    @property
    def verdict(self) -> str:
        """``"apply"``, ``"keep"`` the raw argmax, or ``"no signal"``."""
        if self.evaluation.signal is False:
            return "no signal"
        return "keep" if self.objections else "apply"

    @property
    def aim(self) -> str:
        """What the fit was made for."""
        return "error + β·COBias" if self.metric is None else METRICS[self.metric].title

    @property
    def change(self) -> str:
        """How that is expected to change, and how sure it is."""
        ends, moves = [self.before, self.after], "falls"
        if self.metric is not None:
            ends, moves = [1 - self.before, 1 - self.after], "rises"
        return f"{_arrow(ends)}, {self.sure:.0%} sure that it {moves}"

    @property
    def reason(self) -> str:
        """The reason of the verdict: objections, and the numbers."""
        sides = self.raw, self.reweighted
        worst = [side.worst_class_accuracy for side in sides]
        low, high = self.reweighted.intervals(LEVEL)["cobias"]
        numbers = (
            f"On other rows: {self.aim} {self.change}\n(needed: {NEEDED:.0%}); "
            f"accuracy {_arrow(self.accuracies)}, worst class {_arrow(worst)},\n"
            f"COBias {_arrow([side.cobias for side in sides])}, "
            f"{LEVEL:.0%} sure to be from {low:.3f} to {high:.3f}"
        )
        return "\n".join([*self.objections, numbers])

    def to_dict(self, confidence: float | None = None) -> dict[str, Any]:
        """Return everything, ready for JSON, with intervals of a level between 0 and 1."""
        content = self.evaluation.to_dict(confidence)
        sides = {"raw": self.raw, "reweighted": self.reweighted}
        for side, expected in sides.items():
            content[side] |= expected.to_dict()
            if confidence is not None:
                content[side]["intervals"] |= expected.intervals(confidence)
        change = self.reweighted.drawn["cobias"] - self.raw.drawn["cobias"]
        content["difference"]["cobias"] = float(change.mean())
        if confidence is not None:
            content["difference"]["intervals"]["cobias"] = central(change, confidence)
        return {
            "verdict": self.verdict,
            "objections": list(self.objections),
            "sure": self.sure,
            "needed": NEEDED,
            "objective": {"before": self.before, "after": self.after},
            "folds": self.n_refits,
            "weight_ranges": self.ranges.tolist(),
            **content,
        }


def _arrow(values: Sequence[float]) -> str:
    return " -> ".join(f"{value:.3f}" for value in values)


def _how_sure(evaluation: Evaluation, before: float, after: float, goal: ObjectiveLike) -> float:
    """Return how sure it is that what is minimised falls."""
    assert evaluation.agreement is not None
    assert evaluation.reweighted is not None
    cells = evaluation.agreement.reshape(-1, 4)
    sizes = cells.sum(axis=1)
    present = sizes > 0
    cells, sizes = cells[present], sizes[present]
    shares = sizes / sizes.sum() if evaluation.target is None else evaluation.target[present]
    shares = shares / shares.sum()

    def z(rows: Confusion, right: list[int], counts: Counts) -> Floats:
        rates = rows[..., right].sum(axis=-1) / sizes
        if isinstance(goal, MetricObjective):
            return 1 - _metric_of_rates(goal, rates, shares, counts[np.ix_(present, present)])
        return np.asarray(1 - rates @ shares + beta_of(goal) * cobias_of(rates))

    rng = np.random.default_rng(_SEED)
    drawn = np.stack(
        [rng.multinomial(n, c / n, _DRAWS) for n, c in zip(sizes, cells, strict=True)], axis=1
    )
    raw, fitted = evaluation.raw, evaluation.reweighted
    deviation = float((z(drawn, [1, 3], fitted) - z(drawn, [2, 3], raw)).std())
    sure = NormalDist().cdf((before - after) / max(deviation, _LEAST_DEVIATION))
    return min(max(sure, 1 - _SUREST), _SUREST)


def _metric_of_rates(
    metric: MetricObjective, rates: Floats, shares: Floats, counts: Counts
) -> Floats:
    """Return the metric where classes have these accuracies, (..., N), and make these errors."""
    if metric.is_by_class:
        return np.asarray(rates.mean(axis=-1))
    errors = counts - np.diag(np.diag(counts))
    errors = errors / np.maximum(errors.sum(axis=1, keepdims=True), 1)
    right = rates * shares
    predicted = right + (shares - right) @ errors
    return np.asarray((2 * right / (shares + predicted)).mean(axis=-1))


def _object(
    evaluation: Evaluation,
    expected: tuple[Expectation, Expectation],
    sure: float,
    metric: MetricObjective | None,
    *,
    is_mix_given: bool,
) -> tuple[str, ...]:
    """Return the reasons not to apply the coefficients."""
    raw, fitted, names = evaluation.raw, evaluation.reweighted, evaluation.classes
    assert fitted is not None
    if np.trace(raw) == raw.sum():
        return ("The raw argmax gets every labelled row right: there is nothing to gain.",)
    objections = []
    mass = evaluation.captured_mass
    if mass is not None and mass.at_fault:
        objections.append("The prompt is at fault: the labels capture little of the probability.")
    rows = raw.sum(axis=1)
    few = [names[c] for c in np.flatnonzero(rows < FEWEST).tolist()]
    if few:
        objections.append(
            f"Too few labels to judge by, fewer than {FEWEST}, of class {listed(few)}."
        )
    silenced = (np.diag(raw) > 0) & (np.diag(fitted) == 0) & (rows >= FEWEST)
    if silenced.any():
        named = listed([names[c] for c in np.flatnonzero(silenced).tolist()])
        objections.append(f"On other rows nothing may be left right of class {named}.")
    worst = [round(side.worst_class_accuracy, 3) for side in expected]  # as it is told
    if metric is None and worst[1] < worst[0]:
        objections.append(f"The worst class falls from {worst[0]:.3f} to {worst[1]:.3f}.")
    chance = 1 / len(names)
    if balanced_accuracy(fitted) < min(chance, balanced_accuracy(raw)):
        objections.append(
            f"The mean class accuracy falls below {chance:.3f}, which guessing would reach."
        )
    always = None if is_mix_given else evaluation.always
    if always is not None:
        name, share = always
        before, after = (accuracy(evaluation.in_population(side)) for side in (raw, fitted))
        if before >= share > after:
            objections.append(
                f"Always answering {name} would be right on {share:.1%} of the rows. The raw "
                f"argmax reaches that,\nand the coefficients do not, with {after:.1%}."
            )
    if sure < NEEDED:
        objections.append("It is not sure enough that other rows gain; more labels would show it.")
    return tuple(objections)
