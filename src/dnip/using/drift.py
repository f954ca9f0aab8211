"""Whether coefficients still fit new rows, with labels or without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple, Self

import numpy as np

from dnip.base.classes import UNLABELLED
from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats, Integers
from dnip.base.validation import check_level, check_number
from dnip.method.coefficients import CoefficientsLike, FitRecord, as_coefficients, reading
from dnip.method.prediction import decide
from dnip.metrics.confusion import cobias_of
from dnip.metrics.intervals import draw_accuracies
from dnip.priors.estimate import PriorEstimate
from dnip.tables import AnyRows
from dnip.tables.guards import check_same_classes, tell_corrected
from dnip.tables.provenance import changes_of_origin
from dnip.tables.reading import counted_rows
from dnip.tables.sampling import SignalSample
from dnip.using.sketch import LEAST_ROWS, Comparison, Sketch, TableSample

# Draws of new rows, the same at every call.
_DRAWS, _SEED = 10_000, 0
# Of these, the farthest part, beyond which the draws are too few to tell how far a tail reaches.
_FAR = 0.005


class Score(NamedTuple):
    """A metric of new rows, and where it should be if nothing has changed.

    Attributes
    ----------
    at_fit, now : float
    low, high : float
        The interval in which it is expected now.
    """

    at_fit: float
    now: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class ClassScores:
    """Rows of each class, and how many of them are right.

    Attributes
    ----------
    rows, right : ndarray of shape (N,)
        Labelled rows, and those that the coefficients get right.
    followed : float, default=1.0
        How far the coefficients follow the chance of these rows, 0..1.
    expected : float, optional
        The COBias that the fit expected on other rows.

    Examples
    --------
    >>> at_fit = ClassScores(np.array([50, 50]), np.array([40, 38]))
    >>> accuracy, cobias = at_fit.compare(ClassScores(np.array([50, 50]), np.array([41, 15])), 0.95)
    >>> accuracy.now < accuracy.low, cobias.now > cobias.high
    (True, True)
    """

    rows: Integers
    right: Integers
    followed: float = 1.0
    expected: float | None = None

    def compare(self, now: ClassScores, level: float) -> tuple[Score, Score | None]:
        """Compare accuracy and COBias of new rows with those of the fit.

        Class accuracies are drawn as the rows of the fit allow, and new rows from them. COBias of
        few rows is too large, because chance sets classes apart; that of drawn rows is as much so.
        And weights that made the classes of the fit equal leave gaps between those of new rows.

        Returns
        -------
        accuracy : Score
            Expected for the class mix of the new rows.
        cobias : Score or None
            None if fewer than two classes have rows on both sides.
        """
        both = (self.rows > 0) & (now.rows > 0)
        fitted = ClassScores(self.rows[both], self.right[both])
        new = ClassScores(now.rows[both], now.right[both])
        rng = np.random.default_rng(_SEED)
        hits, sizes = fitted.right.astype(np.float64), fitted.rows.astype(np.float64)
        rates = draw_accuracies(hits, sizes, _DRAWS, rng, followed=self.followed)
        drawn = rng.binomial(new.rows, rates)
        tail = (1 - level) / 2

        def score(at_fit: float, value: float, expected: Floats) -> Score:
            low, high = -_high_end(-expected, tail), _high_end(expected, tail)
            return Score(at_fit, value, max(0.0, low), min(high, 1.0))

        accuracy = score(fitted.accuracy, new.accuracy, drawn.sum(axis=1) / new.rows.sum())
        if both.sum() < 2:
            return accuracy, None
        at_fit = self.expected
        if at_fit is None or not both.all():
            at_fit = float(cobias_of(rates).mean())
        return accuracy, score(at_fit, new.cobias, cobias_of(drawn / new.rows))

    @property
    def accuracy(self) -> float:
        """The share of all rows that are right."""
        return float(self.right.sum() / self.rows.sum())

    @property
    def cobias(self) -> float:
        """COBias, if all classes have rows."""
        return float(cobias_of(self.right / self.rows))

    @classmethod
    def from_fit(cls, fit: FitRecord, n_classes: int) -> Self | None:
        """Return the scores that the record of a fit holds; None if it holds none.

        Raises
        ------
        CoefficientsFormatError
            If they are damaged.
        """
        if fit.scores is None:
            return None
        with reading("scores"):
            content = fit.scores
            rows, right = (np.asarray(content[name], np.int64) for name in ("rows", "right"))
            if rows.shape != (n_classes,) or right.shape != (n_classes,):
                raise ValueError(f"not one number for each of {n_classes} classes")
            if (right < 0).any() or (right > rows).any() or not rows.any():
                raise ValueError("more rows are right than there are")
            rates = {
                name: check_number(name, content[name], at_least=0, at_most=1)
                for name in ("followed", "expected")
                if name in content
            }
            return cls(rows, right, **rates)


def _high_end(drawn: Floats, tail: float) -> float:
    """Return what is exceeded with a probability of `tail`.

    Where draws are few, an exponential tail goes on from them. It reaches farther than that of any
    log-concave distribution, so that there are too few alarms rather than too many.
    """
    far = max(tail, _FAR)
    end = float(np.quantile(drawn, 1 - far))
    beyond = drawn[drawn > end]
    excess = float(beyond.mean()) - end if len(beyond) else 0.0
    return end + excess * log(far / tail)


# From these distances on, a difference is called moderate or large.
_MODERATE, _LARGE = 0.1, 0.25

#: With labels, these share alpha: the distribution, accuracy and COBias.
QUESTIONS = 3


@dataclass(frozen=True, eq=False)
class Check:
    """Whether coefficients fit new rows, and what was compared.

    Attributes
    ----------
    classes : tuple of str
    alpha : float
        The probability of a false alarm that is accepted.
    n_rows, n_labelled : int
        New rows.
    rows_at_fit : float
        Rows that the sketch of the fit was made of.
    comparison : Comparison
        Of the probabilities, and of captured mass where both sides have it.
    mass_at_fit, mass : float or None
        Captured mass on average.
    changed_at_fit, changed : float
        Share of the rows whose decision the coefficients change. The former may be None: not known.
    shares : ndarray of shape (N,)
        The class mix that the fit is for.
    mix : PriorEstimate
        The class mix of the new rows: that of the labels, of which it is exact, or estimated where
        none has one.
    accuracy, cobias : Score or None
        Under the coefficients; None without labels.
    origin : tuple of str
        What of the model and the prompt has changed since the fit, one sentence each.
    corrected_by : str or None
        The hash of the coefficients that corrected the new rows; None for raw ones.
    deferred : tuple of two floats, or None
        The share of the rows that the coefficients defer, and the one that was asked for.
    signal : bool or None
        Whether probabilities of the new rows tell anything of their labels.
    """

    classes: tuple[str, ...]
    alpha: float
    n_rows: int
    n_labelled: int
    rows_at_fit: float
    comparison: Comparison
    mass_at_fit: float | None
    mass: float | None
    changed_at_fit: float | None
    changed: float
    shares: Floats
    mix: PriorEstimate
    accuracy: Score | None
    cobias: Score | None
    origin: tuple[str, ...] = ()
    corrected_by: str | None = None
    deferred: tuple[float, float] | None = None
    signal: bool | None = None

    @property
    def level(self) -> float:
        """Level of the intervals: each question that is asked gets its part of `alpha`."""
        return 1 - self.alpha / (QUESTIONS if self.compared else 1)

    @property
    def same_distribution(self) -> bool:
        """Whether the probabilities, and the captured mass, are distributed as at the fit."""
        return self.comparison.p_value > 1 - self.level

    @property
    def worse(self) -> tuple[str, ...]:
        """Which scores are worse than at the fit, beyond chance."""
        accuracy = self.accuracy is not None and self.accuracy.now < self.accuracy.low
        cobias = self.cobias is not None and self.cobias.now > self.cobias.high
        return ("accuracy",) * accuracy + ("COBias",) * cobias

    @property
    def compared(self) -> bool:
        """Whether accuracy or COBias were compared with those of the fit."""
        return (self.accuracy, self.cobias) != (None, None)

    @property
    def holds(self) -> bool:
        """The verdict; False, too, where labels carry no signal, or none could be compared."""
        labels_hold = not self.n_labelled or (self.compared and self.signal is not False)
        return self.same_distribution and labels_hold and not self.worse

    @property
    def farthest(self) -> tuple[str, float]:
        """The class whose distribution differs most, and by how much."""
        c = int(np.argmax(self.comparison.distances))
        return self.classes[c], float(self.comparison.distances[c])

    @property
    def effect(self) -> str:
        """How large the largest difference is, in a word."""
        distance = max(self.farthest[1], self.comparison.mass_distance or 0.0)
        return "large" if distance >= _LARGE else "moderate" if distance >= _MODERATE else "small"

    def to_dict(self) -> dict[str, Any]:
        """Return what ``dnip check --json`` prints."""
        mass = None
        if self.mass is not None:
            distance = self.comparison.mass_distance
            mass = {"at_fit": self.mass_at_fit, "now": self.mass, "distance": distance}
        return {
            "holds": self.holds,
            "alpha": self.alpha,
            "rows": self.n_rows,
            "rows_at_fit": self.rows_at_fit,
            "distribution": {
                "same": self.same_distribution,
                "p_value": self.comparison.p_value,
                "effect": self.effect,
                "distances": self._by_class(self.comparison.distances),
            },
            "mass": mass,
            "changed_decisions": {"at_fit": self.changed_at_fit, "now": self.changed},
            "class_mix": {
                "at_fit": self._by_class(self.shares),
                "now": self.mix.to_dict(self.classes),
            },
            "labelled_rows": self.n_labelled,
            "level": self.level,
            "worse": list(self.worse),
            "accuracy": None if self.accuracy is None else self.accuracy._asdict(),
            "cobias": None if self.cobias is None else self.cobias._asdict(),
            "origin": list(self.origin),
            "corrected_by": self.corrected_by,
            "deferred": self.deferred,
            "signal": self.signal,
        }

    def _by_class(self, values: Floats) -> dict[str, float]:
        return dict(zip(self.classes, values.tolist(), strict=True))


def check(
    chunks: Iterable[AnyRows],
    coefficients: CoefficientsLike,
    *,
    alpha: float = 0.05,
    origin: Mapping[str, str | None] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Check:
    """Compare new rows with what the record of a fit keeps of its rows.

    Parameters
    ----------
    chunks : iterable of ProbabilityTable or Rows
        The new rows: a `Scan` of a table on disk, ``[table]`` for one in memory.
    coefficients : Coefficients, Fit or path
        Fitted for the table's classes.
    alpha : float, default=0.05
        The probability of a false alarm that is accepted.
    origin : mapping, optional
        Where the new rows come from; see `dnip.tables.provenance.origin_of`.
    progress : callable, optional
        Receives the number of rows done after each chunk.

    Returns
    -------
    Check

    Raises
    ------
    CoefficientsFormatError
        If the coefficients were fitted for other classes, or keep nothing of their rows.
    InvalidInputError
        For bad rows, or fewer than `LEAST_ROWS`.

    Examples
    --------
    >>> from dnip import fit
    >>> from dnip.comparing.demonstration import bundled_table
    >>> fitted = fit(bundled_table("opt"), evidence=False)
    >>> result = check([bundled_table("test")], fitted)
    >>> result.holds, result.effect
    (True, 'small')
    """
    alpha, coefficients = check_level("alpha", alpha), as_coefficients(coefficients)
    fit, classes, multipliers = coefficients.fit, coefficients.classes, coefficients.multipliers
    sample, labelled, corrected_by = TableSample(len(classes)), SignalSample(), None
    rows, right = np.zeros((2, len(classes)), np.int64)
    for block in counted_rows(chunks, progress):
        check_same_classes(block, coefficients)
        corrected_by = corrected_by or block.corrected_by
        sample.add(probabilities=block.probabilities, mass=block.mass)
        labelled.add(block)
        if (labels := block.labels) is not None:
            rows += np.bincount(labels[labels != UNLABELLED], minlength=len(classes))
            hits = decide(block.probabilities, multipliers) == labels
            right += np.bincount(labels[hits], minlength=len(classes))
    tell_corrected("new rows", corrected_by)
    sketch = Sketch.from_fit(fit, classes)
    before = ClassScores.from_fit(fit, len(classes))
    if sample.n_rows < LEAST_ROWS:
        raise InvalidInputError(
            f"new rows: {sample.n_rows}, from which nothing can be told",
            hint=f"Give {LEAST_ROWS} rows at least, better some hundred",
        )
    accuracy = cobias = None
    n_labelled, mix = int(rows.sum()), coefficients.estimate_prior(sample.probabilities)
    if n_labelled:
        now = rows / n_labelled
        mix = PriorEstimate(now, now, now, n_labelled)
    if before is not None and (rows[before.rows > 0]).any():
        level = 1 - alpha / QUESTIONS
        accuracy, cobias = before.compare(ClassScores(rows, right), level)
        if before.expected is None:  # scores of the fitted rows themselves, which flatter
            accuracy = None
    mass, p, defer = sample.mass, sample.probabilities, coefficients.defer
    return Check(
        classes,
        alpha,
        sample.n_rows,
        n_labelled,
        sketch.rows,
        sketch.compare(p, mass),
        None if sketch.mass is None else sketch.mass.mean,
        None if mass is None else float(mass.mean()),
        sketch.changed,
        sample.changed(multipliers),
        coefficients.class_shares,
        mix,
        accuracy,
        cobias,
        changes_of_origin(None if fit.data is None else fit.data.origin, origin),
        corrected_by,
        None if defer is None else (coefficients.deferred(p).mean().item(), defer.share),
        labelled.signal,
    )
