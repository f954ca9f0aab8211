"""Steps of the multipliers that raise a Lagrangian bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.jit import inner

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Integers
    from dnip.solvers.kernels.sweep import Relaxation, Relaxed
    from dnip.solvers.kernels.values import Floors, Memo


class Multipliers(NamedTuple):
    """What the linear function below Z is made with; passed on from a box to its parts."""

    v: Floats  # (N,) of COBias
    correct: Floats  # (N,) counts at which the planes below -PMI touch it
    wrong: Floats  # (N,)
    price: Floats  # (N + 1,) of missing the floor of each class, and of all together, in rates


@inner
def take_step(relaxation: Relaxation, deficit: float) -> None:
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
