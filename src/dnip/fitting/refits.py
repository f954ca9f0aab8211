"""Fits without each fold of the labelled rows: what they say of other rows, and a verdict.

Rows that belong together lie in one fold: several answers to one prompt, paraphrases, copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import InfeasibleError, listed, unwarned
from dnip.base.typing import Booleans, Counts, Floats, Integers, Labels, Probabilities
from dnip.fitting.estimate import Common, Estimator
from dnip.fitting.settings import FitSettings
from dnip.method.objective import (
    Compiled,
    MetricObjective,
    Objective,
    ObjectiveLike,
    beta_of,
    name_of,
    on_classes,
)
from dnip.method.prediction import decide
from dnip.method.problem import Problem
from dnip.metrics import METRICS, accuracy, balanced_accuracy
from dnip.metrics.confusion import cobias_of, in_mix
from dnip.metrics.intervals import Expectation, central, followed_chance, refit_spread
from dnip.solvers import Coordinate
from dnip.tables.groups import sizes_of
from dnip.tables.rows import CapturedMass
from dnip.using.evaluation import Evaluation

#: Folds, and how often they are drawn: with one draw, a fifth of all verdicts depend on it.
FOLDS, DRAWS = 5, 3
# Line searches of a refit, as a part of those of a fit; more hardly change what is expected.
_EFFORT = 0.1


class LeftOut(NamedTuple):
    """A fold of the labelled rows, and weights that have not seen it."""

    rows: Booleans  # (M,)
    multipliers: Floats  # (N,)


#: The folds of one draw: every row lies in one of them.
Folds = list[LeftOut]


class Judged(NamedTuple):
    """What refits say of a fit, and the refits."""

    evidence: FitEvidence
    left_out: Folds  # of the first draw


class Refits:
    """Estimators of all labelled rows but a fold, for every fold of a few draws; at any β.

    Nothing that a refit starts from has seen a label that it leaves out.

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
    common : Common, optional
    draws : int, default=3
        How often folds are drawn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> p = np.clip(0.7 + 0.15 * rng.normal(size=200) - 0.3 * y, 0.01, 0.99)
    >>> rows = Problem.of(np.stack([p, 1 - p], axis=1), y, classes=["no", "yes"])
    >>> from dnip.fitting.settings import fit_settings
    >>> settings = fit_settings(robust="off")
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
        common: Common = Common(),  # noqa: B008 - a constant
        draws: int = DRAWS,
    ) -> None:
        self._rows, self._target, self._is_mix_given = rows, target, is_mix_given
        self._captured_mass, self._raw = captured_mass, decide(rows.probabilities)
        self._judged: dict[float, Judged] = {}
        sizes = sizes_of(groups)
        self._weight = None if sizes is None else 1 / sizes

        p, y = rows.probabilities, rows.labels
        self._draws = list[list[tuple[Booleans, Estimator]]]()
        for draw in range(draws):
            estimators = []
            for fold in _folds_of(y, FOLDS, settings.seed * DRAWS + draw, groups):
                rest = ~fold
                with unwarned():
                    estimator = Estimator.of(
                        Problem.trusted(p[rest], y[rest], rows.classes, rows.weights[rest]),
                        _of_refits(settings, draws),
                        unlabelled,
                        group_sizes=None if sizes is None else sizes[rest],
                        common=common,
                    )
                estimators.append((fold, estimator))
            self._draws.append(estimators)

    @property
    def are_possible(self) -> bool:
        """Whether any fold can be left out."""
        return all(self._draws)

    def left_out(self, settings: FitSettings) -> list[Folds]:
        """Return every fold of each draw, and the weights that were fitted without it."""
        short = _of_refits(settings, len(self._draws))

        def refit(estimator: Estimator) -> Floats:
            try:
                return estimator.solve(short).solution.multipliers
            except InfeasibleError:  # such labels would have left the raw argmax
                return np.ones(self._rows.n_classes)

        with unwarned():
            return [
                [LeftOut(fold, refit(estimator)) for fold, estimator in draw]
                for draw in self._draws
            ]

    def judge(self, settings: FitSettings) -> Judged:
        """Return what refits say of a fit at the β of these settings, made once for each β."""
        beta = beta_of(settings.objective)
        if beta not in self._judged:
            draws = self.left_out(settings)
            self._judged[beta] = Judged(self.assess(settings, draws), draws[0])
        return self._judged[beta]

    def judge_raw(self, settings: FitSettings) -> Judged:
        """Return the same of weights of 1."""
        equal = np.ones(self._rows.n_classes)
        draws = [[LeftOut(fold, equal) for fold, _ in draw] for draw in self._draws]
        return Judged(self.assess(settings, draws), draws[0])

    def assess(
        self, settings: FitSettings, draws: list[Folds] | None = None, before: Floats | None = None
    ) -> FitEvidence:
        """Return what refits say of other rows, next to the raw argmax, or to weights `before`.

        `draws` are known already, if given. Both sides predict the same rows, so the uncertainty of
        their difference comes from drawing rows again (bootstrap), class by class.
        """
        draws = self.left_out(settings) if draws is None else draws
        p, n, raw = self._rows.probabilities, self._rows.n_classes, self._raw
        raw = raw if before is None else decide(p, before)
        cells, followed, spreads = list[Integers](), list[float](), list[float]()
        for folds in draws:
            fitted, on_all, apart = raw.copy(), [], []
            for rows, multipliers in folds:
                predicted = decide(p, multipliers)
                on_all.append(self._count(predicted))
                apart.append(self._count(predicted, rows))
                fitted[rows] = predicted[rows]
            cells.append((self._rows.labels * n + raw) * n + fitted)
            followed.append(followed_chance(on_all, apart) if apart else 1.0)
            spreads.append(refit_spread(on_all))

        moves, target = Moves.of(cells, n, self._weight), self._target
        counts = moves.confusion(moves.before), moves.confusion(moves.after)
        chance, spread = float(np.mean(followed)), float(np.mean(spreads))
        sides = Expectation(counts[0], 0.0), Expectation(counts[1], chance, spread=spread)
        evaluation = Evaluation(
            self._rows.classes,
            round(counts[0].sum()),
            0,
            np.rint(counts[0]).astype(np.int64),
            counts[1],
            moves.agreement,
            target=target,
            captured_mass=self._captured_mass,
        )
        goal = on_classes(settings.judged_by, self._rows.classes)
        start, end = (
            _value_of(goal, evaluation.in_population(confusion), side)
            for confusion, side in zip(counts, sides, strict=True)
        )
        of_refits = [omega / omega.max() for folds in draws for _, omega in folds]
        weights = np.array(of_refits or [np.ones(n)])
        evidence = FitEvidence(
            evaluation,
            *sides,
            goal,
            start,
            end,
            how_sure(moves, target, start, end, goal),
            np.stack([weights.min(axis=0), weights.max(axis=0)], axis=1),
            len(of_refits),
        )
        notes = _notes(evidence, is_mix_given=self._is_mix_given)
        return replace(evidence, notes=tuple(notes))

    def _count(
        self, predicted: NDArray[np.integer], rows: Booleans | slice = slice(None)
    ) -> Counts:
        """Count rows by class and by prediction; a group counts as one row."""
        n, weight = self._rows.n_classes, None if self._weight is None else self._weight[rows]
        pairs = self._rows.labels[rows] * n + predicted[rows]
        return np.bincount(pairs, weight, n * n).reshape(n, n)


