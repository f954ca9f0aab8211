"""Fits without each fold of the labelled rows, and what they say of the rows left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from dnip.base.errors import unwarned
from dnip.base.typing import Booleans, Floats, Integers, Labels, Probabilities
from dnip.fitting.evidence import NEEDED, FitEvidence
from dnip.method.prediction import decide
from dnip.metrics.confusion import count_pairs
from dnip.metrics.expected import followed_chance
from dnip.tables.captured_mass import CapturedMass
from dnip.using.evaluation import Evaluation

#: Folds where nothing else is asked for.
USUAL_FOLDS = 5

# Parts of the way from the raw argmax to the fit that are tried under a limit, the longest first.
_PARTS = tuple(step / 20 for step in range(20, 0, -1))
#: A loss of accuracy that is worth a word.
A_POINT = 0.01

T = TypeVar("T")


class Refits:
    """Fits without each fold of the labelled rows.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices, of at least two classes.
    refit : callable
        Takes the numbers of the rows to fit on, returns what probabilities are multiplied by.
    classes : tuple of str
        Class names.
    beta : float
        β, the weight of COBias.
    target : ndarray of shape (N,), optional
        The class mix where the coefficients will be used; that of the labels by default.
    captured_mass : CapturedMass, optional
        How many rows have a low captured mass, which is a fault of the prompt.
    is_mix_given : bool, default=False
        Whether `target` was asked for, rather than being the natural mix.
    seed : int
        Of the division into folds, class by class.

    Examples
    --------
    >>> from dnip import solve
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> p = np.clip(0.7 + 0.15 * rng.normal(size=200) - 0.3 * y, 0.01, 0.99)
    >>> p = np.stack([p, 1 - p], axis=1)
    >>> refits = Refits(p, y, lambda rows: solve(p[rows], y[rows]).weights,
    ...                 classes=("no", "yes"), beta=2.7)
    >>> refits.assess().verdict, refits.longest_part(0.05)
    ('apply', 1.0)
    """

    def __init__(
        self,
        probabilities: Probabilities,
        labels: Labels,
        refit: Callable[[Integers], Floats],
        *,
        classes: tuple[str, ...],
        beta: float,
        target: Floats | None = None,
        captured_mass: CapturedMass | None = None,
        is_mix_given: bool = False,
        seed: int = 0,
    ) -> None:
        self._p, self._labels, self._classes = probabilities, labels, classes
        self._beta, self._target, self._captured_mass = beta, target, captured_mass
        self._is_mix_given = is_mix_given
        self._raw = decide(probabilities)
        self._refits = refit_without(labels, USUAL_FOLDS, seed, refit)

    def left_out(self, part: float = 1.0) -> list[tuple[Booleans, Floats]]:
        """Return for each refit which rows it has not seen, and what it multiplies by."""
        return [(rows, multipliers**part) for rows, multipliers in self._refits]

    def assess(self, part: float = 1.0) -> FitEvidence:
        """Return what refits say of other rows, if weights go a part of the way from equal ones."""
        n, labels, refits = len(self._classes), self._labels, self.left_out(part)
        predicted = [(rows, decide(self._p, multipliers)) for rows, multipliers in refits]
        on_all = [count_pairs(labels, found, n, n) for _, found in predicted]
        apart = [count_pairs(labels[rows], found[rows], n, n) for rows, found in predicted]
        return FitEvidence.of(
            self._evaluate(part),
            followed_chance(on_all, apart) if apart else 1.0,
            self._beta,
            [multipliers for _, multipliers in refits],
            is_mix_given=self._is_mix_given,
        )

    def free(self, whole: FitEvidence) -> tuple[float, FitEvidence] | None:
        """Return a limit on lost accuracy, and what is to be had under it.

        The limit is 0, or a point where nothing is to be had under 0. None where the whole way is
        expected to lose no more than a point, and where nothing is to be had under a point either.
        """
        if whole.accuracy_change >= -A_POINT:
            return None
        for limit in (0.0, A_POINT):
            part = self.longest_part(limit)
            if part > 0:
                return limit, self.assess(part)
        return None

    def longest_part(self, limit: float) -> float:
        """Return how much of the way from equal weights is sure to lose at most so much accuracy.

        Parameters
        ----------
        limit : float
            Of the accuracy lost on other rows, 0..1.

        Returns
        -------
        float
            0, for equal weights, to 1.
        """
        for part in _PARTS:
            if self._evaluate(part).accuracy_change(2 * NEEDED - 1)[0] >= -limit:
                return part
        return 0.0

    def _evaluate(self, part: float) -> Evaluation:
        n, labels = len(self._classes), self._labels
        fitted = self._raw.copy()
        for rows, multipliers in self.left_out(part):
            fitted[rows] = decide(self._p[rows], multipliers)
        rights = 2 * (self._raw == labels) + (fitted == labels)
        return Evaluation(
            self._classes,
            len(labels),
            0,
            count_pairs(labels, self._raw, n, n),
            count_pairs(labels, fitted, n, n),
            count_pairs(labels, rights, n, 4).reshape(n, 2, 2),
            target=self._target,
            captured_mass=self._captured_mass,
        )


def refit_without(
    labels: Labels, n_folds: int, seed: int, refit: Callable[[Integers], T]
) -> list[tuple[Booleans, T]]:
    """Refit without each fold of the rows; every fold gets an even share of each class.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    n_folds : int
        A fold lacks a class only if the class has fewer rows than there are folds.
    seed : int
    refit : callable
        Takes the numbers of the rows to fit on.

    Returns
    -------
    list of tuple
        Which rows each refit has not seen, shape (M,), and what it returned. There is none where
        two classes could not be fitted, or no row is left to judge by.

    Examples
    --------
    >>> refits = refit_without(np.array([0, 0, 1, 1, 1, 1]), 2, 0, lambda rows: rows.tolist())
    >>> [kept for _, kept in refits]
    [[0, 2, 5], [1, 3, 4]]
    """
    rng = np.random.default_rng(seed)
    fold = np.empty(len(labels), np.int64)
    for c in np.unique(labels):
        own = np.flatnonzero(labels == c)
        fold[own] = (rng.permutation(len(own)) + rng.integers(n_folds)) % n_folds
    parts = [fold == number for number in range(n_folds)]
    parts = [rows for rows in parts if len(np.unique(labels[~rows])) >= 2 and rows.any()]
    with unwarned():
        return [(rows, refit(np.flatnonzero(~rows))) for rows in parts]
