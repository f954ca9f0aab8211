"""From a fit and a way to repeat it to the evidence for it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnip.bootstrap.estimates import Marks, central, estimate, fitted_draws
from dnip.bootstrap.evidence import FEWEST, FitEvidence
from dnip.bootstrap.plan import more_labels
from dnip.bootstrap.resamples import LEAST, draw_resample
from dnip.bootstrap.settings import EvidenceSettings
from dnip.errors import DNIPWarning
from dnip.intervals import (
    Bounds,
    cobias_test,
    difference_of,
    gap_correlation,
    paired_bounds,
    wilson,
)
from dnip.metrics.cobias import cobias_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.typing import Booleans, Counts, Floats, Integers, Labels, Probabilities

#: From the numbers of rows to fit on, and a seed, to what probabilities are multiplied by.
Refit = Callable[["Integers", int], "Floats"]

#: How sure it must be that COBias falls.
NEEDED = 0.8
# More labels are to settle the question with this chance.
_POWER = 0.8
_LIKELY = 0.5
# Levels between which it is looked for how sure a fall is.
_HALVINGS = 12
_SEED = 0


def assess(
    probabilities: Probabilities,
    labels: Labels,
    multipliers: Floats,
    refit: Refit,
    *,
    resamples: int,
    classes: Sequence[str],
    settings: EvidenceSettings | None = None,
    shares: Floats | None = None,
    refitted_by: str = "coordinate",
    seed: int = 0,
    deadline: float | None = None,
    progress: Callable[[int], None] | None = None,
) -> FitEvidence | None:
    """Judge coefficients by the labels that they were fitted on.

    The fit is repeated on resamples of the labelled rows, drawn class by class. What the refits do
    on rows that their resample does not hold corrects the class accuracies; how they move with
    their resample tells how far the fit follows chance; and their spread is that of the
    coefficients.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
        Of the labelled rows.
    labels : ndarray of shape (M,)
        Class indices, of at least two classes.
    multipliers : ndarray of shape (N,)
        What the fit multiplies probabilities by.
    refit : callable
        Repeats the fit on other rows.
    resamples : int
        How often.
    classes : sequence of str
        Class names.
    settings : EvidenceSettings, optional
        Level of the intervals, and the accuracy that may be lost.
    shares : ndarray of shape (N,), optional
        How frequent each class is where the coefficients will be used; as in the labels by default.
    refitted_by : str
        The solver that `refit` uses, to be told.
    seed : int
        Of the resamples, and of the first refit.
    deadline : float, optional
        A ``time.perf_counter`` reading after which no further refit is begun.
    progress : callable, optional
        Receives the number of refits done.

    Returns
    -------
    FitEvidence or None
        None where the time, or the user, left fewer refits than say something.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import solve
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> p = np.clip(0.7 + 0.15 * rng.normal(size=200) - 0.3 * y, 0.01, 0.99)
    >>> p = np.stack([p, 1 - p], axis=1)
    >>> refit = lambda rows, seed: solve(p[rows], y[rows], seed=seed).weights
    >>> fitted = refit(np.arange(200), 0)
    >>> evidence = assess(p, y, fitted, refit, resamples=20, classes=("no", "yes"))
    >>> evidence.verdict, bool(evidence.difference["cobias"] < -0.1)
    ('apply', True)
    """
    settings = settings or EvidenceSettings()
    confidence, tolerance = settings.confidence, settings.tolerance
    refits = _repeat(labels, refit, resamples, seed, deadline, progress)
    if len(refits) < min(LEAST, resamples):
        return None
    present = np.unique(labels)
    marks = Marks(
        np.searchsorted(present, labels),
        probabilities.argmax(axis=1) == labels,
        _right(probabilities, labels, multipliers),
        np.array([_right(probabilities, labels, one.multipliers) for one in refits]),
        np.array([np.bincount(one.rows, minlength=len(labels)) for one in refits]),
    )
    mix = np.bincount(marks.labels) if shares is None else shares[present]
    told = _Telling(marks, present, len(classes), confidence, mix / mix.sum())
    weights = np.array([_canonical(one.multipliers) for one in refits])
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    verdict = _judge(told, tolerance)
    more = None
    if verdict.more is not None:
        more = np.zeros(len(classes), np.int64)
        more[present] = verdict.more
    return FitEvidence(
        classes=tuple(classes),
        confidence=confidence,
        resamples=len(refits),
        planned=resamples,
        refitted_by=refitted_by,
        raw=told.raw(),
        reweighted=told.reweighted(),
        difference=told.difference(),
        followed=told.estimates.followed,
        log_weights=_canonical(multipliers),
        deviations=weights.std(axis=0, ddof=1),
        ranges=np.quantile(weights, tails, axis=0).T,
        apply=verdict.apply,
        sure=told.sure,
        needed=NEEDED,
        n_labels=len(labels),
        tolerance=tolerance,
        more=more,
        settled=verdict.settled,
    )


class _Refitted(NamedTuple):
    rows: Integers
    multipliers: Floats


def _repeat(
    labels: Labels,
    refit: Refit,
    resamples: int,
    seed: int,
    deadline: float | None,
    progress: Callable[[int], None] | None,
) -> list[_Refitted]:
    rng = np.random.default_rng(seed)
    refits: list[_Refitted] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # the fit itself has told
        try:
            while len(refits) < resamples:
                if deadline is not None and time.perf_counter() >= deadline:
                    break
                rows = draw_resample(labels, rng)
                refits.append(_Refitted(rows, refit(rows, seed + len(refits))))
                if progress is not None:
                    progress(len(refits))
        except KeyboardInterrupt:
            pass  # the user has had enough; the fit itself is done
    return refits


def _right(probabilities: Probabilities, labels: Labels, multipliers: Floats) -> Booleans:
    return np.asarray((multipliers * probabilities).argmax(axis=1) == labels)


def _canonical(multipliers: Floats) -> Floats:
    """Return log-weights of which the largest is 0: weights and their multiples predict alike."""
    return np.asarray(np.log(multipliers / multipliers.max()))


class _Telling:
    """What the marks say: values and intervals of both sides, and of the difference."""

    def __init__(
        self,
        marks: Marks,
        present: Integers,
        n_classes: int,
        confidence: float,
        shares: Floats,
    ) -> None:
        self.estimates = e = estimate(marks)
        self._present, self._n_classes, self._level = present, n_classes, confidence
        self._shares = shares
        # labels of another mix tell an accuracy as this many of the very mix would
        self._worth = float(1 / (shares**2 / e.sizes).sum())
        self._agreement = _agreement(marks, len(present))
        self._test = cobias_test(e.raw * e.sizes, e.sizes, max(confidence, NEEDED))
        self._gaps = cobias_of(fitted_draws(e))
        middle = self._test.bounds(confidence).middle
        after = float(np.median(self._gaps))
        rng = np.random.default_rng(_SEED)
        self._together = gap_correlation(self._agreement, middle, after, cobias_of, rng)
        self.sure = self._how_sure()

    def gap_change(self, level: float) -> Bounds:
        """Return the interval of what COBias changes by."""
        before, after = self._test.bounds(level), central(self._gaps, level)
        return difference_of(before, after, self._together)

    def _how_sure(self) -> float:
        """Return the one-sided level at which the interval of the change just excludes 0."""
        falls = self.gap_change(self._level).middle < 0
        low, high = 0.5, 1.0
        for _ in range(_HALVINGS):
            sure = (low + high) / 2
            change = self.gap_change(2 * sure - 1)
            clear = change.high < 0 if falls else change.low > 0
            low, high = (sure, high) if clear else (low, sure)
        return low if falls else 1 - low

    def accuracy_change(self) -> float:
        """Return what accuracy changes by, corrected."""
        e = self.estimates
        return float((e.corrected - e.raw) @ self._shares)

    def gap_variances(self) -> Floats:
        """Return what one label of each class leaves open of the change of COBias, (N,)."""
        before, after = self.estimates.raw, self.estimates.corrected
        return self._variances(-_slopes(before), _slopes(after))

    def accuracy_variances(self) -> Floats:
        """Return what one label of each class leaves open of the change of accuracy, (N,)."""
        return self._variances(-self._shares, self._shares)

    def _variances(self, of_raw: Floats, of_fitted: Floats) -> Floats:
        # one row is added to every class, lest few that agree leave nothing open
        cells = self._agreement.reshape(-1, 4) + 0.25
        shares = cells / cells.sum(axis=1, keepdims=True)
        values = np.stack([0 * of_raw, of_fitted, of_raw, of_raw + of_fitted], axis=1)
        mean = (shares * values).sum(axis=1, keepdims=True)
        return np.asarray((shares * (values - mean) ** 2).sum(axis=1))

    def raw(self) -> dict[str, Any]:
        """Return the side of the raw argmax."""
        return self._side(self.estimates.raw, self._test.bounds(self._level))

    def reweighted(self) -> dict[str, Any]:
        """Return the side of the coefficients."""
        return self._side(self.estimates.corrected, central(self._gaps, self._level))

    def _side(self, accuracies: Floats, gap: Bounds) -> dict[str, Any]:
        sizes, level = self.estimates.sizes, self._level
        hits, accuracy = accuracies * sizes, float(accuracies @ self._shares)
        overall = wilson([accuracy * self._worth], [self._worth], level)[0]
        return {
            "accuracy": accuracy,
            "cobias": gap.middle,
            "class_accuracies": self._spread(accuracies.tolist()),
            "intervals": {
                "accuracy": overall.tolist(),
                "cobias": [gap.low, gap.high],
                "class_accuracies": self._spread(wilson(hits, sizes, level).tolist()),
            },
        }

    def difference(self) -> dict[str, Any]:
        """Return what the coefficients change."""
        e, gap = self.estimates, self.gap_change(self._level)
        gained, lost = self._agreement[:, 0, 1], self._agreement[:, 1, 0]
        flattered = e.corrected - e.seen
        whole = float(flattered @ self._shares)
        up, down = (self._worth * (self._shares @ (rows / e.sizes)) for rows in (gained, lost))
        overall = paired_bounds([up], [down], [self._worth], self._level)[0]
        each = paired_bounds(gained, lost, e.sizes, self._level) + flattered[:, None]
        return {
            "accuracy": self.accuracy_change(),
            "cobias": gap.middle,
            "class_accuracies": self._spread((e.corrected - e.raw).tolist()),
            "intervals": {
                "accuracy": (overall + whole).clip(-1, 1).tolist(),
                "cobias": [gap.low, gap.high],
                "class_accuracies": self._spread(each.clip(-1, 1).tolist()),
            },
        }

    def _spread(self, values: list[Any]) -> list[Any]:
        """Return values in their classes' places, None for a class without labels."""
        placed: list[Any] = [None] * self._n_classes
        for c, value in zip(self._present.tolist(), values, strict=True):
            placed[c] = value
        return placed


