"""A fitting problem: checked probabilities, labels, and how much each example counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Booleans, Confusion, Counts, Floats, Integers, Labels, Probabilities
from dnip.method.prediction import decide
from dnip.tables.cells import check_probabilities, check_sample_weight
from dnip.tables.frames import is_frame, take_columns
from dnip.tables.labels import (
    LABEL,
    check_several_classes,
    labelled_twice,
    labels_of_columns,
    names_of,
)

# Bits of the largest whole-number sample weight that is kept exactly, and of all other weights.
_BITS = 30

# The largest sample weight is between this and its inverse, so that no sum overflows.
_LIGHTEST = 1e-100


@dataclass(frozen=True, eq=False)
class Problem:
    """Probabilities and labels of an opt set, ready for a search.

    Sample weights are stored as whole numbers (`counts`) of a `unit`: their sums are exact in any
    order. Whole weights are kept as they are, others in steps of 2⁻³⁰ of the largest.

    Attributes
    ----------
    probabilities : ndarray of shape (M, N)
        float64, or float32 if they were given so; all computations use float64.
    labels : ndarray of shape (M,)
        Class indices.
    counts : ndarray of shape (M,)
        How much each example counts, in units.
    unit : float
        Examples per unit.
    classes : tuple of str
        Class names.
    shares : ndarray of shape (M, N), optional
        How much each example counts for each class, in units; `counts` in all. Labels are then
        those of which each counts most.

    Examples
    --------
    >>> problem = Problem.of([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    >>> problem.n_examples, problem.n_classes
    (2.0, 2)
    """

    probabilities: Probabilities
    labels: Labels
    counts: Integers
    unit: float
    classes: tuple[str, ...]
    shares: Integers | None = None

    @classmethod
    def of(
        cls,
        probabilities: ArrayLike,
        labels: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        classes: Sequence[str] | None = None,
    ) -> Problem:
        """Check arrays and make a problem of them.

        Parameters
        ----------
        probabilities : array-like or DataFrame of shape (M, N)
            Class probabilities; rows that do not sum to 1 are normalised.
        labels : array-like of shape (M,)
            Class indices 0..N-1 or class names, of at least two classes; every row has one.
        sample_weight : array-like of shape (M,), optional
            How much each example counts; 1 by default.
        classes : sequence of str, optional
            Class names; by default the columns of a data frame, or the indices.

        Raises
        ------
        InvalidInputError
            For input that breaks its contract, or labels of fewer than two classes.
        """
        if is_frame(probabilities) and LABEL in cast("Any", probabilities).columns:
            raise labelled_twice("probabilities", "labels")
        probabilities, classes = take_columns(probabilities, classes)
        p = check_probabilities(probabilities, keep_single=True)
        names = classes and names_of(p.shape[1], classes)
        y, names = labels_of_columns(p, labels, names, unlabelled=False)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, n_examples=len(y))
        return cls.trusted(p, y, names, weight)

    @classmethod
    def trusted(
        cls,
        probabilities: Probabilities,
        labels: Labels,
        classes: Sequence[str],
        weight: Floats | None = None,
    ) -> Problem:
        """Make a problem of probabilities, labels and weights that were checked before.

        Raises
        ------
        InvalidInputError
            For labels of fewer than two classes, or weights that are all tiny or huge.
        """
        counts, unit = np.broadcast_to(np.int64(1), len(labels)), 1.0  # one number, seen M times
        if weight is not None:
            counts, unit = _as_counts(weight)
        problem = cls(probabilities, labels, counts, unit, tuple(classes))
        check_several_classes(problem.present, classes)
        return problem

    @classmethod
    def shared(
        cls, probabilities: Probabilities, weights: Floats, classes: Sequence[str]
    ) -> Problem:
        """Make a problem of rows that count for several classes, by weights of shape (M, N).

        Examples
        --------
        >>> rows = Problem.shared(np.array([[0.9, 0.1]]), np.array([[3.0, 1.0]]), ["no", "yes"])
        >>> rows.class_counts, rows.expanded().labels, rows.expanded().counts
        (array([3, 1]), array([0, 1]), array([3, 1]))
        """
        shares, unit = _as_counts(weights)
        labels = shares.argmax(axis=1)
        return cls(probabilities, labels, shares.sum(axis=1), unit, tuple(classes), shares)

    def expanded(self) -> Problem:
        """Return the same problem with a row for each class that an example counts for."""
        if self.shares is None:
            return self
        row, label = np.nonzero(self.shares)
        counts = self.shares[row, label]
        return Problem(self.probabilities[row], label, counts, self.unit, self.classes)

    def thinned(self, most: int, rng: np.random.Generator) -> Problem:
        """Return a sample of at most so many rows of each class, which count for all.

        Examples
        --------
        >>> rows = Problem.of([[0.9, 0.1], [0.6, 0.4]] * 50, [0, 1] * 50)
        >>> sample = rows.thinned(10, np.random.default_rng(0))
        >>> len(sample.labels), sample.class_counts
        (20, array([50, 50]))
        """
        counted = np.where(self.counts > 0, self.labels, -1)
        rows = draw_per_class(counted, self.n_classes, rng, most)
        p, labels, counts = self.probabilities[rows], self.labels[rows], self.counts[rows]
        sizes = np.bincount(self.labels, self.counts, self.n_classes)
        factors = sizes / np.maximum(np.bincount(labels, counts, self.n_classes), 1) * self.unit
        if self.shares is not None:
            shares = self.shares[rows] * factors[labels, None]
            return Problem.shared(p, shares, self.classes)
        return Problem.trusted(p, labels, self.classes, counts * factors[labels])

    @property
    def n_classes(self) -> int:
        """N."""
        return int(self.probabilities.shape[1])

    @property
    def n_examples(self) -> float:
        """M: the number of examples, or the sum of their weights."""
        return float(self.counts.sum() * self.unit)

    @property
    def weights(self) -> Floats:
        """How many examples each row counts as, shape (M,)."""
        return np.asarray(self.counts * self.unit)

    @cached_property
    def class_counts(self) -> Integers:
        """Units of each class, shape (N,)."""
        if self.shares is not None:
            return np.asarray(self.shares.sum(axis=0))
        totals = np.zeros(self.n_classes, np.int64)
        np.add.at(totals, self.labels, self.counts)
        return totals

    def confusion(self, multipliers: Floats) -> Confusion:
        """Count units by true and by predicted class, shape (N, N), under multipliers.

        Examples
        --------
        >>> problem = Problem.of([[0.9, 0.1], [0.6, 0.4]], [0, 1])
        >>> problem.confusion(np.array([1.0, 1.0])), problem.confusion(np.array([1.0, 3.0]))
        (array([[1, 0],
               [1, 0]]), array([[1, 0],
               [0, 1]]))
        """
        counts = np.zeros((self.n_classes, self.n_classes), np.int64)
        chosen = decide(self.probabilities, multipliers)
        if self.shares is not None:
            np.add.at(counts.T, chosen, self.shares)
        else:
            np.add.at(counts, (self.labels, chosen), self.counts)
        return counts

    def in_examples(self, counts: Confusion) -> Counts:
        """Return counts of units as counts of examples: a copy."""
        return counts.copy() if self.unit == 1 else counts.astype(np.float64) * self.unit

    @property
    def present(self) -> Booleans:
        """Whether each class has examples, shape (N,)."""
        return self.class_counts > 0


def _as_counts(weight: Floats) -> tuple[Integers, float]:
    largest = weight.max()
    if not _LIGHTEST <= largest <= 1 / _LIGHTEST:
        raise InvalidInputError(
            f"sample_weight: the largest weight is {largest:g}, outside "
            f"{_LIGHTEST:g}..{1 / _LIGHTEST:g}",
            hint="Give weights in examples: the smoothing of the objective is counted in them",
        )
    whole = bool((weight == np.floor(weight)).all()) and weight.max() <= 2**_BITS
    unit = 1.0 if whole else 2.0 ** (math.frexp(weight.max())[1] - _BITS)
    return np.rint(weight / unit).astype(np.int64), unit


def draw_per_class(labels: Labels, n_classes: int, rng: np.random.Generator, most: int) -> Integers:
    """Return row numbers in ascending order: all rows of a class, or a sample of `most`.

    Examples
    --------
    >>> draw_per_class(np.array([0, 1, 1, 1]), 2, np.random.default_rng(0), most=1).size
    2
    """
    drawn = []
    for c in range(n_classes):
        rows = np.flatnonzero(labels == c)
        if len(rows) > most:
            rows = rng.choice(rows, most, replace=False)
        drawn.append(rows)
    return np.sort(np.concatenate(drawn))
