"""A lower bound of the objective over a box, by Lagrangian relaxation."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from dnip.base.typing import Booleans, Confusion, Floats, Integers
from dnip.solvers.kernels.boxes import Box, Contests, Scale
from dnip.solvers.kernels.door import kernel
from dnip.solvers.kernels.values import Memo, Terms


class Multipliers(NamedTuple):
    """What the linear function below Z is made with; passed on from a box to its parts."""

    v: Annotated[Floats, "n_classes"]  # (N,) of COBias
    correct: Floats  # (N,) counts at which the planes below -PMI touch it
    wrong: Floats  # (N,)
    price: Floats  # (N + 1,) of missing the floor of each class, and of all together, in rates


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
    value: Floats  # (C,) cost of a pair's contests while its ratio is at each threshold
    # the same of the multipliers being tried, and the counts at the minima
    new_least: Floats
    new_value: Floats
    correct: Floats  # (N,)
    wrong: Floats  # (N,)
    new_v: Floats  # (N,)
    new_price: Floats  # (N + 1,)
    loss: Floats  # (R,) the least that a wrong prediction of each crowd costs
    change: Floats  # (C,) what flipping each contest adds to the cost
    held: Booleans  # (C,) whether the true class is ahead in each contest
    before: Floats  # (R,) room: sizes of the contests of each crowd
    after: Floats  # (R,) room
    order: Integers  # (N,) room
    block_total: Floats  # (N,) room
    block_size: Integers  # (N,) room


def new_relaxed(n_rows: int, n_contests: int, n_classes: int) -> Relaxed:
    """Make room for the relaxation of any box."""
    n_cells = n_classes**2
    return Relaxed(
        reward=np.empty(n_classes),
        penalty=np.empty(n_classes),
        least=np.empty(n_cells),
        value=np.empty(n_contests),
        new_least=np.empty(n_cells),
        new_value=np.empty(n_contests),
        correct=np.empty(n_classes),
        wrong=np.empty(n_classes),
        new_v=np.empty(n_classes),
        new_price=np.empty(n_classes + 1),
        loss=np.empty(n_rows),
        change=np.empty(n_contests),
        held=np.empty(n_contests, np.bool_),
        before=np.empty(n_rows),
        after=np.empty(n_rows),
        order=np.empty(n_classes, np.int64),
        block_total=np.empty(n_classes),
        block_size=np.empty(n_classes, np.int64),
    )


#: Bound Z over a box from below; improve the multipliers until the bound reaches a goal.
raise_bound = kernel("raise_bound", float, Relaxation, Box, Confusion, Multipliers, float)
