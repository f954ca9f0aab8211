"""A chain of annealing: moves of one class at a time, at one temperature."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.descent import Setup
from dnip.solvers.kernels.flips import count
from dnip.solvers.kernels.jit import jit
from dnip.solvers.kernels.levels import weights_at
from dnip.solvers.kernels.values import value

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Integers


class Moves(NamedTuple):
    """L moves, drawn before they are made."""

    classes: Integers  # (L,) the class that moves
    others: Integers  # (L,) where it goes, of its K - 1 other indices: 1..K-1
    chances: Floats  # (L,) in [0, 1); a worse point is accepted if its probability is above


class Walk(NamedTuple):
    """Where a chain stands. Single numbers are arrays of one element, so that they can change."""

    indices: Floats  # (N,)
    value: Floats  # (1,)
    best: Floats  # (N,) the best point so far
    best_value: Floats  # (1,)
    accepted: Integers  # (1,)
    improved: Integers  # (1,)


@jit
def walk_chain(
    setup: Setup, walk: Walk, moves: Moves, n_examples: float, temperature: float
) -> None:
    """Make the moves, one after another; the temperature is on the scale of M·Z."""
    indices = walk.indices
    for i in range(len(moves.classes)):
        c = moves.classes[i]
        before = indices[c]
        indices[c] = moves.others[i] + (moves.others[i] >= before)
        confusion = count(setup.rows, weights_at(setup.levels, indices))
        reached = value(confusion, np.sum(confusion, axis=0), setup.terms, setup.memo)
        delta = n_examples * (reached - walk.value[0])
        # the appendix's sign; the listing prints exp(Δz/T), which accepts everything
        if not (delta <= 0.0 or moves.chances[i] < math.exp(-delta / temperature)):
            indices[c] = before
            continue
        walk.accepted[0] += 1
        walk.improved[0] += delta < 0.0
        walk.value[0] = reached
        if reached < walk.best_value[0]:
            walk.best_value[0] = reached
            walk.best[:] = indices