def _of_refits(settings: FitSettings, draws: int) -> FitSettings:
    """Return the settings of a refit: what is lost is judged by the rows left out."""
    limit = None if settings.time_limit is None else settings.time_limit / (FOLDS * draws)
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
#: Level of the intervals in texts.
LEVEL = 0.9
#: Labels that each class needs, so that one can be left out; and so that its accuracy counts where
#: the worst class is looked at, or the worst tenth of so many classes.
FEWEST, _FEW, _MANY_CLASSES = 2, 5, 20

# How sure it has to be that a fit gains, for there to be nothing to say of it.
_SURE = 0.8
# No sample leaves no doubt at all.
_SUREST = 0.99
# The least standard deviation that chance is given, of a single row.
_LEAST_DEVIATION = 0.2
_DRAWS, _FEWER_DRAWS, _SEED = 1_000, 200, 0
# What rounding leaves of a difference; and what of a rate is worth saying.
_TINY, _WORTH_SAYING = 1e-9, 0.005


class Moves(NamedTuple):
    """How often a row of a class is predicted as one class before, and as one after."""

    label: Integers  # (C,)
    before: Integers
    after: Integers
    counts: Floats
    n_classes: int

    @classmethod
    def of(cls, cells: Sequence[Integers], n_classes: int, weight: Floats | None) -> Moves:
        """Count the mean of several draws of (label·N + before)·N + after."""
        every = np.concatenate(cells)
        rows = None if weight is None else np.tile(weight, len(cells))
        known, number = np.unique(every, return_inverse=True)
        counts = np.bincount(number.ravel(), rows) / len(cells)
        pairs, after = np.divmod(known, n_classes)
        return cls(*np.divmod(pairs, n_classes), after, counts, n_classes)

    def confusion(self, predicted: Integers, counts: Floats | None = None) -> Counts:
        """Return counts by class and by prediction, `before` or `after`."""
        n = self.n_classes
        counts = self.counts if counts is None else counts
        return np.bincount(self.label * n + predicted, counts, n * n).reshape(n, n)

    @property
    def agreement(self) -> Counts:
        """Return counts by class, whether right before, and whether right after, (N, 2, 2)."""
        rights = 2 * (self.before == self.label) + (self.after == self.label)
        n = self.n_classes
        return np.bincount(4 * self.label + rights, self.counts, 4 * n).reshape(n, 2, 2)


