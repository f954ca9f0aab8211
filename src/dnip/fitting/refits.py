"""Refits that each leave labels out, and what they predict there: cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from dnip.base.errors import unwarned
from dnip.base.typing import Booleans, Floats, Integers, Labels, Probabilities
from dnip.fitting.evidence import NEEDED, FitEvidence
from dnip.method.prediction import decide
from dnip.metrics.confusion import count_pairs
from dnip.metrics.expected import followed_chance
from dnip.tables.captured_mass import CapturedMass
from dnip.tables.evaluation import Evaluation

#: Folds where nothing else is asked for.
USUAL_FOLDS = 5

#: Takes the numbers of the rows to fit on, returns what probabilities are multiplied by.
Refit = Callable[["Integers"], "Floats"]

# Parts of the way from the raw argmax to the fit that are tried under a limit, the longest first.
_PARTS = tuple(step / 20 for step in range(20, 0, -1))
#: A loss of accuracy that is worth a word.
A_POINT = 0.01


class Refits:
    """Fits without each fold of the labelled rows.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices, of at least two classes.
    refit : callable
        Repeats the fit on some of the rows.
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
        refit: Refit,
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
        fold = deal_folds(labels, USUAL_FOLDS, seed)
        parts = [fold == number for number in range(USUAL_FOLDS)]
        # two classes can be fitted, and something is left to judge by
        self._left_out = [p for p in parts if len(np.unique(labels[~p])) >= 2 and p.any()]
        with unwarned():
            self._multipliers = [refit(np.flatnonzero(~rows)) for rows in self._left_out]

    def left_out(self, part: float = 1.0) -> Iterator[tuple[Booleans, Floats]]:
        """Yield for each refit which rows it has not seen, and what it multiplies by."""
        for rows, multipliers in zip(self._left_out, self._multipliers, strict=True):
            yield rows, multipliers**part

    def assess(self, part: float = 1.0) -> FitEvidence:
        """Return what refits say of other rows, if weights go a part of the way from equal ones."""
        n = len(self._classes)
        multipliers = [each**part for each in self._multipliers]
        predicted = [decide(self._p, each) for each in multipliers]
        on_all = [count_pairs(self._labels, found, n, n) for found in predicted]
        apart = [
            count_pairs(self._labels[rows], found[rows], n, n)
            for rows, found in zip(self._left_out, predicted, strict=True)
        ]
        followed = followed_chance(on_all, apart) if apart else 1.0
        evaluation, is_given = self._evaluate(part), self._is_mix_given
        return FitEvidence.of(evaluation, followed, self._beta, multipliers, is_mix_given=is_given)

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

    def longest_part(self, limit: float, sureness: float = NEEDED) -> float:
        """Return how much of the way from equal weights loses at most so much accuracy.

        Parameters
        ----------
        limit : float
            Of the accuracy lost on other rows, 0..1.
        sureness : float, default=0.9
            How sure that must be, 0.5..1.

        Returns
        -------
        float
            0, for equal weights, to 1.
        """
        for part in _PARTS:
            if self._evaluate(part).accuracy_change(2 * sureness - 1)[0] >= -limit:
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


def deal_folds(labels: Labels, n_folds: int, seed: int) -> Integers:
    """Return the fold of each row; every fold gets an even share of each class.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    n_folds : int
    seed : int

    Returns
    -------
    ndarray of shape (M,)
        Fold numbers from 0. A fold lacks a class only if the class has fewer rows than folds.

    Examples
    --------
    >>> deal_folds(np.array([0, 0, 1, 1, 1, 1]), 2, seed=0)
    array([1, 0, 1, 0, 0, 1])
    """
    rng = np.random.default_rng(seed)
    fold = np.empty(len(labels), np.int64)
    for c in np.unique(labels):
        rows = np.flatnonzero(labels == c)
        fold[rows] = (rng.permutation(len(rows)) + rng.integers(n_folds)) % n_folds
    return fold
