"""The weights that a class may have: K even steps, or K geometric steps."""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dnip.base.errors import InvalidInputError, listed, shown
from dnip.base.typing import Floats, Integers, Probabilities, WeightIndices
from dnip.base.validation import LEAST_WEIGHT, check_integer, check_number

#: Largest weight scale K: beyond it neighbouring weights no longer differ in any real decision.
MAX_SCALE = 10_000
#: What `WeightScale.of` reads.
SCALE_NAME = re.compile(r"(log:)?(-?[0-9]{1,9})|span:([0-9]{1,3}(?:\.[0-9]{1,20})?(?:e-[0-9]{2})?)")

# Spans in nats. In a wider one, the product of a small weight and a small probability could vanish;
# in a narrower one, rounding could tell neighbours apart.
_NARROWEST, _WIDEST = 1e-6, 340.0
# The part of the rows whose spread the default scale spans, and the rows that are looked at.
_PART, _ROWS = 0.95, 100_000
# How far the default scale goes, as a part of that spread: beyond its last tie.
_BEYOND = 1.02
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
    - By its span S, in nats: K geometric steps from e^-S to 1.

    Predictions depend on ratios of weights alone. A linear scale has about 0.6·K² ratios, a log
    scale 2K - 1.

    Attributes
    ----------
    spacing : Spacing
    size : int
        K; 0 for free weights.
    span : float or None
        S; None: that of K, which is ln K.

    Examples
    --------
    >>> [str(WeightScale.of(scale)) for scale in (30, "30", "log:30", "span:9.5")]
    ['30', '30', 'log:30', 'span:9.5']
    >>> WeightScale.of(4).levels, WeightScale.of("log:4").levels.round(3)
    (array([1., 2., 3., 4.]), array([0.25 , 0.397, 0.63 , 1.   ]))
    """

    spacing: Spacing
    size: int
    span: float | None = None

    @classmethod
    def of(cls, scale: int | str | WeightScale) -> WeightScale:
        """Return the scale with a name: K, ``"log:K"`` or ``"span:S"``.

        Raises
        ------
        InvalidInputError
            For another name, K outside 1..10,000, or S outside 10⁻⁶..340.
        """
        if isinstance(scale, WeightScale):
            return scale
        if not isinstance(scale, str):
            return cls(Spacing.LINEAR, _check_size(scale))
        match = SCALE_NAME.fullmatch(scale)
        if match is None:
            raise InvalidInputError(
                f"scale is {scale!r}",
                hint="Give K for the weights 1/K, 2/K, …, 1; log:K for K geometric steps from 1/K "
                f"to 1; or span:S for {MAX_SCALE:,} geometric steps from e^-S to 1",
            )
        if match[3]:
            return cls.spanning(float(match[3]))
        return cls(Spacing.LOG if match[1] else Spacing.LINEAR, _check_size(int(match[2])))

    @classmethod
    def spanning(cls, span: float, size: int = MAX_SCALE) -> WeightScale:
        """Return the scale of geometric steps from e^-S to 1.

        Examples
        --------
        >>> WeightScale.spanning(60, 3).levels
        array([8.75651076e-27, 9.35762297e-14, 1.00000000e+00])
        """
        nats = check_number("span", span, at_least=_NARROWEST, at_most=_WIDEST)
        return cls(Spacing.LOG, _check_size(size), float(nats))

    @classmethod
    def over(cls, probabilities: Probabilities, weight: Floats | Integers) -> WeightScale:
        """Return the default scale of rows: 10,000 geometric steps over their spread, and more.

        The ties of rounded probabilities lie exactly at the end of their spread.
        """
        span = _BEYOND * _spread_of(probabilities, weight)
        return cls.spanning(min(max(float(f"{span:.10g}"), _NARROWEST), _WIDEST))

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> WeightScale:
        """Return the scale that a file holds."""
        given = content.get("spacing", Spacing.LINEAR.value)
        if given not in list(Spacing):
            raise ValueError(f"spacing is {shown(given)}, not {listed(list(Spacing))}")
        spacing = Spacing(given)
        if spacing is Spacing.CONTINUOUS:
            return FREE
        if spacing is Spacing.LOG and "span" in content:
            return cls.spanning(content["span"], content["scale"])
        return cls(spacing, _check_size(content["scale"]))

    def to_dict(self) -> dict[str, Any]:
        """Return it as files hold it.

        Examples
        --------
        >>> WeightScale.of("span:9.5").to_dict()
        {'scale': 10000, 'spacing': 'log', 'span': 9.5}
        """
        span = {} if self.span is None else {"span": self.span}
        return {"scale": self.size or None, "spacing": self.spacing.value, **span}

    def __str__(self) -> str:
        if self.span is not None:
            return f"span:{self.span}"
        if self.spacing is Spacing.LINEAR:
            return str(self.size)
        return f"{self.spacing}:{self.size}" if self.size else self.spacing.value

    @property
    def levels(self) -> Floats:
        """What the K weights multiply probabilities by, shape (K,).

        On the linear scale this is k itself: the factor 1/K cancels, and products with whole
        numbers tie exactly where they should. On the log scale it is the weight, correctly rounded,
        so that every machine has the same number.
        """
        if self.spacing is Spacing.LINEAR:
            return np.arange(1.0, self.size + 1)
        return _geometric(self.size, self.span)

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


#: The scale of free weights.
FREE = WeightScale(Spacing.CONTINUOUS, 0)


def check_scaled(
    scale: int | str | WeightScale,
    weight_indices: ArrayLike,
    weights: ArrayLike | None,
    n_classes: int,
) -> tuple[WeightScale, WeightIndices, Floats]:
    """Return a scale, the indices on it, and ω, all checked.

    Free weights have no indices; on a scale the weights follow from the indices.

    Examples
    --------
    >>> check_scaled(4, [4, 1], None, 2)[1:], check_scaled("continuous", [], [1, 0.3], 2)[1:]
    ((array([4, 1]), array([1.  , 0.25])), (array([], dtype=int64), array([1. , 0.3])))
    """
    if scale in (Spacing.CONTINUOUS, FREE):
        if np.size(weight_indices):
            raise InvalidInputError(
                "free weights have no weight_indices", hint="Give weights alone"
            )
        free = _one_each("weights", weights, n_classes, "iuf", (LEAST_WEIGHT, 1))
        return FREE, np.empty(0, np.int64), free.astype(np.float64)
    k = WeightScale.of(scale)
    indices = _one_each("weight_indices", weight_indices, n_classes, "iu", (1, k.size))
    indices = indices.astype(np.int64)
    true = k.weights(indices)
    if weights is not None and not _are_close(weights, true):
        raise InvalidInputError(
            f"weights do not equal those of weight_indices on the scale {k}",
            hint="Leave weights out, or give the scale as continuous",
        )
    return k, indices, true


def _check_size(scale: int) -> int:
    return check_integer("scale", scale, at_least=1, at_most=MAX_SCALE)


def _one_each(
    name: str, values: ArrayLike | None, n_classes: int, kinds: str, ends: tuple[float, float]
) -> NDArray[Any]:
    """Return an array of one number for each class, between two ends."""
    raw, span = np.asarray(values), f"{ends[0]:g}..{ends[1]:g}"
    if isinstance(values, Sequence) and any(isinstance(value, bool) for value in values):
        raw = np.asarray(values, np.bool_)  # NumPy takes True for 1 next to numbers
    if raw.shape != (n_classes,) or raw.dtype.kind not in kinds:
        whole = "" if "f" in kinds else "whole "
        raise InvalidInputError(
            f"{name} must be {n_classes} {whole}numbers, one per class; got {raw.dtype} of shape "
            f"{raw.shape}",
            hint=f"Give {n_classes} of {span}",
        )
    sound = (raw >= ends[0]) & (raw <= ends[1])
    if not sound.all():
        bad = int(np.argmin(sound))
        raise InvalidInputError(
            f"{name}[{bad}] is {raw[bad]}, outside {span}",
            hint="No class can be switched off: the largest number stands for weight 1",
        )
    return raw


def _are_close(stated: ArrayLike, weights: Floats) -> bool:
    """Whether stated weights are these, of shape (N,)."""
    values = np.asarray(stated)
    numbers = values.shape == weights.shape and values.dtype.kind in "iuf"
    return numbers and np.allclose(values, weights, rtol=1e-8, atol=0)


def _spread_of(probabilities: Probabilities, weight: Floats | Integers) -> float:
    """Return how far apart the classes are in most rows, in nats.

    It is max - min of ln p over the positive probabilities of a row: the least that 95 % of the
    rows that have several do not exceed, to ten digits. Where that is 0, it is the largest of them;
    where no two differ, it is 1. Of many rows, 100,000 at even distances are looked at. The spread
    of p^k is k times that of p.

    Examples
    --------
    >>> _spread_of(np.array([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]), np.ones(3))
    0.6931471806
    >>> _spread_of(np.array([[0.5, 0.5], [1.0, 0.0]]), np.ones(2))
    1.0
    """
    step = len(probabilities) // _ROWS + 1
    p, counts = probabilities[::step].astype(np.float64), weight[::step]
    several = (np.count_nonzero(p, axis=1) > 1) & (counts > 0)
    p, counts = p[several], counts[several]
    if not len(p):
        return 1.0
    apart = np.log(p.max(axis=1)) - np.log(np.where(p > 0, p, np.inf).min(axis=1))
    order = np.argsort(apart)
    total = np.cumsum(counts[order])
    spread = apart[order[np.searchsorted(total, _PART * total[-1])]] or apart.max()
    return float(f"{spread:.10g}") or 1.0


@lru_cache(maxsize=8)
def _geometric(size: int, span: float | None) -> Floats:
    """Return geometric steps from e^-span, or 1/K, to 1."""
    with decimal.localcontext() as context:
        context.prec = _DIGITS
        nats = decimal.Decimal(size).ln() if span is None else decimal.Decimal(span)
        step = (nats / max(size - 1, 1)).exp()
        if span is None:
            levels = _powers_below(step, size)
        else:  # one product of two for each: as good, and much faster
            n = math.isqrt(size - 1) + 1
            levels = np.outer(_powers_below(step**n, n), _powers_below(step, n)).ravel()
    levels = levels[size - 1 :: -1].copy()
    levels.setflags(write=False)
    return levels


def _powers_below(step: decimal.Decimal, n: int) -> Floats:
    """Return n numbers: 1, and each the one before divided by a step."""
    powers = [decimal.Decimal(1)]
    for _ in range(n - 1):
        powers.append(powers[-1] / step)
    return np.array([float(power) for power in powers])
