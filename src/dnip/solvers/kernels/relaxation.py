"""A lower bound of the objective over a box, by Lagrangian relaxation.

Inside a box, Z (equation 2) is at least a linear function of the confusion counts. Each term has a
linear bound, and the multipliers choose among them:

- the error is linear, and so is a mean cost;
- COBias (equation 1) is the largest Σ_i v_i·A_i over all v of a permutohedron. Its corners are
  β/pairs times the permutations of (n-1, n-3, ..., 1-n). Any v in it gives a bound;
- -PMI_j is log(1 + w/(c + μ)) plus constants, for c right and w wrong predictions of class j. It is
  convex in c and concave in w, so a plane that is below it at the least and at the most w is below
  it everywhere;
- a point that misses no floor has floor - count ≤ 0 for each of them. Any price of at least 0 on
  what is missing keeps the bound below the Z of such points.

A linear function of counts is a sum over rows. An open row is a contest of two classes and depends
on the ratio of their weights alone. So the minimum over the box is at least the sum, over pairs of
classes, of the minima over their ratio; `sweep` finds each of them. Three things then raise the
bound: subgradient steps on v, higher prices of the floors that are missed, and planes that touch at
the counts of the minima.

With prices of at most 1 and nothing else, the same function bounds the least shortfall of a box.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.jit import inner, jit
from dnip.solvers.kernels.sweep import Relaxation, Relaxed, price_crowds, sweep
from dnip.solvers.kernels.values import cost_of

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers
    from dnip.solvers.kernels.boxes import Box, Contests
    from dnip.solvers.kernels.values import Floors, Memo

# How far the planes move toward the counts of the last minima, and how much shorter the steps of v
# become when the bound falls.
_PULL, _SHRINK = 0.4, 0.7


class Multipliers(NamedTuple):
    """What the linear function below Z is made with; passed on from a box to its parts."""

    v: Floats  # (N,) of COBias
    correct: Floats  # (N,) counts at which the planes below -PMI touch it
    wrong: Floats  # (N,)
    price: Floats  # (N + 1,) of missing the floor of each class, and of all together, in rates


@jit
def raise_bound(
    relaxation: Relaxation, box: Box, confusion: Confusion, multipliers: Multipliers, goal: float
) -> float:
    """Bound Z over a box from below; improve the multipliers until the bound reaches `goal`.

    Points that miss floors are left out of it. `confusion` counts the rows that the box settles.
    """
    terms, relaxed = relaxation.terms, relaxation.relaxed
    best = -np.inf
    stride = 1.0
    v, price = relaxed.new_v, relaxed.new_price
    v[:] = multipliers.v
    for n in range(len(price)):
        price[n] = min(multipliers.price[n], relaxation.dearest)
    has_floors = len(terms.floors.correct) > 0
    single = terms.single * _least_single(relaxation, confusion) if terms.single > 0 else 0.0
    for _ in range(relaxation.n_steps):
        bound = single + _relax(relaxation, box, confusion, multipliers)
        if bound > best:
            best = bound
            _keep(relaxation.contests, multipliers, relaxed)
        else:
            stride *= _SHRINK
        if best >= goal:
            break
        if terms.cobias > 0 or has_floors:
            _take_step(relaxation, stride * (goal - bound))
        if terms.tau > 0:
            for n in range(len(v)):
                multipliers.correct[n] += _PULL * (relaxed.correct[n] - multipliers.correct[n])
                multipliers.wrong[n] += _PULL * (relaxed.wrong[n] - multipliers.wrong[n])
    return best


@inner
def _keep(contests: Contests, multipliers: Multipliers, relaxed: Relaxed) -> None:
    """Keep the multipliers of the best bound so far, and its parts contest by contest."""
    multipliers.v[:] = relaxed.new_v
    multipliers.price[:] = relaxed.new_price
    n_pairs = contests.n_pairs[0]
    relaxed.least[:n_pairs] = relaxed.new_least[:n_pairs]
    n_contests = contests.start[n_pairs]
    relaxed.value[:n_contests] = relaxed.new_value[:n_contests]


@inner
def _relax(
    relaxation: Relaxation, box: Box, confusion: Confusion, multipliers: Multipliers
) -> float:
    """Minimise the linear function of the new multipliers over the box, pair by pair."""
    terms, memo = relaxation.terms, relaxation.memo
    contests, relaxed = relaxation.contests, relaxation.relaxed
    n_classes = len(box.low)
    v, reward, penalty = relaxed.new_v, relaxed.reward, relaxed.penalty
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
    bound += price_crowds(relaxation)
    for q in range(contests.n_pairs[0]):
        bound += sweep(q, relaxation, box)
    return bound


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
def _least_single(relaxation: Relaxation, confusion: Confusion) -> float:
    """COBias_single is at least this: no class is nearer to an odd one than their intervals are."""
    contests, memo = relaxation.contests, relaxation.memo
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


@inner
def _take_step(relaxation: Relaxation, deficit: float) -> None:
    """Take Polyak's subgradient step: as far as closes the deficit of a linear bound."""
    terms, memo, relaxed = relaxation.terms, relaxation.memo, relaxation.relaxed
    present = memo.ranking
    n = len(present)
    floors, v, price = terms.floors, relaxed.new_v, relaxed.new_price
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
            price[c] = min(max(raised, 0.0), relaxation.dearest)
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
