"""Weights that were fitted for one class mix, moved to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from dnip.base.typing import Booleans, Floats
    from dnip.priors.calibration import Calibration

# Far below what any two probabilities of a row differ by.
_LEAST = 1e-12


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
    way there in logarithms, d = ln π' - ln λ, no step lowers the accuracy under π'. As much of it
    is gone as the change of mix, δ = ln π' - ln π, accounts for: t = ⟨d, δ⟩/⟨d, d⟩, within 0..1.

    So weights stay what they are where the mix is the one that they were fitted for; those of most
    accuracy under one mix become those of most accuracy under the other; and weights that make up
    for rare classes already are not raised again when these become frequent.

    Parameters
    ----------
    weights : ndarray of shape (N,)
        ω, or any multiple.
    calibration : Calibration
    fitted_for, target : ndarray of shape (N,)
        π and π'. A class without a share in `target` gets 10⁻¹² of the largest weight.
    changed : ndarray of shape (N,), optional
        Whether the share of each class is known to have changed; all are, when left out.

    Examples
    --------
    >>> from dnip.priors import Calibration
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
    d, delta = (_centred(values[compared]) for values in (way, change))
    squared = float(d @ d)
    part = min(max(float(d @ delta) / squared, 0.0), 1.0) if squared > 0 else 0.0
    moved = log_weights + part * way / calibration.sharpness
    moved = np.where(occurs, moved, -np.inf)
    return Adjustment(np.maximum(np.exp(moved - moved.max()), _LEAST), part)


def _centred(values: Floats) -> Floats:
    return np.asarray(values - values.mean())
