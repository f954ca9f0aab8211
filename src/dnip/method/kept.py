"""What a fit keeps of its rows, scores and a sketch, and how new rows compare with them."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from dnip.base.typing import Floats
from dnip.base.validation import check_number
from dnip.metrics.chance import hotelling_p_value, smirnov_p_value
from dnip.metrics.confusion import cobias_of
from dnip.metrics.intervals import draw_accuracies
from dnip.priors import centred, log_probabilities

# Draws of new rows, the same at every call.
_DRAWS, _SEED = 10_000, 0
# Of these, the farthest part, beyond which the draws are too few to tell how far a tail reaches.
_FAR = 0.005

# Places at which a distribution function is kept: with twice as many, hardly more is noticed.
_KNOTS = 15

# Rows per class that the covariance of the log-probabilities needs. With fewer, the test of the
# means gives false alarms.
_ROWS_PER_CLASS = 10


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

    rows: NDArray[Any]
    right: NDArray[Any]
    followed: float = 1.0
    expected: float | None = None

    def __post_init__(self) -> None:
        if self.rows.shape != self.right.shape:
            raise ValueError("rows and right are not of the same classes")
        if (self.right < 0).any() or (self.right > self.rows).any() or not self.rows.any():
            raise ValueError("more rows are right than there are")
        check_number("followed", self.followed, at_least=0, at_most=1)
        if self.expected is not None:
            check_number("expected", self.expected, at_least=0, at_most=1)

    def compare(
        self, now: ClassScores, level: float, counted: Floats | None = None
    ) -> tuple[Score, Score | None]:
        """Compare accuracy and COBias of new rows with those of the fit.

        Class accuracies are drawn as the rows of the fit allow, and new rows from them. COBias of
        few rows is too large, because chance sets classes apart; that of drawn rows is as much so.
        And weights that made the classes of the fit equal leave gaps between those of new rows.

        Parameters
        ----------
        now : ClassScores
        level : float
            Of the intervals.
        counted : ndarray of shape (N,), optional
            New rows of each class, where rows that belong together count as one.

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
        rows = now.rows if counted is None else counted
        n = np.maximum(np.rint(rows[both]), 1).astype(np.int64)
        drawn = rng.binomial(n, rates) * (new.rows / n)
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


@dataclass(frozen=True, eq=False)
class ColumnSketch:
    """Mean and distribution function of one column of numbers.

    Attributes
    ----------
    mean : float
    knots : ndarray of shape (Q,)
        Ascending. Each lies between two values of the column, so that the last digits of a value
        do not matter.
    shares : ndarray of shape (Q,)
        The share of the rows below each knot.

    Examples
    --------
    >>> column = ColumnSketch.of(np.arange(100) / 100, np.ones(100))
    >>> column.mean, column.knots[:2], column.shares[:2]
    (0.495, array([0.065, 0.125]), array([0.07, 0.13]))
    >>> round(column.distance(np.arange(50) / 100), 2)
    0.5
    """

    mean: float
    knots: Floats
    shares: Floats

    def __post_init__(self) -> None:
        if not np.isfinite(self.mean) or self.knots.shape != self.shares.shape:
            raise ValueError("not a mean, and a share for every knot")
        if (np.diff(self.knots) <= 0).any():
            raise ValueError("knots do not rise")
        if not (np.diff(self.shares, prepend=0.0, append=1.0) >= 0).all():
            raise ValueError("shares do not rise from 0 to 1")

    @classmethod
    def of(cls, values: Floats, weight: Floats) -> Self:
        """Return the sketch of a column whose rows count by their weight."""
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        below = np.cumsum(weight[order]) / weight.sum()
        wanted = np.arange(1, _KNOTS + 1) / (_KNOTS + 1)
        places = np.minimum(np.searchsorted(below, wanted), len(ordered) - 1)
        behind = np.unique(np.searchsorted(ordered, ordered[places], side="right"))
        behind = behind[behind < len(ordered)]
        between = (ordered[behind - 1] + ordered[behind]) / 2
        knots = np.unique([_short(knot) for knot in between.tolist()])
        at = np.searchsorted(ordered, knots, side="right")
        shares = np.concatenate([[0.0], below])[at].tolist()
        mean = _short(np.average(values, weights=weight))
        return cls(mean, knots, np.array([_short(share) for share in shares]))

    def distance(self, values: Floats) -> float:
        """Return the largest difference of the distribution functions at the knots, 0..1."""
        if not len(self.knots):
            return 0.0
        below = np.searchsorted(np.sort(values), self.knots, side="right") / len(values)
        return float(np.abs(below - self.shares).max())


