"""What a method of comparison is, and what it learns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dnip.base.typing import Floats, Labels, Probabilities
from dnip.comparing.material import OptSet


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

    A new method is a subclass and a line in :func:`~dnip.comparing.baselines.choose`.

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
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = ("labels",)
    seeded: ClassVar[bool] = False

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
