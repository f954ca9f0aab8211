"""Which rows to defer: thresholds for a share of rows, or for what is served to be right enough."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any, NamedTuple, Self

import numpy as np

from dnip.base.errors import InvalidInputError, listed, unwarned
from dnip.base.typing import Booleans, Floats, Labels
from dnip.fitting.refits import LeftOut
from dnip.fitting.settings import FitSettings
from dnip.method.coefficients import NEVER, Deferral
from dnip.method.objective import beta_of
from dnip.method.prediction import decide, reweight
from dnip.method.problem import Problem
from dnip.metrics.confusion import cobias_of
from dnip.metrics.intervals import Expectation
from dnip.priors.target import weigh_rows

#: Shares that are judged beside the one that is asked for.
FRONT = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)

# Rows predicted as a class at which its threshold is halfway between its own and that of all.
_HALFWAY = 100.0
# The first chunk that classes exchange, of the rows deferred, and the last, of all rows.
_FIRST, _LAST = 1 / 2, 1 / 500
# Pairs of classes, drawn at random, of which the best one makes an exchange.
_PAIRS = 1_000
# A share that is so far from the one asked for is worth a word.
_FAR = 0.05
# No rows at all, to divide by.
_NOTHING = 1e-9


class Decided(NamedTuple):
    """Decisions on labelled rows, and their corrected probabilities."""

    chosen: Labels  # (M,)
    sureness: Floats  # (M,)
    weight: Floats  # (M,) how much each row counts
    labels: Labels  # (M,)

    @classmethod
    def by(cls, multipliers: Floats, problem: Problem, weight: Floats) -> Self:
        """Decide the rows of a problem; their weight, shape (M,), may be another one."""
        p = problem.probabilities
        chosen = decide(p, multipliers).astype(np.int64)
        sureness = reweight(p, multipliers)[np.arange(len(p)), chosen]
        return cls(chosen, sureness, weight, problem.labels)

    def of(self, rows: Booleans) -> Self:
        """Return some of the rows."""
        return self._replace(**{name: values[rows] for name, values in self._asdict().items()})

    def below(self, thresholds: Floats) -> Booleans:
        """Return which rows thresholds of shape (N,) defer."""
        return np.asarray(self.sureness < thresholds[self.chosen])


class Helper(NamedTuple):
    """Who gets the rows, and what for."""

    accuracy: float | None  # how often it is right; None: rows deferred do not count
    beta: float  # β, the weight of COBias

    def served(self, sizes: Floats, hits: Floats, state: Floats) -> tuple[Floats, Floats]:
        """Return how many rows of each class the system gets right, and of how many.

        Parameters
        ----------
        sizes, hits : ndarray of shape (N,)
            Rows of each class, and those that are predicted right.
        state : ndarray of shape (..., 2, N)
            Rows of each class that are deferred, and those of them that were right.

        Examples
        --------
        >>> sizes, hits, state = np.array([10.0]), np.array([8.0]), np.array([[4.0], [2.0]])
        >>> Helper(0.5, 2.7).served(sizes, hits, state)
        (array([8.]), array([10.]))
        >>> Helper(None, 2.7).served(sizes, hits, state)
        (array([6.]), array([6.]))
        """
        deferred, lost = np.moveaxis(state, -2, 0)
        if self.accuracy is None:
            return hits - lost, np.maximum(sizes - deferred, _NOTHING)
        return hits - lost + self.accuracy * deferred, sizes + 0 * deferred

    def value(self, sizes: Floats, hits: Floats, state: Floats) -> Floats:
        """Return error + β·COBias; a class of which nothing remains has nothing right."""
        right, rows = self.served(*(counts[..., sizes > 0] for counts in (sizes, hits, state)))
        error = 1 - right.sum(axis=-1) / rows.sum(axis=-1)
        return np.asarray(error + self.beta * cobias_of(right / rows))


class Served(NamedTuple):
    """What rows with a helper are expected to show, judged by rows that were left out."""

    share: float  # of the rows that are deferred
    accuracy: float  # of the system, or of the rows that remain
    gaps: Expectation

    @property
    def scores(self) -> dict[str, float]:
        """Share, accuracy and COBias, for the record of a fit."""
        return {"share": self.share, "accuracy": self.accuracy, "cobias": self.gaps.cobias}

    def to_dict(self, level: float) -> dict[str, Any]:
        """Return every metric, with intervals of a level between 0 and 1."""
        gaps, intervals = self.gaps.to_dict(), self.gaps.intervals(level)
        del gaps["cobias_single"], intervals["cobias_single"]
        return {"share": self.share, "accuracy": self.accuracy, **gaps, "intervals": intervals}


class ServedShare(NamedTuple):
    """A share of rows to defer, and what comes of it."""

    asked: float
    common: Served  # with one threshold for all rows
    by_class: Served  # with one for each predicted class

    def to_record(self) -> dict[str, Any]:
        """Return it as the record of a fit holds it."""
        return {"asked": self.asked, "one": self.common.scores, "each": self.by_class.scores}


def assess(
    folds: Sequence[tuple[Booleans, Decided]],
    shares: Sequence[float],
    helper: Helper,
    target: Floats,
    expected: Expectation,
) -> tuple[ServedShare, ...]:
    """Learn thresholds on all folds but one, count what they do on that one, and add up.

    A fold is which rows a refit has not seen, and what it decides on all. The target is any
    multiple of a class mix; `expected` is what is expected where no row is deferred.
    """
    n_classes = len(target)

    def served(*counts: Floats) -> Served:
        present = counts[0] > 0
        sizes, hits, *state = (of_class[present] for of_class in counts)
        right, rows = helper.served(sizes, hits, np.stack(state))
        factors = target[present] / target[present].sum() / sizes
        # which other class is predicted changes nothing here
        confusion = np.diag(right) + np.roll(np.diag(rows - right), 1, axis=1)
        accuracy = float(factors @ right / (factors @ rows))
        return Served(float(factors @ state[0]), accuracy, expected.of(confusion))

    points = []
    for share in shares:
        counts = np.zeros((2, 4, n_classes))
        for left_out, rows in folds:
            learned = np.zeros((2, n_classes))
            if share > 0:
                learned[:] = learn(rows.of(~left_out), n_classes, share, helper)
            unseen = rows.of(left_out)
            for way, thresholds in enumerate(learned):
                right, below = unseen.chosen == unseen.labels, unseen.below(thresholds)
                counts[way] += [
                    np.bincount(unseen.labels, which, n_classes)
                    for which in (right | True, right, below, right & below)
                ]
        points.append(ServedShare(share, *(served(*of_way) for of_way in counts)))
    return tuple(points)


def learn(rows: Decided, n_classes: int, share: float, helper: Helper) -> tuple[Floats, Floats]:
    """Learn one threshold for all rows, and one for each predicted class.

    The best thresholds of labelled rows over-fit. So each goes n/(n + 100) of the way there from
    the one for all, where n rows are predicted as its class. Then all move together until the share
    is the one asked for, as nearly as ties let it. A class that is never predicted has 0.

    Examples
    --------
    >>> sure, chosen = np.tile(np.arange(1, 101) / 101, 2), np.repeat([0, 1], 100)
    >>> labels = np.where(sure < 0.2, 1, chosen)
    >>> rows = Decided(chosen, sure, np.ones(200), labels)
    >>> [thresholds.round(2) for thresholds in learn(rows, 2, 0.1, Helper(1.0, 2.7))]
    [array([0.1, 0.1]), array([0.15, 0.05])]
    """
    predicted = np.bincount(rows.chosen, minlength=n_classes)
    way = _exchange(rows, n_classes, share, helper) - _cut(rows.sureness, rows.weight, share)
    thresholds = []
    for trust in (0 * way, predicted / (predicted + _HALFWAY)):
        offsets = trust * way
        cut = _cut(rows.sureness - offsets[rows.chosen], rows.weight, share)
        thresholds.append(np.where(predicted > 0, (offsets + cut).clip(0, 1), 0.0))
    return thresholds[0], thresholds[1]


def _cut(scores: Floats, weight: Floats, share: float) -> float:
    """Return the score that about this share of rows is below, midway between two scores."""
    values, which = np.unique(scores, return_inverse=True)
    below = np.append(0.0, np.cumsum(np.bincount(which, weight)))
    at = int(np.argmin(np.abs(below - share * below[-1])))
    values = np.concatenate([values[:1], values, np.nextafter(values[-1:], 2)])
    middle = values[at : at + 2].mean()
    return float(middle if middle > values[at] else values[at + 1])


def _exchange(rows: Decided, n_classes: int, share: float, helper: Helper) -> Floats:
    """Return thresholds of shape (N,) that defer a share of rows and serve these rows best.

    It starts from one threshold for all. A chunk of rows moves from one class to another, the pair
    that gains most, as long as that gains; then the chunk is halved. Ties are cut anywhere.
    """
    flat, order = _cut(rows.sureness, rows.weight, share), np.lexsort(rows[1::-1])
    chosen, sureness, weight, labels = (values[order] for values in rows)
    start = np.searchsorted(chosen, np.arange(n_classes + 1))
    mass = np.append(0.0, np.cumsum(weight))
    middle = (mass[1:] + mass[:-1]) / 2  # so that it ends at the nearest row
    base, whole, total = mass[start[:-1]], np.diff(mass[start]), mass[-1]
    sizes = np.bincount(labels, weight, n_classes).astype(np.float64)
    hits = np.bincount(labels, weight * (chosen == labels), n_classes).astype(np.float64)

    def states(handed: Floats) -> Floats:
        """Return what each class adds to the state of the system, shape (N, 2, N)."""
        ends = np.searchsorted(middle, base + handed).clip(start[:-1], start[1:])
        below = [slice(*borders) for borders in zip(start[:-1], ends, strict=True)]
        deferred = np.stack([np.bincount(labels[i], weight[i], n_classes) for i in below])
        return np.stack([deferred, np.diag(np.diag(deferred))], axis=1)

    handed = np.bincount(chosen, weight * (sureness < flat), n_classes)
    handed = np.minimum(handed * share * total / max(handed.sum(), _NOTHING), whole)
    chunk, rng = _FIRST * share * total, np.random.default_rng(0)
    while chunk > _LAST * total:
        now = states(handed)
        more, less = rng.integers(n_classes, size=(2, _PAIRS))
        possible = (more != less) & (handed + chunk <= whole)[more] & (handed >= chunk)[less]
        more, less = more[possible], less[possible]
        up, down = (states((handed + step).clip(0, whole)) - now for step in (chunk, -chunk))
        after = now.sum(axis=0) + np.concatenate([0 * up[:1], up[more] + down[less]])
        values = helper.value(sizes, hits, after)
        best = int(np.argmin(values))
        if values[best] < values[0] - _NOTHING:
            handed[more[best - 1]] += chunk
            handed[less[best - 1]] -= chunk
        else:
            chunk /= 2
    last = np.searchsorted(middle, base + handed)  # the first row of each class that stays
    stays = np.append(sureness, 1.0)[np.minimum(last, start[1:] - 1)]
    return np.where(whole > handed, stays, np.where(whole > 0, 1.0, flat))


#: How sure it must be, for each class, that what is served is right often enough.
SURE = 0.95
# Rows that are served grow by this factor from one test to the next.
_STEP = 1.25


def _is_right_enough(right: int, rows: int, rate: float) -> bool:
    """Return whether so many right of so many rows are proof of a rate, with 95 % confidence.

    The exact bound of Clopper and Pearson (1934): at that rate, so few errors would be rare.

    Examples
    --------
    >>> [_is_right_enough(right, rows, 0.95) for right, rows in ((59, 59), (58, 58), (92, 93))]
    [True, False, True]
    """
    wrong = rows - right
    chance = sum(comb(rows, k) * (1 - rate) ** k * rate ** (rows - k) for k in range(wrong + 1))
    return chance <= 1 - SURE


def _least_rows(wrong: int, rate: float) -> int:
    """Return of how many rows so many may be wrong."""
    rows = wrong + 1
    while not _is_right_enough(rows - wrong, rows, rate):
        rows += 1
    return rows


def _threshold_of(sureness: Floats, right: Booleans, rate: float) -> float:
    """Return the least sureness at which what is served is sure to be right at that rate.

    The rows are predicted as one class by weights that have not seen them. Ever more are served,
    the surest first, and tested until a test fails: a fixed sequence keeps its level without a
    correction. It begins with as many rows as may hold one error, or with those that may hold none,
    where there are no more. It is 2 where no row can be served.

    Examples
    --------
    >>> sure = np.arange(200) / 200
    >>> _threshold_of(sure, sure >= 0.5, 0.9), _threshold_of(sure[:9], sure[:9] >= 0, 0.9)
    (0.56, 2.0)
    """
    order = np.argsort(-sureness, kind="stable")
    values, hits = sureness[order], np.cumsum(right[order])
    n_rows, threshold = len(values), NEVER
    rows = _least_rows(1, rate)
    if rows > n_rows:
        rows = _least_rows(0, rate)
    while rows <= n_rows:
        # equal rows are served together
        rows = int(np.searchsorted(-values, -values[rows - 1], side="right"))
        if not _is_right_enough(int(hits[rows - 1]), rows, rate):
            break
        threshold = float(values[rows - 1])
        rows = rows + 1 if rows == n_rows else min(max(int(_STEP * rows), rows + 1), n_rows)
    return threshold


class Deferring(NamedTuple):
    """Thresholds beside the weights of a fit, and what is known of them."""

    thresholds: Deferral
    notes: tuple[str, ...]
    points: tuple[ServedShare, ...] = ()  # what other rows are expected to show, by the share
    served: dict[str, Any] | None = None  # of every class, where a rate was asked for


def defer_share(
    share: float,
    settings: FitSettings,
    multipliers: Floats,
    problem: Problem,
    target: Floats | None,
    refits: Sequence[LeftOut],
    expected: Expectation | None,
) -> Deferring:
    """Return thresholds that defer a share of rows, for the sake of the whole system.

    Parameters
    ----------
    share : float
        Of the rows to defer.
    settings : FitSettings
    multipliers : ndarray of shape (N,)
        Of the fit.
    problem : Problem
        The labelled rows.
    target : ndarray of shape (N,) or None
        The class mix that the fit is for, if it is not that of the labels.
    refits : sequence of LeftOut
        Nothing is judged without any.
    expected : Expectation or None
        Of the evidence; None without evidence.
    """
    classes = problem.classes
    mix = problem.class_counts / problem.class_counts.sum() if target is None else target
    with unwarned():
        weight = weigh_rows(problem.labels, mix, classes, problem.weights)
    helper = Helper(settings.helper_accuracy, beta_of(settings.objective))
    rows = Decided.by(multipliers, problem, weight)
    thresholds = Deferral(learn(rows, len(mix), share, helper)[1], share, settings.helper_accuracy)
    notes = []
    silent = np.bincount(rows.chosen, minlength=len(classes)) == 0
    if silent.any():
        names = listed([classes[c] for c in np.flatnonzero(silent).tolist()])
        notes.append(f"Never predicted, so no row of it is deferred: class {names}.")
    deferred = float(np.average(rows.below(thresholds.thresholds), weights=rows.weight))
    if abs(deferred - share) > _FAR:
        notes.append(f"Few rows, or many equal ones: {deferred:.1%} are deferred, not {share:.1%}.")
    points: tuple[ServedShare, ...] = ()
    if refits and expected is not None:
        folds = [(left_out, Decided.by(by, problem, weight)) for left_out, by in refits]
        points = assess(folds, sorted({*FRONT, share}), helper, mix, expected)
    return Deferring(thresholds, tuple(notes), points)


def defer_below(rate: float, problem: Problem, refits: Sequence[LeftOut]) -> Deferring:
    """Return thresholds under which each class is served right at a rate.

    Parameters
    ----------
    rate : float
        How often what is served of each predicted class must be right.
    problem : Problem
        The labelled rows, in the mix in which they come.
    refits : sequence of LeftOut

    Raises
    ------
    InvalidInputError
        If there are no refits to learn from.
    """
    if not refits:
        raise InvalidInputError(
            "thresholds for what is right often enough are learned from rows left out, and there "
            "are none",
            hint="Label more rows, and leave --no-evidence out",
        )
    p, labels, n_classes = problem.probabilities, problem.labels, problem.n_classes
    chosen, sureness = np.full(len(labels), -1), np.zeros(len(labels))
    for rows, multipliers in refits:
        chosen[rows] = decide(p[rows], multipliers)
        q = reweight(p[rows], multipliers)
        sureness[rows] = q[np.arange(len(q)), chosen[rows]]
    thresholds, shares, rights = np.full(n_classes, NEVER), np.zeros(n_classes), []
    served = np.zeros(len(labels), np.bool_)
    for c in range(n_classes):
        members = np.flatnonzero(chosen == c)
        thresholds[c] = _threshold_of(sureness[members], labels[members] == c, rate)
        sure = members[sureness[members] >= thresholds[c]]
        served[sure] = True
        shares[c] = len(sure) / max(len(members), 1)
        rights.append(float((labels[sure] == c).mean()) if len(sure) else None)
    share = float(served.mean())
    names = [name for name, t in zip(problem.classes, thresholds, strict=True) if t == NEVER]
    notes = [f"Served: {share:.1%} of the rows; the others are deferred."]
    if names:
        notes.append(
            f"Never served, as these labels cannot show that {rate:.0%} of it are right: class "
            f"{listed(names)}."
        )
    record = {"rate": rate, "sure": SURE, "served": shares.tolist(), "right": rights}
    return Deferring(Deferral(thresholds, 1 - share, below=rate), tuple(notes), served=record)
