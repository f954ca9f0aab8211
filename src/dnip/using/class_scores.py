"""Accuracy and COBias of new rows beside those of the fit."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import NamedTuple, Self

import numpy as np

from dnip.base.typing import Floats, Integers
from dnip.base.validation import check_number
from dnip.method.record import FitRecord, reading
from dnip.metrics.confusion import cobias_of
from dnip.metrics.gaps import draw_accuracies

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

        Parameters
        ----------
        now : ClassScores
            Of the new rows.
        level : float
            Of the intervals.

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

        def score(at_fit: float, found: float, expected: Floats) -> Score:
            low, high = -_high_end(-expected, tail), _high_end(expected, tail)
            return Score(at_fit, found, max(0.0, low), min(high, 1.0))

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
