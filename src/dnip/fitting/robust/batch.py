"""The prior without labels: batch calibration, shrunk by the part that may be chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.priors.calibration import softmax

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Probabilities

# Rounds of balancing a batch of uneven class shares.
_ROUNDS = 10


def batch_shift(
    probabilities: Probabilities, shares: Floats, weight: Floats | None = None
) -> Floats:
    """Return log-weights that make the classes of a batch equally likely on average.

    Batch calibration (Zhou et al. 2024) divides by the mean probability of each class. That is
    right for classes of equal shares. If `shares` are uneven, each row counts inversely to the
    share of the class that it probably belongs to. The result is shrunk toward no change, by the
    part of its spread that is chance in a batch of this size (James and Stein 1961).

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    shares : ndarray of shape (N,)
        Class shares of the batch.
    weight : ndarray of shape (M,), optional
        How often each row counts.

    Returns
    -------
    ndarray of shape (N,)
        Log-weights with mean 0.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.array([[0.9, 0.1], [0.7, 0.3]] * 50)
    >>> batch_shift(p, np.array([0.5, 0.5])).round(2)
    array([-0.68,  0.68])
    """
    if weight is None:
        weight = np.ones(len(probabilities))
    n_rows = weight.sum()
    average = weight @ probabilities / n_rows
    mean = _smooth(average, n_rows)
    variance = weight @ (probabilities - average) ** 2 / n_rows
    chance = float((variance / mean**2).mean()) / n_rows
    shift = _against(mean)
    if np.ptp(shares) > 0:
        log_p = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
        for _ in range(_ROUNDS):
            membership = weight[:, None] * softmax(log_p + shift + np.log(shares))
            # the mean of the classes' means, in which every class counts alike
            part = (membership / membership.sum(axis=0)).mean(axis=1)
            shift = _against(_smooth(part @ probabilities, n_rows))
    spread = float((shift**2).mean())
    return np.asarray(shift * max(0.0, 1 - chance / spread) if spread > 0 else shift)


def _smooth(mean: Floats, n_rows: float) -> Floats:
    """Add half a row of each class, so that a class missing from the batch gets no huge weight."""
    return np.asarray((n_rows * mean + 0.5) / (n_rows + len(mean) / 2))


def _against(mean: Floats) -> Floats:
    shift = -np.log(mean)
    return np.asarray(shift - shift.mean())
