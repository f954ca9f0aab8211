"""Which rows to defer: a share of all, those of which the coefficients are least sure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dnip.base.errors import unwarned
from dnip.base.typing import Floats, Labels
from dnip.fitting.refits import Judged, LeftOut
from dnip.fitting.settings import FitSettings
from dnip.method.coefficients import Deferral
from dnip.method.prediction import decide, reweight
from dnip.method.problem import Problem
from dnip.metrics.intervals import Expectation
from dnip.priors import weigh_rows

#: Shares that are judged next to the one that is asked for.
FRONT = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5)

# A share that is so far from the one asked for is worth a word.
_FAR = 0.05
# No rows at all, to divide by.
_NOTHING = 1e-9


class Served(NamedTuple):
    """What rows with a helper are expected to show, judged by rows that were left out."""

    asked: float  # the share of the rows to defer
    share: float  # that of the rows that are deferred
    accuracy: float  # of the system, or of the rows that remain
    gaps: Expectation

    def to_record(self) -> dict[str, Any]:
        """Return it as the record of a fit holds it."""
        scores = {"share": self.share, "accuracy": self.accuracy, "cobias": self.gaps.cobias}
        return {"asked": self.asked, "one": scores}

    def to_dict(self, level: float) -> dict[str, Any]:
        """Return every metric, with intervals of a level between 0 and 1."""
        gaps, intervals = self.gaps.to_dict(), self.gaps.intervals(level)
        del gaps["cobias_single"], intervals["cobias_single"]
        return {"share": self.share, "accuracy": self.accuracy, **gaps, "intervals": intervals}


class Deferring(NamedTuple):
    """The threshold next to the weights of a fit, and what is known of it."""

    thresholds: Deferral
    notes: tuple[str, ...]
    points: tuple[Served, ...]  # what other rows are expected to show, by the share


def defer_share(
    settings: FitSettings,
    multipliers: Floats,
    problem: Problem,
    target: Floats | None,
    judged: Judged | None,
) -> Deferring:
    """Return the threshold that defers a share of the rows, and what that is expected to give.

    Parameters
    ----------
    settings : FitSettings
        With the share, and how often the helper is right.
    multipliers : ndarray of shape (N,)
        Of the fit.
    problem : Problem
        The labelled rows.
    target : ndarray of shape (N,) or None
        The class mix that the fit is for, if it is not that of the labels.
    judged : Judged or None
        What refits say of the fit without deferring.
    """
    share, helper = settings.defer, settings.helper_accuracy
    assert share is not None
    mix = problem.class_counts / problem.class_counts.sum() if target is None else target
    with unwarned():
        weight = weigh_rows(problem.labels, mix, problem.classes, problem.weights)
    sureness = _decided(problem, multipliers)[1]
    threshold = threshold_of(sureness, weight, share)
    deferred = float(np.average(sureness < threshold, weights=weight))
    notes: tuple[str, ...] = ()
    if abs(deferred - share) > _FAR:
        notes = (f"Few rows, or many equal ones: {deferred:.1%} are deferred, not {share:.1%}.",)
    points: tuple[Served, ...] = ()
    if judged is not None:
        shares, expected = sorted({*FRONT, share}), judged.evidence.reweighted
        points = judge(problem, weight, judged.left_out, shares, helper, mix, expected)
    thresholds = Deferral(np.full(problem.n_classes, threshold), share, helper)
    return Deferring(thresholds, notes, points)


def threshold_of(sureness: Floats, weight: Floats, share: float) -> float:
    """Return the quantile of sureness below which a share of the rows is, as nearly as ties let it.

    It lies midway between two rows, and at 1 at most: a row of which nothing is unsure stays.

    Examples
    --------
    >>> threshold_of(np.array([0.5, 0.6, 0.8, 0.9]), np.ones(4), 0.5)
    0.7
    """
    values, which = np.unique(sureness, return_inverse=True)
    below = np.append(0.0, np.cumsum(np.bincount(which, weight)))
    at = int(np.argmin(np.abs(below - share * below[-1])))
    values = np.concatenate([values[:1], values, np.nextafter(values[-1:], 2)])
    middle = values[at : at + 2].mean()
    return min(float(middle if middle > values[at] else values[at + 1]), 1.0)


def judge(
    problem: Problem,
    weight: Floats,
    refits: Sequence[LeftOut],
    shares: Sequence[float],
    helper: float | None,
    mix: Floats,
    expected: Expectation,
) -> tuple[Served, ...]:
    """Learn the threshold on all folds but one, count what it does on that one, and add up.

    Parameters
    ----------
    problem : Problem
        The labelled rows.
    weight : ndarray of shape (M,)
        How much each counts in the mix.
    refits : sequence of LeftOut
    shares : sequence of float
    helper : float or None
        How often the helper is right; None where rows that are deferred do not count.
    mix : ndarray of shape (N,)
        Any multiple of a class mix.
    expected : Expectation
        Where no row is deferred.
    """
    labels, n_classes = problem.labels, problem.n_classes
    folds = [(fold.rows, *_decided(problem, fold.multipliers)) for fold in refits]
    points = []
    for share in shares:
        counts = np.zeros((4, n_classes))
        for left_out, chosen, sureness in folds:
            threshold = 0.0
            if share > 0:
                threshold = threshold_of(sureness[~left_out], weight[~left_out], share)
            right, below = (chosen == labels)[left_out], (sureness < threshold)[left_out]
            counts += [
                np.bincount(labels[left_out], which, n_classes)
                for which in (np.ones(len(right)), right, below, right & below)
            ]
        points.append(_served(share, counts, helper, mix, expected))
    return tuple(points)


def _decided(problem: Problem, multipliers: Floats) -> tuple[Labels, Floats]:
    """Return decisions on the rows of a problem, and their corrected probabilities."""
    p = problem.probabilities
    chosen = decide(p, multipliers).astype(np.int64)
    return chosen, reweight(p, multipliers)[np.arange(len(p)), chosen]


def _served(
    share: float, counts: Floats, helper: float | None, mix: Floats, expected: Expectation
) -> Served:
    """Return what the system shows, by class counts of rows, right, deferred and both."""
    present = counts[0] > 0
    sizes, hits, deferred, lost = counts[:, present]
    right, rows = hits - lost, sizes
    if helper is None:
        rows = np.maximum(sizes - deferred, _NOTHING)
    else:
        right = right + helper * deferred
    factors = mix[present] / mix[present].sum() / sizes
    # which other class is predicted changes nothing here
    confusion = np.diag(right) + np.roll(np.diag(rows - right), 1, axis=1)
    accuracy = float(factors @ right / (factors @ rows))
    return Served(share, float(factors @ deferred), accuracy, expected.of(confusion))
