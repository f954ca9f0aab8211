"""The weights that a class may have: K even steps, or K geometric steps."""

from __future__ import annotations

import decimal
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats, WeightIndices
from dnip.base.validation import check_scale, check_weight_indices, check_weights

#: What `WeightScale.of` reads.
SCALE_NAME = re.compile(r"(log:)?(-?[0-9]{1,9})")

#: The default: ratios of weights up to 1,000, all in steps of 0.7 %. A linear scale is so fine only
#: at its top; where weights are small, it is coarse.
DEFAULT_SCALE = "log:1000"

# Digits of the computation, before weights are rounded to the nearest float64.
_DIGITS = 50


class Spacing(StrEnum):
    """How the weights of a scale are spaced."""

    LINEAR = "linear"
    LOG = "log"
    #: Free weights, as coefficients for another class mix have them: on no scale.
    CONTINUOUS = "continuous"


@dataclass(frozen=True)
class WeightScale:
    """The weights that a class may have, ascending; weight index k means the k-th of them.

    - Linear, as in the paper (section 4.1): ω = k/K.
    - Log: K geometric steps from 1/K to 1, ``K ** ((k - K) / (K - 1))``. Small weights are resolved
      as finely as large ones. The span is that of the linear scale, so that a class can win the
      same rows on both.

    Predictions depend on ratios of weights alone. A linear scale has about 0.6·K² ratios, a log
    scale 2K - 1.

    Attributes
    ----------
    spacing : Spacing
    size : int
        K.

    Examples
    --------
    >>> [str(WeightScale.of(scale)) for scale in (30, "30", "log:30")]
    ['30', '30', 'log:30']
    >>> WeightScale.of(4).levels, WeightScale.of("log:4").levels.round(3)
    (array([1., 2., 3., 4.]), array([0.25 , 0.397, 0.63 , 1.   ]))
    """

    spacing: Spacing
    size: int

    @classmethod
    def of(cls, scale: int | str | WeightScale) -> WeightScale:
        """Return the scale with a name: K or ``"log:K"``.

        Raises
        ------
        InvalidInputError
            For another name, or K outside 1..10,000.
        """
        if isinstance(scale, WeightScale):
            return scale
        if not isinstance(scale, str):
            return cls(Spacing.LINEAR, check_scale(scale))
        if scale == Spacing.CONTINUOUS:
            raise InvalidInputError(
                "continuous weights are no longer searched",
                hint=f"Take {DEFAULT_SCALE}, the default: all ratios up to 1,000 in steps of 0.7 %",
            )
        match = SCALE_NAME.fullmatch(scale)
        if match is None:
            raise InvalidInputError(
                f"scale is {scale!r}",
                hint="Give K for the weights 1/K, 2/K, …, 1; or log:K for K geometric steps from "
                "1/K to 1",
            )
        return cls(Spacing.LOG if match[1] else Spacing.LINEAR, check_scale(int(match[2])))

    def __str__(self) -> str:
        if self.spacing is Spacing.LINEAR:
            return str(self.size)
        return f"{self.spacing}:{self.size}" if self.size else self.spacing.value

    @cached_property
    def levels(self) -> Floats:
        """What the K weights multiply probabilities by, shape (K,).

        On the linear scale this is k itself: the factor 1/K cancels, and products with whole
        numbers tie exactly where they should. On the log scale it is the weight, correctly rounded,
        so that every machine has the same number.
        """
        if self.spacing is Spacing.LINEAR:
            return np.arange(1.0, self.size + 1)
        return np.array(_geometric(self.size))

    def multipliers(self, indices: WeightIndices) -> Floats:
        """Return what probabilities are multiplied by at weight indices of shape (N,)."""
        return np.asarray(self.levels[indices - 1])

    def weights(self, indices: WeightIndices) -> Floats:
        """Return ω at weight indices of shape (N,).

        Examples
        --------
        >>> WeightScale.of(30).weights(np.array([15, 30]))
        array([0.5, 1. ])
        """
        weights = self.multipliers(indices)
        return weights / self.size if self.spacing is Spacing.LINEAR else weights

    def middle(self, indices: WeightIndices | Floats) -> float:
        """Return the index whose weight is nearest to the geometric mean of others, shape (N,)."""
        mean = np.exp(np.log(indices).mean()) if self.spacing is Spacing.LINEAR else indices.mean()
        return float(np.rint(mean))


_FREE = WeightScale(Spacing.CONTINUOUS, 0)


def check_scaled(
    scale: int | str | WeightScale,
    weight_indices: ArrayLike,
    weights: ArrayLike | None,
    n_classes: int,
) -> tuple[WeightScale, WeightIndices, Floats]:
    """Return a scale, the indices on it, and what probabilities are multiplied by, all checked.

    Free weights have no indices; on a scale the weights follow from the indices.

    Examples
    --------
    >>> check_scaled(4, [4, 1], None, 2)[1:], check_scaled("continuous", [], [1, 0.3], 2)[1:]
    ((array([4, 1]), array([4., 1.])), (array([], dtype=int64), array([1. , 0.3])))
    """
    if scale in (Spacing.CONTINUOUS, _FREE):
        if np.size(weight_indices):
            raise InvalidInputError(
                "free weights have no weight_indices", hint="Give weights alone"
            )
        return _FREE, np.empty(0, np.int64), check_weights(weights, n_classes=n_classes)
    k = WeightScale.of(scale)
    if weights is not None:
        raise InvalidInputError(
            f"weights on the scale {k} follow from weight_indices",
            hint="Leave weights out, or give the scale as continuous",
        )
    indices = check_weight_indices(weight_indices, n_classes=n_classes, scale=k.size)
    return k, indices, k.multipliers(indices)


@lru_cache(maxsize=8)
def _geometric(size: int) -> tuple[float, ...]:
    with decimal.localcontext() as context:
        context.prec = _DIGITS
        weights = [decimal.Decimal(1)]
        if size > 1:
            step = (decimal.Decimal(size).ln() / (size - 1)).exp()
            for _ in range(size - 1):
                weights.append(weights[-1] / step)
    return tuple(float(weight) for weight in reversed(weights))
