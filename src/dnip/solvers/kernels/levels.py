"""The weights of a scale by position 1..K, in the form for compiled code."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dnip.base.typing import Floats, ShortIntegers

# Room for rounding: a class that rounding may let win a row is a candidate of that row.
_ROUNDING = 1 + 1e-9
# Weights farther than this from a quotient, as a ratio, win or lose in spite of rounding.
_IN_DOUBT = 1 + 1e-12


class Levels(NamedTuple):
    """The weights that a class may have, ascending; position k stands for the k-th of them."""

    size: int  # K
    weight: Floats  # (K + 2,) at positions 1..K; infinite at K + 1
    span: float  # largest ratio of two weights, with room for rounding
    lowest: Annotated[
        ShortIntegers, "n_buckets"
    ]  # (B,) least position that may win, by bucket; (0,) if linear
    shift: int  # bits of a float64 that do not tell its bucket
    first: int  # the leading bits of the first bucket
    least: float  # quotients below share the first bucket
    most: float  # quotients above share the last bucket


def linear_levels(size: int) -> Levels:
    """Return the levels of the weights 1..K."""
    weight = np.append(np.arange(size + 1.0), np.inf)
    return Levels(size, weight, float(size), np.empty(0, np.uint16), 0, 0, 0.0, 0.0)


def listed_levels(weights: Floats) -> Levels:
    """Return the levels of ascending weights, no two of which are nearly the same."""
    ends = weights[[0, -1]].view(np.int64)
    shift = 52
    while True:
        first, last = (ends >> shift).tolist()
        edges = (np.arange(first, last + 3) << shift).view(np.float64)
        most = float(edges[-2])
        edges[0], edges[-1] = 0.0, np.inf
        lowest = np.searchsorted(weights, edges[:-1] / _IN_DOUBT)
        beyond = np.searchsorted(weights, edges[1:] * _IN_DOUBT, side="right")
        if (beyond - lowest).max() <= 1:
            break
        shift -= 1
    span = float(weights[-1] / weights[0]) * _ROUNDING
    weight = np.concatenate(([0.0], weights, [np.inf]))
    positions = (lowest + 1).astype(np.uint16)
    return Levels(len(weights), weight, span, positions, shift, first, float(weights[0]), most)


def weights_at(levels: Levels, indices: Floats) -> Floats:
    """Return the weights at positions of shape (N,)."""
    return levels.weight[indices.astype(np.int64)]
