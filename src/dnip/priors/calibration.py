"""Calibrated log-odds: one additive log-weight per class and one inverse temperature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Probabilities


# A calibration does not distinguish probabilities below this.
_LEAST_PROBABILITY = 1e-7


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibrated log-odds s·(ln p + v) of classes that are equally frequent.

    Their exponentials are proportional to how probable a row is within each class, whatever the
    class mix: bias-corrected temperature scaling (Alexandari, Kundaje and Shrikumar 2020).

    Attributes
    ----------
    log_weights : ndarray of shape (N,)
        v.
    sharpness : float
        s, the inverse temperature.
    labels : ndarray of shape (N,)
        How many labels of each class they were learned from.

    Examples
    --------
    >>> calibration = Calibration(np.log([1.0, 4.0]), 1.0, np.array([50.0, 50.0]))
    >>> calibration.posterior(np.log([[0.8, 0.2]]))
    array([[0.5, 0.5]])
    """

    log_weights: Floats
    sharpness: float
    labels: Floats

    def posterior(self, log_p: Floats) -> Probabilities:
        """Return class probabilities of rows, were all classes equally frequent, (M, N)."""
        return softmax(self.sharpness * (log_p + self.log_weights))

    def to_dict(self) -> dict[str, Any]:
        """Return the calibration as a coefficients file holds it."""
        return {
            "log_weights": self.log_weights.tolist(),
            "sharpness": self.sharpness,
            "labels": self.labels.tolist(),
        }

    @classmethod
    def from_dict(cls, content: object, n_classes: int) -> Self:
        """Return the calibration that `to_dict` wrote.

        Raises
        ------
        ValueError
            For anything else.
        """
        if not isinstance(content, dict) or not content.keys() >= {
            "log_weights",
            "sharpness",
            "labels",
        }:
            raise ValueError("log_weights, sharpness or labels missing")
        try:
            log_weights = np.asarray(content["log_weights"], np.float64)
            labels = np.asarray(content["labels"], np.float64)
            sharpness = float(content["sharpness"])
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"not numbers: {error}") from error
        sound = np.isfinite(log_weights).all() and np.isfinite(labels).all()
        if not sound or log_weights.shape != (n_classes,) or labels.shape != (n_classes,):
            raise ValueError(f"not one number for each of {n_classes} classes")
        if not (0 < sharpness < np.inf) or (labels < 0).any():
            raise ValueError("a sharpness that is not above 0, or labels below 0")
        return cls(log_weights, sharpness, labels)


def log_probabilities(probabilities: Probabilities) -> Floats:
    """Return ln p, where p below 10⁻⁷ counts as that.

    Examples
    --------
    >>> log_probabilities(np.array([[1.0, 0.0]])).round(1)
    array([[  0. , -16.1]])
    """
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)), np.float64)


def centred(log_p: Floats) -> Floats:
    """Return log-probabilities less their mean over the classes, shape (M, N).

    Examples
    --------
    >>> centred(np.array([[-1.0, -3.0]]))
    array([[ 1., -1.]])
    """
    return np.asarray(log_p - log_p.mean(axis=1, keepdims=True))


def softmax(scores: Floats) -> Probabilities:
    """Return exp(scores) normalised to sum 1 per row, shape (M, N).

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))
