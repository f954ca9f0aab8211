"""Fits without each fold of the labelled rows, and what they say of the rows left out.

Rows that belong together lie in one fold: several answers to one prompt, paraphrases, copies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import InfeasibleError, unwarned
from dnip.base.typing import Booleans, Confusion, Floats, Integers, Labels, Probabilities
from dnip.fitting.estimator import Estimator
from dnip.fitting.evidence import FitEvidence
from dnip.fitting.settings import FitSettings
from dnip.method.objective import Objective
from dnip.method.prediction import decide
from dnip.method.problem import Problem
from dnip.metrics.confusion import count_pairs
from dnip.metrics.intervals import followed_chance, refit_spread
from dnip.solvers import Coordinate
from dnip.tables.groups import sizes_of
from dnip.tables.mass import CapturedMass
from dnip.using.evaluation import Evaluation

#: Folds where nothing else is asked for.
USUAL_FOLDS = 5
# Line searches of a refit, as a part of those of a fit; more hardly change what is expected.
_EFFORT = 0.25


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
    groups : ndarray of shape (M,), optional
        The number of the group of each row. A group lies in one fold, and counts as one row.
    exponent, there
        As for :class:`dnip.fitting.estimator.Estimator`.

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
        groups: Integers | None = None,
        exponent: float = 1.0,
        there: Floats | None = None,
    ) -> None:
        self._rows, self._target, self._is_mix_given = rows, target, is_mix_given
        self._captured_mass, self._raw = captured_mass, decide(rows.probabilities)
        sizes = sizes_of(groups)
        self._weight = None if sizes is None else 1 / sizes
        folds = _folds_of(rows.labels, USUAL_FOLDS, settings.seed, groups)

        p, y, self._folds = rows.probabilities, rows.labels, list[tuple[Booleans, Estimator]]()
        with unwarned():
            for fold in folds:
                rest = ~fold
                estimator = Estimator(
                    Problem.trusted(p[rest], y[rest], rows.classes, rows.weights[rest]),
                    _of_refits(settings),
                    unlabelled,
                    group_sizes=None if sizes is None else sizes[rest],
                    exponent=exponent,
                    there=there,
                )
                self._folds.append((fold, estimator))

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
            on_all.append(self._count(predicted))
            apart.append(self._count(predicted, rows))
            fitted[rows] = predicted[rows]
        rights = 2 * (self._raw == labels) + (fitted == labels)
        evaluation = Evaluation(
            self._rows.classes,
            len(labels) if self._weight is None else round(self._weight.sum()),
            0,
            self._count(self._raw),
            self._count(fitted),
            count_pairs(labels, rights, n, 4, self._weight).reshape(n, 2, 2),
            target=self._target,
            captured_mass=self._captured_mass,
        )
        return FitEvidence.of(
            evaluation,
            followed_chance(on_all, apart) if apart else 1.0,
            refit_spread(on_all),
            settings.objective,
            [multipliers for _, multipliers in refits],
            is_mix_given=self._is_mix_given,
        )

    def _count(
        self, predicted: NDArray[np.integer], rows: Booleans | slice = slice(None)
    ) -> Confusion:
        """Count rows by class and by prediction; a group counts as one row."""
        n, weight = self._rows.n_classes, None if self._weight is None else self._weight[rows]
        return count_pairs(self._rows.labels[rows], predicted[rows], n, n, weight)


def _of_refits(settings: FitSettings) -> FitSettings:
    """Return the settings of a refit: what is lost is judged by the rows left out."""
    limit = None if settings.time_limit is None else settings.time_limit / USUAL_FOLDS
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