def _agreement(marks: Marks, n_classes: int) -> Counts:
    agreement = np.zeros((n_classes, 2, 2), np.int64)
    np.add.at(agreement, (marks.labels, marks.raw.astype(int), marks.fitted.astype(int)), 1)
    return agreement


def _slopes(accuracies: Floats) -> Floats:
    """Return what COBias changes by per accuracy of each class."""
    n = len(accuracies)
    ranks = np.argsort(np.argsort(accuracies, kind="stable"))
    return np.asarray((2 * ranks - n + 1) / (n * (n - 1) / 2))


class _Verdict(NamedTuple):
    apply: bool
    settled: bool
    more: Integers | None


def _judge(told: _Telling, tolerance: float) -> _Verdict:
    """Apply where COBias surely falls and accuracy is not lost beyond the tolerance."""
    sizes = told.estimates.sizes
    if sizes.sum() < FEWEST:
        each = int(np.ceil((FEWEST - sizes.sum()) / len(sizes)))
        return _Verdict(False, False, np.full(len(sizes), each))
    spare = told.accuracy_change() + tolerance
    if spare < 0:  # accuracy is at stake
        now, distance = told.accuracy_variances(), -spare
        inflated = 1.0
        sure = NormalDist(0, _error(told, now)).cdf(distance)
    else:
        now, change = told.gap_variances(), told.gap_change(2 * NEEDED - 1)
        # An unsettled change is one that looks small: the far end of what is as likely as not
        # is the better guess, and as far as labels would have to reach.
        likely = told.gap_change(_LIKELY)
        distance = max(-likely.low, likely.high)
        ahead = change.high - change.middle if change.middle < 0 else change.middle - change.low
        # the interval knows of more than the slopes: they only share out what is missing
        inflated = ahead / (NormalDist().inv_cdf(NEEDED) * _error(told, now))
        sure = told.sure if change.middle < 0 else 1 - told.sure
    settled = sure >= NEEDED
    fit = spare >= 0 and told.sure >= NEEDED
    if settled or distance <= 0 or inflated <= 0:
        return _Verdict(fit, settled, None)
    clear = NormalDist().inv_cdf(NEEDED) + NormalDist().inv_cdf(_POWER)
    more = more_labels(sizes, now, distance / (clear * inflated))
    if more is not None and not more.any():  # as good as settled: the next ones will tell
        more = np.ones_like(more)
    return _Verdict(fit, settled, more)


def _error(told: _Telling, variances: Floats) -> float:
    return float(np.sqrt((variances / told.estimates.sizes).sum()))