@dataclass(frozen=True, eq=False, repr=False)
class FitEvidence:
    """What cross-validation says about a fit.

    Attributes
    ----------
    evaluation : Evaluation
        Of the labelled rows. In `reweighted`, refits predict the rows that they have not seen: the
        mean of a few draws of the folds.
    raw, reweighted : Expectation
        What other rows are likely to show, of what depends on gaps between classes.
    goal : ObjectiveLike
        What the fit is judged by: the objective that was asked for, or error + COBias/2.
    before, after : float
        What to expect of it under the raw argmax and under the coefficients; 1 less the metric,
        where it is one.
    sure : float
        How sure it is that this falls, 0.01..0.99.
    ranges : ndarray of shape (N, 2)
        Least and greatest weight of each class over the refits, the largest of each being 1.
    n_refits : int
        Refits that left labels out; 0 where there are too few labels for any.
    notes : tuple of str
        What speaks against the coefficients, beside the numbers.
    is_kept : bool
        Whether the raw argmax is to be kept.
    """

    evaluation: Evaluation
    raw: Expectation
    reweighted: Expectation
    goal: ObjectiveLike
    before: float
    after: float
    sure: float
    ranges: Floats
    n_refits: int
    notes: tuple[str, ...] = ()
    is_kept: bool = False

    def __repr__(self) -> str:
        """Say what to expect of other rows."""
        return f"FitEvidence({self.verdict}: {self.aim} {self.change})"

    @property
    def gains(self) -> bool:
        """Whether what is minimised is expected to fall."""
        return self.after < self.before - _TINY

    @property
    def accuracies(self) -> list[float]:
        """Accuracy before and after, in the mix where the coefficients will be used."""
        sides = self.evaluation.sides.values()
        return [accuracy(self.evaluation.in_population(counts)) for counts in sides]

    @property
    def worst(self) -> tuple[float, float]:
        """Accuracy of the worst class on rows left out, before and after; of many, a tenth."""
        sizes = self.evaluation.raw.sum(axis=1)
        known = sizes >= _FEW
        if not known.any():
            return 0.0, 0.0
        n = np.count_nonzero(known)
        lowest = -(-n // 10) if n >= _MANY_CLASSES else 1
        before, after = (
            float(np.sort(np.diag(counts)[known] / sizes[known])[:lowest].mean())
            for counts in self.evaluation.sides.values()
        )
        return before, after

    @property
    def verdict(self) -> str:
        """``"apply"``, ``"keep"`` the raw argmax, or ``"no signal"``."""
        if self.evaluation.signal is False:
            return "no signal"
        return "keep" if self.is_kept else "apply"

    @property
    def metric(self) -> str | None:
        """The metric that the goal is, by its name in ``METRICS``."""
        return self.goal.function.__name__ if isinstance(self.goal, MetricObjective) else None

    @property
    def aim(self) -> str:
        """What the fit is judged by."""
        return METRICS[self.metric].title if self.metric else name_of(self.goal)

    @property
    def change(self) -> str:
        """How that is expected to change, and how sure it is."""
        ends, moves = [self.before, self.after], "falls"
        if self.metric is not None:
            ends, moves = [1 - self.before, 1 - self.after], "rises"
        return f"{_arrow(ends)}, {self.sure:.0%} sure that it {moves}"

    @property
    def reason(self) -> str:
        """The reason of the verdict: notes, and the numbers."""
        worst = [side.worst_class_accuracy for side in (self.raw, self.reweighted)]
        low, high = self.reweighted.intervals(LEVEL)["cobias"]
        numbers = (
            f"On other rows: {self.aim} {self.change};\n"
            f"accuracy {_arrow(self.accuracies)}, worst class {_arrow(worst)},\n"
            f"COBias {_arrow([self.raw.cobias, self.reweighted.cobias])}, "
            f"{LEVEL:.0%} sure to be from {low:.3f} to {high:.3f}"
        )
        none = [self.evaluation.no_signal] if self.evaluation.signal is False else []
        return "\n".join([*none, *self.notes, numbers])

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
            "notes": list(self.notes),
            "sure": self.sure,
            "goal": self.aim,
            "objective": {"before": self.before, "after": self.after},
            "folds": self.n_refits,
            "weight_ranges": self.ranges.tolist(),
            **content,
        }


