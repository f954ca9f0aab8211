"""Coefficients for another class mix: what a fit has learned of it, and where the weights go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnip.base.errors import CoefficientsFormatError
from dnip.method.coefficients_file import REFIT, recorded
from dnip.priors import Calibration, PriorEstimate, adjust, check_prior

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnip.base.typing import Floats
    from dnip.priors import PriorLike

#: What coefficients without what a fit has learned cannot be.
_PURPOSE = "moved to another class mix"


class Moved(NamedTuple):
    """Weights for another class mix, and what a coefficients file says of them."""

    weights: Floats  # (N,)
    provenance: dict[str, Any]


def move_to_mix(
    target_prior: PriorLike | PriorEstimate,
    classes: Sequence[str],
    weights: Floats,
    shares: Floats,
    learned: Calibration,
) -> Moved | None:
    """Return weights for another class mix, or None where the weights already serve it.

    Parameters
    ----------
    target_prior : mapping, sequence, "uniform" or PriorEstimate
        The other mix. Classes whose share is within the interval of an estimate are unchanged.
    classes : sequence of str
        Class names.
    weights, shares : ndarray of shape (N,)
        Of the fit: its weights, and the class shares of its rows.
    learned : Calibration
        What the fit has learned of the probabilities.
    """
    changed = None
    if isinstance(target_prior, PriorEstimate):
        changed = target_prior.differs_from(shares)
        target_prior = target_prior.shares
    target = check_prior(target_prior, classes)
    moved = adjust(weights, learned, shares, target, changed)
    if moved.part == 0 and (target > 0).all():
        return None
    before = {"weights": weights.tolist(), "class_shares": shares.tolist()}
    adjusted = {"part": moved.part, "from": before}
    return Moved(moved.weights, {"class_shares": target.tolist(), "adjusted": adjusted})


def class_shares(fit: Mapping[str, Any], n_classes: int) -> Floats:
    """Return the class shares, shape (N,), that the provenance of a fit holds."""
    shares = recorded(fit, "class_shares", _PURPOSE)
    try:
        found = np.asarray(shares, np.float64)
        sound = found.shape == (n_classes,) and bool((found >= 0).all())
        if not sound or not 0 < found.sum() < np.inf:
            raise ValueError("not one share for each class")
    except (TypeError, ValueError, OverflowError) as error:
        raise CoefficientsFormatError(
            f"coefficients: fit.class_shares is {shares!r}: {error}", hint=REFIT
        ) from error
    return np.asarray(found / found.sum())


def calibration(fit: Mapping[str, Any], n_classes: int) -> Calibration:
    """Return the calibration that the provenance of a fit holds."""
    learned = recorded(fit, "calibration", _PURPOSE)
    try:
        return Calibration.from_dict(learned, n_classes)
    except ValueError as error:
        raise CoefficientsFormatError(
            f"coefficients: fit.calibration: {error}", hint=REFIT
        ) from error
