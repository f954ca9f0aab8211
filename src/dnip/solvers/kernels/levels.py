"""The weights of a scale by position 1..K, and where one of them first wins a row.

A weight wins if it is above a quotient: the rival's product divided by the class's probability.
The quotient is rounded, so it only says where to look; products decide, under the tie rule of the
prediction itself. On a linear scale the quotient is a position. On any other scale it falls into a
*bucket*, the leading bits of its float64. A bucket is so narrow that only one weight in it is in
doubt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.jit import jit, lean

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Probabilities, ShortIntegers, SmallIntegers

# Room for rounding: a class that rounding may let win a row is a candidate of that row.
_ROUNDING = 1 + 1e-9
# Weights farther than this from a quotient, as a ratio, win or lose in spite of rounding.
_IN_DOUBT = 1 + 1e-12


class Levels(NamedTuple):
    """The weights that a class may have, ascending; position k stands for the k-th of them."""

    size: int  # K
    weight: Floats  # (K + 2,) at positions 1..K; infinite at K + 1
    span: float  # largest ratio of two weights, with room for rounding
    lowest: ShortIntegers  # (B,) least position that may win, by bucket; (0,) if linear
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


@jit
def weights_at(levels: Levels, indices: Floats) -> Floats:
    """Return the weights at positions of shape (N,)."""
    weights = np.empty(len(indices))
    for n in range(len(indices)):
        weights[n] = levels.weight[int(indices[n])]
    return weights


@lean
def _by_quotient(p: float, rival_score: float, ties_win: bool, levels: Levels) -> int:
    """Decide by two products: rounding moves the quotient by less than one position."""
    k = max(np.floor(rival_score / p), 1.0)  # infinite for tiny p: only the result is an integer
    losses = 0.0
    for step in range(2):
        score = (k + step) * p
        wins = (score > rival_score) | (ties_win & (score == rival_score))
        losses += 0.0 if wins else 1.0
    return int(min(k + losses, levels.size + 1.0))


@lean
def _bucket(quotient: float, levels: Levels) -> np.uint64:
    quotient = quotient if quotient > levels.least else levels.least
    quotient = quotient if quotient < levels.most else levels.most
    bits = np.float64(quotient).view(np.uint64)
    return (bits >> np.uint64(levels.shift)) - np.uint64(levels.first)


@lean
def _decide(
    bucket: np.unsignedinteger, p: float, rival_score: float, ties_win: bool, levels: Levels
) -> np.uint32:
    """Decide by one product: a bucket leaves one weight in doubt."""
    k = np.uint32(levels.lowest[bucket])
    score = levels.weight[k] * p  # not a number where p is 0, at K + 1
    if score <= rival_score:
        k += np.uint32((score < rival_score) | (not ties_win))
    return k


@lean
def _by_bucket(p: float, rival_score: float, ties_win: bool, levels: Levels) -> int:
    return int(_decide(_bucket(rival_score / p, levels), p, rival_score, ties_win, levels))


@lean
def first_winning_index(p: float, rival_score: float, ties_win: bool, levels: Levels) -> int:
    """Smallest k in 1..K whose weight times p beats `rival_score`; K + 1 if there is none."""
    if len(levels.lowest) == 0:
        return _by_quotient(p, rival_score, ties_win, levels)
    return _by_bucket(p, rival_score, ties_win, levels)


@lean
def first_winning_indices(
    p: Probabilities,
    rival_score: Floats,
    rival: SmallIntegers | ShortIntegers,
    c: int,
    levels: Levels,
    slot: SmallIntegers | ShortIntegers,
) -> None:
    """Fill `slot` with the first winning index of class `c` in each of many rows."""
    if len(levels.lowest) == 0:
        for i in range(len(slot)):
            slot[i] = _by_quotient(p[i], rival_score[i], c < rival[i], levels)
    else:
        for i in range(len(slot)):  # a loop without look-ups, which compiles to vector code
            slot[i] = _bucket(rival_score[i] / p[i], levels)
        for i in range(len(slot)):
            slot[i] = _decide(slot[i], p[i], rival_score[i], c < rival[i], levels)


@lean
def nearest(weight: float, levels: Levels) -> float:
    """Return the position of the nearest weight: by ratio if the steps of the scale are ratios."""
    if len(levels.lowest) == 0:
        k = np.rint(weight)
    else:
        k = float(_by_bucket(1.0, weight, True, levels))
        below, above = levels.weight[int(k) - 1], levels.weight[int(k)]
        if weight * weight < below * above:
            k -= 1.0
    return float(min(max(k, 1.0), float(levels.size)))