class Comparison(NamedTuple):
    """How new rows differ from those of a fit.

    Attributes
    ----------
    distances : ndarray of shape (N,)
        The largest difference of the distribution functions of each class, 0..1: at least so many
        of the rows would have to change.
    mass_distance : float or None
        The same of captured mass.
    p_value : float
        How probable such differences are by chance.
    """

    distances: Floats
    mass_distance: float | None
    p_value: float


@dataclass(frozen=True, eq=False)
class Sketch:
    """What is kept of the rows of a fit.

    Attributes
    ----------
    rows : float
        How many there were, of a sample if there were many; weighted ones count as (Σw)²/Σw²
        (Kish 1965).
    classes : tuple of ColumnSketch
        Of the log-probability of each class, less the mean over the classes.
    mass : ColumnSketch or None
        Of the captured mass, where the table has it.
    changed_decisions : float or None
        The share of the rows whose decision the coefficients change; None if it is not known.

    Examples
    --------
    >>> p = np.random.default_rng(0).dirichlet([2, 1, 1], 1_000)
    >>> sketch = Sketch.of(p[:500])
    >>> sketch.rows, len(sketch.classes), sketch.classes[0].knots.size
    (500.0, 3, 15)
    >>> sketch.compare(p[500:]).p_value > 0.05, sketch.compare(p[500:, ::-1]).p_value < 1e-9
    (True, True)
    """

    rows: float
    classes: tuple[ColumnSketch, ...]
    mass: ColumnSketch | None = None
    changed_decisions: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.rows < np.inf:
            raise ValueError(f"rows is {self.rows}, not a number above 0")

    @classmethod
    def of(
        cls,
        probabilities: Floats,
        weight: Floats | None = None,
        mass: Floats | None = None,
        changed: float | None = None,
    ) -> Self:
        """Return the sketch of some rows.

        Parameters
        ----------
        probabilities : ndarray of shape (M, N)
        weight : ndarray of shape (M,), optional
            How much each row counts.
        mass : ndarray of shape (M,), optional
            Captured mass.
        changed : float, optional
            The share of the rows whose decision the coefficients change.
        """
        if weight is None:
            weight = np.ones(len(probabilities))
        columns = centred(log_probabilities(probabilities)).T
        return cls(
            _short(weight.sum() ** 2 / (weight @ weight)),
            tuple(ColumnSketch.of(column, weight) for column in columns),
            None if mass is None else ColumnSketch.of(mass, weight),
            None if changed is None else _short(changed),
        )

    def compare(self, probabilities: Floats, mass: Floats | None = None) -> Comparison:
        """Compare new rows with those of the fit.

        Two tests, with half of the level each: Hotelling's of the means of all differences of
        log-probabilities between two classes, and Kolmogorov's and Smirnov's of each class and of
        captured mass, with Bonferroni's correction. The first is left out where a class has fewer
        than ten rows on average.

        Parameters
        ----------
        probabilities : ndarray of shape (M, N)
        mass : ndarray of shape (M,), optional
        """
        n = len(probabilities)
        columns = centred(log_probabilities(probabilities))
        pairs = zip(self.classes, columns.T, strict=True)
        distances = np.array([sketch.distance(column) for sketch, column in pairs])
        mass_distance = None
        if self.mass is not None and mass is not None:
            mass_distance = self.mass.distance(mass)
        tested = [*distances.tolist(), *([] if mass_distance is None else [mass_distance])]
        p_value = len(tested) * smirnov_p_value(max(tested), self.rows, n)
        if min(n, self.rows) >= _ROWS_PER_CLASS * len(distances):
            means = np.array([column.mean for column in self.classes])
            p_value = 2 * min(p_value, hotelling_p_value(means, self.rows, columns))
        return Comparison(distances, mass_distance, min(p_value, 1.0))


def _short(value: float) -> float:
    """Return a number with six digits."""
    return float(f"{value:.6g}")
