"""From log-weights to a scale of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Floats, WeightIndices
    from dnip.method.scales import WeightScale


class Rounded(NamedTuple):
    """Weights on a scale."""

    multipliers: Floats  # (N,) what probabilities are multiplied by
    indices: WeightIndices  # (N,) 1..K


def round_to_scale(log_weights: Floats, scale: WeightScale, *, anchored: bool = False) -> Rounded:
    """Return the weights of a scale whose ratios come closest to those of log-weights.

    Predictions depend on ratios alone, so the largest weight may be anywhere on the scale. The
    place with the least squared error of the log-weights is chosen, the highest one on a tie.

    Parameters
    ----------
    log_weights : ndarray of shape (N,)
    scale : WeightScale
    anchored : bool, default=False
        Whether the largest weight must be 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip.method.scales import WeightScale
    >>> round_to_scale(np.log([0.7, 0.4, 0.1]), WeightScale.of(30)).indices
    array([28, 16,  4])
    """
    ratios = log_weights - log_weights.max()
    levels = np.log(scale.levels)
    borders = (levels[:-1] + levels[1:]) / 2
    tops = levels[-1:] if anchored else levels[::-1]
    candidates = np.searchsorted(borders, tops[:, None] + ratios)
    error = levels[candidates] - ratios
    error -= error.mean(axis=1, keepdims=True)
    loss = (error**2).sum(axis=1)
    best = np.flatnonzero(np.isclose(loss, loss.min(), atol=1e-12))[0]
    indices = np.asarray(candidates[best] + 1, np.int64)
    return Rounded(scale.multipliers(indices), indices)


def lower(rounded: Rounded, absent: Sequence[int], scale: WeightScale) -> Rounded:
    """Return the weights with the lowest weight of the scale for absent classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip.method.scales import WeightScale
    >>> scale = WeightScale.of(30)
    >>> lower(round_to_scale(np.zeros(3), scale), [1], scale).indices
    array([30,  1, 30])
    """
    if not len(absent):
        return rounded
    indices = rounded.indices.copy()
    indices[list(absent)] = 1
    return Rounded(scale.multipliers(indices), indices)
