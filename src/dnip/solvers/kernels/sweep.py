"""The least cost of the contests of two classes, over the ratio of their weights.

The contests of a pair are sorted by the ratio at which they flip, so that one sweep gives the cost
at every ratio.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.boxes import (
    KINDS,
    SAME,
    TRUE_A,
    TRUE_A_CROWDED,
    TRUE_B,
    TRUE_B_CROWDED,
    Box,
    Contests,
    Scale,
)
from dnip.solvers.kernels.jit import inner

if TYPE_CHECKING:
    from dnip.base.typing import Floats
    from dnip.solvers.kernels.values import Memo, Terms


class Relaxation(NamedTuple):
    """What bounds are made from, the same for all boxes of a search."""

    terms: Terms
    memo: Memo
    scale: Scale
    contests: Contests
    relaxed: Relaxed
    dearest: float  # no price of a missed floor goes above this
    n_steps: int  # of the multipliers in a box


class Relaxed(NamedTuple):
    """The linear function with the best bound so far, contest by contest."""

    reward: Floats  # (N,) what a right prediction of each class costs
    penalty: Floats  # (N,) what a wrong prediction as each class costs
    least: Floats  # (N²,) minimum of each pair of `Contests.pair`
    value: Floats  # (R,) cost of a pair's contests while its ratio is at each threshold
    # the same of the multipliers being tried, and the counts at the minima
    new_least: Floats
    new_value: Floats
    correct: Floats  # (N,)
    wrong: Floats  # (N,)
    new_v: Floats  # (N,)
    new_price: Floats  # (N + 1,)
    loss: Floats  # (R,) the least that a wrong prediction of each crowd costs
    change: Floats  # (R,) what flipping each contest adds to the cost


def new_relaxed(n_rows: int, n_classes: int) -> Relaxed:
    """Make room for the relaxation of any box."""
    n_cells = n_classes**2
    return Relaxed(
        reward=np.empty(n_classes),
        penalty=np.empty(n_classes),
        least=np.empty(n_cells),
        value=np.empty(n_rows),
        new_least=np.empty(n_cells),
        new_value=np.empty(n_rows),
        correct=np.empty(n_classes),
        wrong=np.empty(n_classes),
        new_v=np.empty(n_classes),
        new_price=np.empty(n_classes + 1),
        loss=np.empty(n_rows),
        change=np.empty(n_rows),
    )


@inner
def price_crowds(relaxation: Relaxation) -> float:
    """Price a wrong prediction of every crowd; return the cost of those that can only be wrong."""
    contests, relaxed, costs = relaxation.contests, relaxation.relaxed, relaxation.terms.costs
    cost = 0.0
    for x in range(contests.n_crowds[0]):
        least = np.inf
        for e in range(contests.crowd_start[x], contests.crowd_start[x + 1]):
            loss = relaxed.penalty[contests.crowd_class[e]]
            if len(costs) > 0:
                cell = costs[contests.crowd_label[x], contests.crowd_class[e]]
                loss += cell / relaxation.memo.total
            least = min(least, loss)
        relaxed.loss[x] = least
        cost += contests.crowd_stray[x] * least
    return cost


@inner
def sweep(q: int, relaxation: Relaxation, box: Box) -> float:
    """Minimise the cost of a pair's contests over the ratio of its weights; count there."""
    scale, contests, relaxed = relaxation.scale, relaxation.contests, relaxation.relaxed
    n_classes = len(box.low)
    a, b = contests.pair[q] // n_classes, contests.pair[q] % n_classes
    lowest = scale.log_weight[box.low[a]] - scale.log_weight[box.high[b]] - SAME
    highest = scale.log_weight[box.high[a]] - scale.log_weight[box.low[b]] + SAME
    cost = _price(q, a, b, lowest, relaxation)
    last = contests.start[q + 1]
    least = np.inf
    turn = lowest  # contests with a lower threshold go to a
    x = contests.start[q]
    while x < last:
        threshold = contests.threshold[x]
        if threshold < lowest or threshold > highest:
            relaxed.new_value[x] = np.inf
            x += 1
            continue
        # contests that flip together may each go either way
        low = flipped = cost
        end = x
        while end < last and contests.threshold[end] - threshold < SAME:
            low += min(relaxed.change[end], 0.0)
            flipped += relaxed.change[end]
            end += 1
        for e in range(x, end):
            relaxed.new_value[e] = low
        if low < least:
            least = low
            turn = threshold
        cost = flipped
        x = end
    least = min(least, cost)  # also where all thresholds are outside the box
    relaxed.new_least[q] = least
    _count(q, a, b, turn, contests, relaxed)
    return least


@inner
def _price(q: int, a: int, b: int, lowest: float, relaxation: Relaxation) -> float:
    """Price every contest of a pair; return the cost of all where the ratio is lowest."""
    contests, relaxed = relaxation.contests, relaxation.relaxed
    costs, total = relaxation.terms.costs, relaxation.memo.total
    reward, penalty = relaxed.reward, relaxed.penalty
    cost = 0.0
    for x in range(contests.start[q], contests.start[q + 1]):
        kind = contests.kind[x] % KINDS
        to_a = reward[a] if kind in (TRUE_A, TRUE_A_CROWDED) else penalty[a]
        to_b = reward[b] if kind in (TRUE_B, TRUE_B_CROWDED) else penalty[b]
        if len(costs) > 0:
            true = contests.kind[x] // KINDS
            to_a += costs[true, a] / total
            to_b += costs[true, b] / total
        if kind == TRUE_A_CROWDED:
            to_b = relaxed.loss[contests.crowd[x]]
            to_a = min(to_a, to_b)
        elif kind == TRUE_B_CROWDED:
            to_a = relaxed.loss[contests.crowd[x]]
            to_b = min(to_b, to_a)
        relaxed.change[x] = contests.counts[x] * (to_a - to_b)
        cost += contests.counts[x] * (to_a if contests.threshold[x] < lowest else to_b)
    return cost


@inner
def _count(q: int, a: int, b: int, turn: float, contests: Contests, relaxed: Relaxed) -> None:
    """Count a pair's right and wrong predictions where the ratio of its weights is at `turn`."""
    for x in range(contests.start[q], contests.start[q + 1]):
        kind, n = contests.kind[x] % KINDS, contests.counts[x]
        goes_a = contests.threshold[x] < turn + SAME
        if contests.threshold[x] >= turn:
            goes_a &= relaxed.change[x] < 0
        if goes_a and kind in (TRUE_A, TRUE_A_CROWDED):
            relaxed.correct[a] += n
        elif not goes_a and kind in (TRUE_B, TRUE_B_CROWDED):
            relaxed.correct[b] += n
        else:
            relaxed.wrong[a if goes_a else b] += n
