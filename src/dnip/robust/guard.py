"""Where one class is nearly everything, reweighting must not cost accuracy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.robust.rounding import lower, round_to_scale, unchanged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.robust.evidence import Evidence
    from dnip.robust.rounding import Rounded
    from dnip.scales import WeightScale
    from dnip.typing import Floats

# Accuracy that may always be lost against the raw argmax.
_MARGIN = 0.01

_STEPS = 20


def is_harmless(evidence: Evidence, multipliers: Floats, shares: Floats) -> bool:
    """Whether weights keep an accuracy that they must not fall below.

    That is the accuracy of always answering the most frequent class, or that of the raw argmax
    less 0.01, whichever is lower. Equal class accuracies are worth accuracy up to there, but a
    classifier that is less often right than a constant answer serves no one. The accuracy must
    pass by one standard error, as it was picked among others.

    Parameters
    ----------
    evidence : Evidence
    multipliers : ndarray of shape (N,)
        Weights, up to a common factor.
    shares : ndarray of shape (N,)
        How frequent each class is.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip.robust.evidence import Evidence
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.7, 0.3]] * 50)
    >>> evidence = Evidence(p, np.array([0, 1, 0, 0] * 50), np.ones(200))
    >>> for third in (30, 20, 10):  # the rows at 0.6 are right with 20; with 10, those at 0.7 fall
    ...     print(is_harmless(evidence, np.array([third, 30]), np.array([0.75, 0.25])))
    True
    True
    False
    """
    accuracy, gain, error = evidence.accuracy_gain(multipliers, shares)
    return accuracy - error >= shares.max() or gain - error >= -_MARGIN


def go_as_far_as_harmless(
    evidence: Evidence,
    log_weights: Floats,
    shares: Floats,
    scale: WeightScale,
    absent: Sequence[int] = (),
    *,
    anchored: bool = False,
) -> tuple[Rounded, float]:
    """Return the weights farthest on the way from no change to log-weights that do no harm.

    Absent classes get the least weight, however far the others go.

    Returns
    -------
    weights : Rounded
    kept : float
        Part of the way, 0..1.
    """
    for step in range(_STEPS, 0, -1):
        kept = step / _STEPS
        rounded = round_to_scale(kept * log_weights, scale, anchored=anchored)
        rounded = lower(rounded, absent, scale)
        if is_harmless(evidence, rounded.multipliers, shares):
            return rounded, kept
    return lower(unchanged(len(log_weights), scale), absent, scale), 0.0
