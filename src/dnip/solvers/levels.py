"""The weights of a scale in the form for compiled code."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dnip.method.scales import Spacing, WeightScale
from dnip.solvers.kernels.levels import linear_levels, listed_levels

if TYPE_CHECKING:
    from dnip.solvers.kernels.levels import Levels


@lru_cache(maxsize=8)
def levels_of(scale: int | str | WeightScale) -> Levels:
    """Return the levels of a linear or geometric scale."""
    scale = WeightScale.of(scale)
    if scale.spacing is Spacing.LINEAR:
        return linear_levels(scale.size)
    return listed_levels(scale.levels)
