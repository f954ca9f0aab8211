"""The exact line search: the objective at every index of one class, in one pass over the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.solvers.kernels.flips import Flips, walk
from dnip.solvers.kernels.jit import lean
from dnip.solvers.kernels.values import Memo, Terms, value

if TYPE_CHECKING:
    from dnip.base.typing import Confusion, Floats, Integers


@lean
def settle(
    flips: Flips,
    terms: Terms,
    memo: Memo,
    indices: Floats,
    confusion: Confusion,
    predicted: Integers,
    c: int,
    scale: int,
) -> float:
    """Walk the line of class `c`, stop at its best index, and return the objective there.

    Indices and counts change in place. A class that is already at one of its best indices stays
    there; otherwise it goes to the lowest of them.
    """
    now = int(indices[c])
    walk(flips, c, now, 1, confusion, predicted)
    best = 1
    best_value = value(confusion, predicted, terms, memo)
    here = best_value
    now_value = best_value
    for k in range(2, scale + 1):
        if flips.start[k] < flips.start[k + 1]:
            walk(flips, c, k - 1, k, confusion, predicted)
            here = value(confusion, predicted, terms, memo)
            if here < best_value:
                best = k
                best_value = here
        if k == now:
            now_value = here
    if now_value <= best_value:
        best = now
    walk(flips, c, scale, best, confusion, predicted)
    indices[c] = best
    return best_value
