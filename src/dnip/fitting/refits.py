"""Fits without each fold of the labelled rows, and what they say of the rows left out."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dnip.base.errors import InfeasibleError, unwarned
from dnip.base.typing import Booleans, Floats, Labels, Probabilities
from dnip.fitting.evidence import FitEvidence
from dnip.fitting.robust import Estimator
from dnip.fitting.settings import FitSettings
from dnip.method.objective import beta_of
from dnip.method.prediction import decide
from dnip.method.problem import Problem
from dnip.metrics.confusion import count_pairs
from dnip.metrics.expected import followed_chance
from dnip.solvers import Coordinate
from dnip.tables.captured_mass import CapturedMass
from dnip.using.evaluation import Evaluation

#: Folds where nothing else is asked for.
USUAL_FOLDS = 5


class LeftOut(NamedTuple):
    """A fold of the labelled rows, and weights that have not seen it."""

    rows: Booleans  # (M,)
    multipliers: Floats  # (N,)


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
    ) -> None:
        self._rows, self._target, self._is_mix_given = rows, target, is_mix_given
        self._captured_mass, self._raw = captured_mass, decide(rows.probabilities)
        p, y, counts = rows.probabilities, rows.labels, rows.weights
        with unwarned():
            self._folds = [
                (
                    fold,
                    Estimator(
                        Problem.trusted(p[~fold], y[~fold], rows.classes, counts[~fold]),
                        _of_refits(settings),
                        unlabelled,
                    ),
                )
                for fold in folds_of(y, USUAL_FOLDS, settings.seed)
            ]

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

    def raw(self) -> list[LeftOut]:
        """Return every fold and weights of 1."""
        return [LeftOut(fold, np.ones(self._rows.n_classes)) for fold, _ in self._folds]

    def assess(self, settings: FitSettings, left_out: list[LeftOut] | None = None) -> FitEvidence:
        """Return what refits say of other rows; `left_out` is known already, if given."""
        refits = self.left_out(settings) if left_out is None else left_out
        p, labels, n = self._rows.probabilities, self._rows.labels, self._rows.n_classes
        fitted, on_all, apart = self._raw.copy(), [], []
        for rows, multipliers in refits:
            predicted = decide(p, multipliers)
            on_all.append(count_pairs(labels, predicted, n, n))
            apart.append(count_pairs(labels[rows], predicted[rows], n, n))
            fitted[rows] = predicted[rows]
        rights = 2 * (self._raw == labels) + (fitted == labels)
        evaluation = Evaluation(
            self._rows.classes,
            len(labels),
            0,
            count_pairs(labels, self._raw, n, n),
            count_pairs(labels, fitted, n, n),
            count_pairs(labels, rights, n, 4).reshape(n, 2, 2),
            target=self._target,
            captured_mass=self._captured_mass,
        )
        return FitEvidence.of(
            evaluation,
            followed_chance(on_all, apart) if apart else 1.0,
            beta_of(settings.objective),
            [multipliers for _, multipliers in refits],
            is_mix_given=self._is_mix_given,
        )


def _of_refits(settings: FitSettings) -> FitSettings:
    """Return the settings of a refit: what is lost is judged by the rows left out."""
    limit = None if settings.time_limit is None else settings.time_limit / USUAL_FOLDS
    constraints = settings.constraints
    if settings.robust != "off":
        constraints = replace(constraints, max_accuracy_loss=None)
    # the coordinate solver finds the same optima, without the proof
    solver = Coordinate() if settings.solver.proves else settings.solver
    return replace(settings, time_limit=limit, constraints=constraints, solver=solver)


def folds_of(labels: Labels, n_folds: int, seed: int) -> list[Booleans]:
    """Divide rows into folds that each get an even share of every class.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    n_folds : int
        A fold lacks a class only if the class has fewer rows than there are folds.
    seed : int

    Returns
    -------
    list of ndarray of shape (M,)
        Whether each row is in the fold. Folds are left out without which two classes could not be
        fitted, and those without rows.

    Examples
    --------
    >>> [np.flatnonzero(fold).tolist() for fold in folds_of(np.array([0, 0, 1, 1, 1, 1]), 2, 0)]
    [[1, 3, 4], [0, 2, 5]]
    """
    rng = np.random.default_rng(seed)
    number = np.empty(len(labels), np.int64)
    for c in np.unique(labels):
        members = np.flatnonzero(labels == c)
        number[members] = (rng.permutation(len(members)) + rng.integers(n_folds)) % n_folds
    folds = [number == fold for fold in range(n_folds)]
    return [fold for fold in folds if fold.any() and len(np.unique(labels[~fold])) >= 2]
