"""A chain of annealing: moves of one class at a time, at one temperature."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from dnip.base.typing import Floats, Integers
from dnip.solvers.kernels.descent import Setup
from dnip.solvers.kernels.door import kernel


class Moves(NamedTuple):
    """L moves, drawn before they are made."""

    classes: Annotated[Integers, "n_moves"]  # (L,) the class that moves
    others: Integers  # (L,) where it goes, of its K - 1 other indices: 1..K-1
    chances: Floats  # (L,) in [0, 1); a worse point is accepted if its probability is above


class Walk(NamedTuple):
    """Where a chain stands. Single numbers are arrays of one element, so that they can change."""

    indices: Annotated[Floats, "n_classes"]  # (N,)
    value: Floats  # (1,)
    best: Floats  # (N,) the best point so far
    best_value: Floats  # (1,)
    accepted: Integers  # (1,)
    improved: Integers  # (1,)


#: Make moves, one after another, until so many of the walk are accepted; return how many were made.
#: The temperature is on the scale of M·Z.
walk_chain = kernel("walk_chain", int, Setup, Walk, Moves, float, float, int)
