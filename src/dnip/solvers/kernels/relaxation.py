"""A lower bound of the objective over a box, by Lagrangian relaxation.

Inside a box, Z is at least a linear function of the confusion counts, whatever multipliers it is
made with:

- the error is linear as it is;
- COBias (equation 1) is the largest Σ_i v_i·A_i over the v of a permutohedron, whose corners are
  β/pairs times the permutations of (n-1, n-3, ..., 1-n): any v in it gives a bound;
- -PMI_j is log(1 + w/(c + μ)) and constants, for c right and w wrong predictions of class j: convex
  in c and concave in w, so a plane that lies below it at the least and at the most w is below it
  everywhere;
- a mean cost is linear as it is;
- where correct counts must reach floors, points that miss none have floor - count ≤ 0, so that any
  prices at least 0 on what is missing keep the bound below their Z.

A linear function of counts is a sum over rows, and each open row is a contest of two classes that
depends on the ratio of their weights alone. Its minimum over the box is at least the sum, over
pairs of classes, of the minima over their ratio, each found in one sweep over sorted thresholds.
The bound is then raised by subgradient steps on v, and by moving the planes to the counts of those
minima, and by raising the price of floors that are missed there.

With prices of at most 1, and nothing but them, the same bounds the least shortfall of a box.
"""

from __future__ import annotations

import math
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
from dnip.solvers.kernels.jit import inner, jit
from dnip.solvers.kernels.values import cost_of

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers
    from dnip.solvers.kernels.values import Floors, Memo, Terms


class Multipliers(NamedTuple):
    """What the linear function below Z is made with; passed on from a box to its parts."""

    v: Floats  # (N,) of COBias
    correct: Floats  # (N,) counts at which the planes below -PMI touch it
    wrong: Floats  # (N,)
    price: Floats  # (N + 1,) of missing the floor of each class, and of all together, in rates


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


@jit
def raise_bound(
    terms: Terms,
    memo: Memo,
    scale: Scale,
    box: Box,
    confusion: Confusion,
    contests: Contests,
    multipliers: Multipliers,
    relaxed: Relaxed,
    goal: float,
    n_steps: int,
    dearest: float,
) -> float:
    """Bound Z over a box from below; improve the multipliers until the bound reaches `goal`.

    Points that miss floors are left out of it. `confusion` counts the rows that the box settles, no
    price goes above `dearest`.
    """
    n_classes = len(box.low)
    best = -np.inf
    stride = 1.0
    v = relaxed.new_v
    for n in range(n_classes):
        v[n] = multipliers.v[n]
    has_floors = len(terms.floors.correct) > 0
    price = relaxed.new_price
    for n in range(n_classes + 1):
        price[n] = min(multipliers.price[n], dearest)
    single = terms.single * _least_single(confusion, contests, memo) if terms.single > 0 else 0.0
    for _ in range(n_steps):
        bound = single + _relax(
            terms, memo, scale, box, confusion, contests, multipliers, relaxed, v
        )
        if bound > best:
            best = bound
            _keep(contests, multipliers, relaxed)
        else:
            stride *= _SHRINK
        if best >= goal:
            break
        if terms.cobias > 0 or has_floors:
            _step(v, terms, memo, relaxed, stride * (goal - bound), dearest)
        if terms.tau > 0:
            for n in range(n_classes):
                multipliers.correct[n] += _PULL * (relaxed.correct[n] - multipliers.correct[n])
                multipliers.wrong[n] += _PULL * (relaxed.wrong[n] - multipliers.wrong[n])
    return best


# How far the planes move toward the counts of the last minima, and how much shorter the steps of v
# become when the bound falls.
_PULL, _SHRINK = 0.4, 0.7


@inner
def _keep(contests: Contests, multipliers: Multipliers, relaxed: Relaxed) -> None:
    """Keep what the best bound so far was found with, and what it came to contest by contest."""
    for n in range(len(multipliers.v)):
        multipliers.v[n] = relaxed.new_v[n]
    for n in range(len(multipliers.price)):
        multipliers.price[n] = relaxed.new_price[n]
    for q in range(contests.n_pairs[0]):
        relaxed.least[q] = relaxed.new_least[q]
    for x in range(contests.start[contests.n_pairs[0]]):
        relaxed.value[x] = relaxed.new_value[x]