def _arrow(values: Sequence[float]) -> str:
    return " -> ".join(f"{value:.3f}" for value in values)


def _value_of(goal: ObjectiveLike, counts: Counts, side: Expectation) -> float:
    """Return what to expect of a goal: its value at these counts, with the gap to expect."""
    value = goal(counts)
    if isinstance(goal, Objective) and "cobias" in goal.terms:
        name = "cobias" if goal.gap == "pairwise" else "cobias_single"
        value += goal.beta * (float(side.drawn[name].mean()) - goal.terms_of(counts)[name])
    return float(value)


def how_sure(
    moves: Moves, target: Floats | None, before: float, after: float, goal: ObjectiveLike
) -> float:
    """Return how sure it is that what is minimised falls.

    The rows of each class are drawn anew, with what was predicted of them before and after.
    """
    sizes = np.bincount(moves.label, moves.counts, moves.n_classes)
    present = np.flatnonzero(sizes)
    mix = sizes / sizes.sum() if target is None else target
    rng = np.random.default_rng(_SEED)
    by_class = goal if isinstance(goal, Compiled) and goal.is_by_class else None
    n_draws = _FEWER_DRAWS if by_class is None else _DRAWS
    drawn = np.zeros((n_draws, len(moves.label)))
    for c in present:
        of_class = moves.label == c
        chances = moves.counts[of_class] / sizes[c]
        drawn[:, of_class] = rng.multinomial(round(sizes[c]), chances / chances.sum(), n_draws)

    if by_class is not None:
        shares = mix[present] / mix[present].sum()

        def changes(predicted: Integers) -> Floats:
            right = predicted == moves.label
            rates = np.stack(
                [
                    drawn[:, right & (moves.label == c)].sum(axis=1) / round(sizes[c])
                    for c in present
                ],
                axis=1,
            )
            if isinstance(by_class, MetricObjective):
                return np.asarray(1 - rates.mean(axis=1))
            error = 1 - rates @ shares if "error" in by_class.terms else 0.0
            gap = by_class.beta * cobias_of(rates) if "cobias" in by_class.terms else 0.0
            return np.asarray(error + gap + np.zeros(n_draws))
    else:

        def changes(predicted: Integers) -> Floats:
            counted = (moves.confusion(predicted, counts) for counts in drawn)
            return np.array(
                [goal(counts if target is None else in_mix(counts, target)) for counts in counted]
            )

    deviation = float((changes(moves.after) - changes(moves.before)).std())
    least = _LEAST_DEVIATION / sqrt(sizes.sum())
    sure = NormalDist().cdf((before - after) / max(deviation, least))
    return min(max(sure, 1 - _SUREST), _SUREST)


