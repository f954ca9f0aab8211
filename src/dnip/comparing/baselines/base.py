"""The interface of every method: what it learns from, and what it gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.arrays import check_labels, check_probabilities
from dnip.base.typing import Booleans, Floats, Integers, Labels, Probabilities
from dnip.base.validation import check_classes, check_several_classes


@dataclass(frozen=True, eq=False)
class OptSet:
    """What methods may learn from; each takes what it needs.

    Attributes
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices, of at least two classes.
    unlabelled : ndarray of shape (U, N)
        Rows without a label that are at hand before any test row.
    batch : ndarray of shape (B, N)
        The rows that the correction will decide, without their labels. Only a method whose
        ``reads`` names the batch reads them.
    content_free : ndarray of shape (C, N)
        What the model answers to texts without content.
    classes : tuple of str

    Examples
    --------
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]], [0, 1])
    >>> opt.n_classes, len(opt.batch)
    (2, 0)
    """

    probabilities: Probabilities
    labels: Labels
    unlabelled: Probabilities
    batch: Probabilities
    content_free: Probabilities
    classes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        probabilities: ArrayLike,
        labels: ArrayLike,
        *,
        classes: Sequence[str] | None = None,
        **others: ArrayLike,
    ) -> OptSet:
        """Check arrays and make an opt set of them; what is left out has no rows.

        Raises
        ------
        InvalidInputError
            For input that breaks its contract, or labels of fewer than two classes.
        """
        p = check_probabilities(probabilities)
        n_classes = p.shape[1]
        y = check_labels(labels, n_examples=len(p), n_classes=n_classes)
        names = check_classes(classes or [str(c) for c in range(n_classes)])
        check_several_classes(np.bincount(y, minlength=n_classes) > 0, names)
        parts = dict.fromkeys(("unlabelled", "batch", "content_free"), np.empty((0, n_classes)))
        return cls(p, y, classes=names, **parts | {k: np.asarray(v) for k, v in others.items()})

    def hide_labels_but(self, rows: Integers) -> OptSet:
        """Return the set in which only some rows have their labels; the others are unlabelled.

        Raises
        ------
        InvalidInputError
            If these labels are of fewer than two classes.
        """
        labels = self.labels[rows]
        check_several_classes(np.bincount(labels, minlength=self.n_classes) > 0, self.classes)
        rest = np.delete(self.probabilities, rows, axis=0)
        return replace(
            self,
            probabilities=self.probabilities[rows],
            labels=labels,
            unlabelled=np.concatenate([rest, self.unlabelled]),
        )

    @property
    def n_classes(self) -> int:
        """N."""
        return int(self.probabilities.shape[1])

    @property
    def present(self) -> Booleans:
        """Whether each class has labels, shape (N,)."""
        return np.bincount(self.labels, minlength=self.n_classes) > 0


class Correction(ABC):
    """What a method has learned, frozen."""

    @abstractmethod
    def scores(self, probabilities: Probabilities) -> Floats:
        """Return the corrected score of each class, shape (M, N); the highest wins."""

    def predict(self, probabilities: Probabilities) -> Labels:
        """Return the class of each row, shape (M,); the lowest on a tie."""
        return np.asarray(np.argmax(self.scores(probabilities), axis=1))

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the learned numbers, ready for JSON."""


class Method(ABC):
    """A way to learn a correction from an opt set.

    A new method is a subclass and a line in :func:`~dnip.comparing.baselines.all_methods`.

    Attributes
    ----------
    name : str
        What users call it.
    summary : str
        What it does, in a few words.
    reads : tuple of str
        What it reads of an opt set: labels, unlabelled, batch, content-free.
    seeded : bool
        Whether the seed of a fit changes what it learns.
    library, extra : str
        The optional module that it needs, and the extra of this package that installs it; empty
        for none.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = ("labels",)
    seeded: ClassVar[bool] = False
    library: ClassVar[str] = ""
    extra: ClassVar[str] = ""

    @abstractmethod
    def fit(self, opt: OptSet, seed: int = 0) -> Correction:
        """Learn a correction.

        Raises
        ------
        InvalidInputError
            If the opt set lacks what the method reads.
        MissingDependencyError
            If an optional library is missing.
        """


@dataclass(frozen=True, eq=False)
class ClassWeights(Correction):
    """One weight per class: the argmax of ω·p, the lowest class on a tie.

    Examples
    --------
    >>> import numpy as np
    >>> ClassWeights(np.array([1.0, 2.0])).predict(np.array([[0.7, 0.3], [0.6, 0.4]]))
    array([0, 1])
    """

    weights: Floats
    notes: dict[str, Any] = field(default_factory=dict)

    def scores(self, probabilities: Probabilities) -> Floats:
        """Return ω·p, shape (M, N)."""
        return np.asarray(self.weights * probabilities)

    def to_dict(self) -> dict[str, Any]:
        """Return the weights, and the notes of the method."""
        return {"weights": self.weights.tolist(), **self.notes}


@dataclass(frozen=True, eq=False)
class LogLinear(Correction):
    """Scores that are linear in log-probabilities: ln p·A + b.

    Attributes
    ----------
    matrix : ndarray of shape (N, N)
        A; column n makes the score of class n.
    bias : ndarray of shape (N,)
        b.
    notes : dict
        Further numbers of the method.

    Examples
    --------
    >>> import numpy as np
    >>> shift = LogLinear(np.eye(2), np.array([0.0, 1.0]))
    >>> shift.predict(np.array([[0.7, 0.3], [0.8, 0.2]]))
    array([1, 0])
    """

    matrix: Floats
    bias: Floats
    notes: dict[str, Any] = field(default_factory=dict)

    def scores(self, probabilities: Probabilities) -> Floats:
        """Return ln p·A + b, shape (M, N)."""
        return np.asarray(log(probabilities) @ self.matrix + self.bias)

    def to_dict(self) -> dict[str, Any]:
        """Return the notes of the method, or else the bare numbers."""
        return self.notes or {"matrix": self.matrix.tolist(), "bias": self.bias.tolist()}


# No calibration tells probabilities below this apart.
_LEAST_PROBABILITY = 1e-12


def log(probabilities: Probabilities) -> Floats:
    """Return log-probabilities; zeros count as a tiny number."""
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)))


# Stands for a mean probability of 0: the least number of half precision above 0.
_LEAST_MEAN = 2.0**-24


def mean_probability(rows: Probabilities) -> Floats:
    """Return the mean probability of each class, above 0, shape (N,).

    Examples
    --------
    >>> mean_probability(np.array([[1.0, 0.0], [0.5, 0.5]])).tolist()
    [0.75, 0.25]
    """
    return np.asarray(np.maximum(rows.mean(axis=0), _LEAST_MEAN))