@inner
def _relax(
    terms: Terms,
    memo: Memo,
    scale: Scale,
    box: Box,
    confusion: Confusion,
    contests: Contests,
    multipliers: Multipliers,
    relaxed: Relaxed,
    v: Floats,
) -> float:
    """Minimise the linear function of the given multipliers over the box, pair by pair."""
    n_classes = len(box.low)
    reward, penalty = relaxed.reward, relaxed.penalty
    costs, floors, price = terms.costs, terms.floors, relaxed.new_price
    bound = terms.error
    if len(costs) > 0:
        bound += cost_of(confusion, costs) / memo.total
    for n in range(n_classes):
        right = confusion[n, n]
        reward[n] = -terms.error / memo.total
        penalty[n] = 0.0
        if terms.cobias > 0 and memo.true[n] > 0:
            reward[n] += v[n] / memo.true[n]
        if len(floors.correct) > 0:
            reward[n] -= price[n_classes] / memo.total
            if memo.true[n] > 0:
                reward[n] -= price[n] / memo.true[n]
                bound += price[n] * (floors.correct[n] / memo.true[n])
        if terms.tau > 0:
            wrong = 0
            for i in range(n_classes):
                if i != n:
                    wrong += confusion[i, n]
            most_right, most_wrong = contests.most_correct[n], contests.most_wrong[n]
            slope = _slope(
                min(max(multipliers.correct[n], right), most_right) + terms.smoothing,
                min(max(multipliers.wrong[n], wrong), most_wrong),
            )
            lower = _below(slope, wrong, right, most_right, terms.smoothing)
            if most_wrong > wrong:
                upper = _below(slope, most_wrong, right, most_right, terms.smoothing)
                penalty[n] = terms.tau * (upper - lower) / (most_wrong - wrong)
            reward[n] += terms.tau * slope
            bound += terms.tau * (lower - memo.pmi_constant[n])
            relaxed.wrong[n] = wrong
        relaxed.correct[n] = right
        bound += reward[n] * right
    if len(floors.correct) > 0:
        bound += price[n_classes] * (floors.total / memo.total)
    bound += _price_crowds(contests, relaxed, costs, memo.total)
    for q in range(contests.n_pairs[0]):
        bound += _sweep(q, scale, box, contests, relaxed, costs, memo.total)
    return bound


@inner
def _price_crowds(contests: Contests, relaxed: Relaxed, costs: Floats, total: float) -> float:
    """Price a wrong prediction of every crowd; return the cost of those that can only be wrong."""
    cost = 0.0
    for x in range(contests.n_crowds[0]):
        least = np.inf
        for e in range(contests.crowd_start[x], contests.crowd_start[x + 1]):
            loss = relaxed.penalty[contests.crowd_class[e]]
            if len(costs) > 0:
                loss += costs[contests.crowd_label[x], contests.crowd_class[e]] / total
            least = min(least, loss)
        relaxed.loss[x] = least
        cost += contests.crowd_stray[x] * least
    return cost


@inner
def _slope(correct: float, wrong: float) -> float:
    """Return the derivative of log(1 + wrong/correct) by `correct`."""
    return -wrong / (correct * (correct + wrong))


@inner
def _below(slope: float, wrong: float, least: float, most: float, smoothing: float) -> float:
    """Minimum of log(1 + wrong/(c + μ)) - slope·c over c from `least` to `most`."""
    c = most
    if wrong > 0 and slope < 0:
        # where the derivative is `slope`: (c + μ)² + wrong·(c + μ) + wrong/slope = 0
        c = 0.5 * (math.sqrt(wrong * wrong - 4 * wrong / slope) - wrong) - smoothing
    elif slope < 0:
        c = least
    c = min(max(c, least), most)
    return math.log((c + wrong + smoothing) / (c + smoothing)) - slope * c


@inner
def _sweep(
    q: int,
    scale: Scale,
    box: Box,
    contests: Contests,
    relaxed: Relaxed,
    costs: Floats,
    total: float,
) -> float:
    """Minimise the cost of a pair's contests over the ratio of its weights; count there."""
    n_classes = len(box.low)
    a, b = contests.pair[q] // n_classes, contests.pair[q] % n_classes
    lowest = scale.log_weight[box.low[a]] - scale.log_weight[box.high[b]] - SAME
    highest = scale.log_weight[box.high[a]] - scale.log_weight[box.low[b]] + SAME
    cost = _price(q, a, b, lowest, contests, relaxed, costs, total)
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
def _price(
    q: int,
    a: int,
    b: int,
    lowest: float,
    contests: Contests,
    relaxed: Relaxed,
    costs: Floats,
    total: float,
) -> float:
    """Price every contest of a pair; return the cost of all where the ratio is lowest."""
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
        relaxed.change[x] = contests.mass[x] * (to_a - to_b)
        cost += contests.mass[x] * (to_a if contests.threshold[x] < lowest else to_b)
    return cost


