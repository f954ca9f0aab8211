"""Calibrated log-odds, and what they do: move weights from one class mix to another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from dnip.base.errors import InvalidInputError, warn
from dnip.base.typing import Booleans, Floats, Labels, Probabilities
from dnip.base.validation import LEAST_WEIGHT

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
    def from_dict(cls, content: Mapping[str, Any], n_classes: int) -> Self:
        """Return the calibration that `to_dict` wrote.

        Raises
        ------
        ValueError
            For anything else.
        """
        log_weights = np.asarray(content["log_weights"], np.float64)
        labels = np.asarray(content["labels"], np.float64)
        sharpness = float(content["sharpness"])
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


def to_power(probabilities: Probabilities, exponent: float) -> Probabilities:
    """Return p to a power, normalised to sum 1 per row; zeros stay zeros.

    Examples
    --------
    >>> to_power(np.array([[0.8, 0.2], [1.0, 0.0]]), 0.5).round(3)
    array([[0.667, 0.333],
           [1.   , 0.   ]])
    """
    if exponent == 1:
        return probabilities
    with np.errstate(divide="ignore"):
        return softmax(exponent * np.log(probabilities))


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


class Adjustment(NamedTuple):
    """Weights for another mix."""

    weights: Floats  # (N,) the largest is 1
    part: float  # of the way to the weights of most accuracy, 0..1


def adjust(
    weights: Floats,
    calibration: Calibration,
    fitted_for: Floats,
    target: Floats,
    changed: Booleans | None = None,
) -> Adjustment:
    """Return the weights for a target mix.

    By the calibration, weights ω are those that are right most often where the class shares are
    λ_n ∝ (ω_n·exp(-v_n))^s, and for the target π' these are exp(v_n)·π'_n^(1/s). On the straight
    way there in logarithms, d = ln π' - ln λ, no step lowers the accuracy under π'. The part of the
    way that is taken is what the change of mix, δ = ln π' - ln π, accounts for:
    t = ⟨d, δ⟩/⟨d, d⟩, within 0..1.

    So weights do not change if the mix does not. Weights of the highest accuracy under one mix
    become those of the highest accuracy under the other. Weights that are high for rare classes
    already are not raised again when these classes become frequent.

    Parameters
    ----------
    weights : ndarray of shape (N,)
        ω, or any multiple.
    calibration : Calibration
    fitted_for, target : ndarray of shape (N,)
        π and π'. A class without a share in `target` gets 10⁻³⁰⁰ of the largest weight.
    changed : ndarray of shape (N,), optional
        Whether the share of each class is known to have changed; all are, when left out.

    Examples
    --------
    >>> from dnip.priors.calibration import Calibration
    >>> sharp = Calibration(np.zeros(2), 2.0, np.array([50.0, 50.0]))
    >>> half = np.array([0.5, 0.5])
    >>> adjust(np.ones(2), sharp, half, np.array([0.8, 0.2]))
    Adjustment(weights=array([1. , 0.5]), part=1.0)
    >>> adjust(np.ones(2), sharp, np.array([0.8, 0.2]), half)
    Adjustment(weights=array([1., 1.]), part=0.0)
    """
    log_weights = np.log(weights)
    occurs = target > 0
    log_target = np.log(target, out=np.zeros_like(log_weights), where=occurs)
    way = log_target - calibration.sharpness * (log_weights - calibration.log_weights)
    compared = occurs & (fitted_for > 0)
    change = log_target - np.log(fitted_for, out=np.zeros_like(log_weights), where=compared)
    if changed is not None:
        change = np.where(changed, change, 0.0)
    d, delta = (some - some.mean() for some in (way[compared], change[compared]))
    squared = float(d @ d)
    part = min(max(float(d @ delta) / squared, 0.0), 1.0) if squared > 0 else 0.0
    moved = log_weights + part * way / calibration.sharpness
    moved = np.where(occurs, moved, -np.inf)
    return Adjustment(np.maximum(np.exp(moved - moved.max()), LEAST_WEIGHT), part)


def weigh_rows(
    labels: Labels, target: Floats, classes: Sequence[str], sample_weight: Floats | None = None
) -> Floats:
    """Weigh rows by target share over observed share of their class.

    Classes without labels cannot be weighed: those with labels share the rest, with a warning.

    Parameters
    ----------
    labels : ndarray of shape (M,)
        Class indices.
    target : ndarray of shape (N,)
        Class shares that sum to 1.
    classes : sequence of str
        Class names.
    sample_weight : ndarray of shape (M,), optional
        Weights of the rows; within each class they keep their proportions.

    Returns
    -------
    ndarray of shape (M,)
        Weights that sum to M, or to the sum of `sample_weight`.

    Raises
    ------
    InvalidInputError
        If fewer than two classes have both labels and a share.

    Warns
    -----
    DNIPWarning
        For classes with a share and without labels.

    Examples
    --------
    >>> weigh_rows(np.array([0, 0, 0, 1]), np.array([0.5, 0.5]), ["a", "b"])
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    """
    own = np.ones(len(labels)) if sample_weight is None else sample_weight
    mass = np.bincount(labels, own, len(target))
    counted = (mass > 0) & (target > 0)
    if np.count_nonzero(counted) < 2:
        raise InvalidInputError(
            "target prior: fewer than two classes have both labelled rows and a share above 0",
            hint="Label rows of the classes that occur, or give other shares",
        )
    missing = (mass == 0) & (target > 0)
    if missing.any():
        names = ", ".join(classes[c] for c in np.flatnonzero(missing).tolist())
        warn(
            f"{target[missing].sum():.1%} of the target prior is of class {names}, which has no "
            "labelled row: the other classes count in proportion"
        )
    ratio = np.where(counted, target, 0.0) / np.where(counted, mass, 1.0)
    return np.asarray(own * ratio[labels] * (own.sum() / target[counted].sum()))