def _notes(evidence: FitEvidence, *, is_mix_given: bool) -> Iterator[str]:
    """Yield what speaks against coefficients."""
    evaluation, names = evidence.evaluation, evidence.evaluation.classes
    raw, fitted = evaluation.raw, evaluation.reweighted
    assert fitted is not None
    rows, right = raw.sum(axis=1), np.diag(raw)
    before, after = evidence.accuracies
    mass = evaluation.captured_mass
    if mass is not None and mass.at_fault:
        yield "The prompt is at fault: the labels capture little of the probability."
    silenced = (right > 0) & (np.diag(fitted) == 0) & (rows >= FEWEST)
    if silenced.any():
        lost = [
            f"{names[c]} ({right[c]:,} of {rows[c]:,} before)" for c in np.flatnonzero(silenced)
        ]
        yield f"On other rows nothing may be left right of class {listed(lost)}."
    worst = [side.worst_class_accuracy for side in (evidence.raw, evidence.reweighted)]
    if worst[1] < worst[0] - _WORTH_SAYING:
        yield f"The worst class falls from {worst[0]:.3f} to {worst[1]:.3f}."
    if after < before - _WORTH_SAYING:
        yield f"It costs {100 * (before - after):.1f} points of accuracy."
    chance, balanced = 1 / len(names), balanced_accuracy(fitted)
    if balanced < min(chance, balanced_accuracy(raw)):
        yield f"The mean class accuracy falls to {balanced:.3f}; guessing would reach {chance:.3f}."
    always = None if is_mix_given else evaluation.always
    if always is not None and before >= always[1] > after:
        name, share = always
        yield f"Always answering {name} would be right on {share:.1%} of the rows, not {after:.1%}."
    if (rows < FEWEST).any():
        few = listed([names[c] for c in np.flatnonzero(rows < FEWEST)])
        yield f"Less than {FEWEST} labels of class {few}: nothing is known of its other rows."
    if evidence.gains and evidence.sure < _SURE:
        yield f"It is {evidence.sure:.0%} sure that other rows gain; more labels would show it."


# --- The choice: a β, or weights of 1 ---
#: The β that a fit without a goal of its own looks at. The first is the usual one.
BETAS = (0.5, 1.0, 2.7)

# The part of the raw argmax's COBias that the usual β may leave.
_LEFT = 0.8
# Accuracy that a further β may cost: for each point of COBias, twice the price that the usual one
# declares, and so much more.
_PRICE, _MORE = 1.0, 0.02


def choose_beta(expected: Mapping[float, FitEvidence]) -> tuple[float, str | None]:
    """Return the β that harms nobody where that does not cost too much, and what it costs.

    It is the usual one, where COBias is expected to fall to four fifths of the raw argmax's, and
    the worst class not to get worse. Else it is the first of the others at which COBias is not
    expected to rise nor the worst class to get worse, or the most even of all where there is none.
    That costs accuracy: at most a point for each point of COBias, and two more, or the usual one is
    taken all the same.

    Parameters
    ----------
    expected : mapping of float to FitEvidence
        What refits expect at each of `BETAS`.
    """
    usual, *further = BETAS

    def harms(beta: float, left: float = 1.0) -> bool:
        at = expected[beta]
        before, after = at.worst
        return at.reweighted.cobias > left * at.raw.cobias or after < before

    if not harms(usual, _LEFT):
        return usual, None
    most_even = min(BETAS, key=lambda beta: expected[beta].reweighted.cobias)
    beta = next((beta for beta in further if not harms(beta)), most_even)
    here, there = expected[beta], expected[usual]
    cost = there.accuracies[1] - here.accuracies[1]
    if cost > _PRICE * (there.reweighted.cobias - here.reweighted.cobias) + _MORE:
        beta = usual
    return beta, None if beta == usual else _sentence(beta, here, there)


def _sentence(beta: float, here: FitEvidence, usual: FitEvidence) -> str:
    """Return why a β was taken instead of the usual one, and what it costs."""
    gaps, worst = (usual.raw.cobias, usual.reweighted.cobias), usual.worst
    if worst[1] < worst[0] and gaps[1] <= _LEFT * gaps[0]:
        why = f"the worst class would fall from {worst[0]:.2f} to {worst[1]:.2f}"
    else:
        verb = "grow" if gaps[1] > gaps[0] else "only fall"
        why = f"the gap would {verb} from {gaps[0]:.2f} to {gaps[1]:.2f}"
    points = 100 * (usual.accuracies[1] - here.accuracies[1])
    side = "less" if points >= 0 else "more"
    return (
        f"β {beta:g}: at {BETAS[0]:g} {why}; {abs(points):.0f} points of accuracy {side}. "
        f"--beta {BETAS[0]:g} keeps them."
    )


def kept_sentence(evidence: FitEvidence, beta: float | None) -> str:
    """Return why the raw argmax is to be kept rather than a fit.

    Parameters
    ----------
    evidence : FitEvidence
        Of the fit.
    beta : float or None
        The β that was chosen for it, if one was.
    """
    found = "" if beta is None else f" by weights found at β {beta:g}"
    if evidence.gains:
        return f"Weights of 1: {evidence.aim} does not fall{found}, even on the labels themselves."
    return f"Weights of 1: {evidence.aim} is not expected to fall{found}: {evidence.change}."