@inner
def _count(q: int, a: int, b: int, turn: float, contests: Contests, relaxed: Relaxed) -> None:
    """Count a pair's right and wrong predictions where the ratio of its weights is at `turn`."""
    for x in range(contests.start[q], contests.start[q + 1]):
        kind, mass = contests.kind[x] % KINDS, contests.mass[x]
        goes_a = contests.threshold[x] < turn + SAME
        if contests.threshold[x] >= turn:
            goes_a &= relaxed.change[x] < 0
        if goes_a and kind in (TRUE_A, TRUE_A_CROWDED):
            relaxed.correct[a] += mass
        elif not goes_a and kind in (TRUE_B, TRUE_B_CROWDED):
            relaxed.correct[b] += mass
        else:
            relaxed.wrong[a if goes_a else b] += mass


@inner
def _step(
    v: Floats, terms: Terms, memo: Memo, relaxed: Relaxed, deficit: float, dearest: float
) -> None:
    """Take Polyak's subgradient step: as far as closes the deficit of a linear bound."""
    present = memo.ranking
    n = len(present)
    floors, price = terms.floors, relaxed.new_price
    square = 1e-12
    mean = 0.0
    if terms.cobias > 0:
        for x in range(n):
            mean += relaxed.correct[present[x]] / memo.true[present[x]] / n
        for x in range(n):
            square += (relaxed.correct[present[x]] / memo.true[present[x]] - mean) ** 2
    if len(floors.correct) > 0:
        for c in range(len(price)):
            missing = _missing(c, floors, memo, relaxed)
            if missing > 0 or price[c] > 0:
                square += missing**2
        for c in range(len(price)):
            raised = price[c] + deficit / square * _missing(c, floors, memo, relaxed)
            price[c] = min(max(raised, 0.0), dearest)
    if terms.cobias > 0:
        for x in range(n):
            c = present[x]
            v[c] += deficit / square * (relaxed.correct[c] / memo.true[c] - mean)
        _project(v, present, terms.cobias / (n * (n - 1) / 2))


@inner
def _missing(c: int, floors: Floors, memo: Memo, relaxed: Relaxed) -> float:
    """By what rate the counts of a relaxation miss the floor of a class, or that of all."""
    if c == len(memo.true):
        return float(floors.total - relaxed.correct.sum()) / memo.total
    true = float(memo.true[c])
    return (floors.correct[c] - relaxed.correct[c]) / true if true > 0 else 0.0


@inner
def _project(v: Floats, present: Integers, radius: float) -> None:
    """Project onto the permutohedron: isotonic regression of the sorted v minus its corner."""
    n = len(present)
    order = np.empty(n, np.int64)  # classes, v descending
    for x in range(n):
        at = x
        while at > 0 and v[order[at - 1]] < v[present[x]]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = present[x]
    total = np.empty(n)
    size = np.empty(n, np.int64)
    n_blocks = 0
    for x in range(n):
        total[n_blocks] = v[order[x]] - radius * (n - 1 - 2 * x)
        size[n_blocks] = 1
        n_blocks += 1
        while (
            n_blocks > 1
            and total[n_blocks - 2] * size[n_blocks - 1] <= total[n_blocks - 1] * size[n_blocks - 2]
        ):
            n_blocks -= 1
            total[n_blocks - 1] += total[n_blocks]
            size[n_blocks - 1] += size[n_blocks]
    x = 0
    for block in range(n_blocks):
        for _ in range(size[block]):
            v[order[x]] -= total[block] / size[block]
            x += 1


@inner
def _least_single(confusion: Confusion, contests: Contests, memo: Memo) -> float:
    """COBias_single is at least this: no class is nearer to an odd one than their intervals are."""
    present = memo.ranking
    n = len(present)
    if n < len(memo.true):
        return 0.0  # an odd class without examples takes its class out of the mean
    total = 0.0
    for i in range(n):
        if contests.most_correct[i] == memo.true[i]:
            continue  # it may have no error, and so no odd class
        nearest = np.inf
        for j in range(n):
            if j != i:
                above = confusion[i, i] / memo.true[i] - contests.most_correct[j] / memo.true[j]
                below = confusion[j, j] / memo.true[j] - contests.most_correct[i] / memo.true[i]
                nearest = min(nearest, max(above, below, 0.0))
        total += nearest
    return total / n
