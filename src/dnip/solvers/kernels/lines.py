"""A memory of searched lines, so that no line is searched twice.

A line is a class and the indices of all others. Searches return to the same lines again and again,
because descents from many starts end in the same few optima. A 64-bit hash identifies a line. If
two lines ever had the same hash, a search might end at a worse point, but would still report it
right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.solvers.kernels.jit import jit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dnip.base.typing import Floats, Integers, SmallIntegers

_LARGEST = 1 << 20


class Lines(NamedTuple):
    """A hash table with linear probing; once half full it takes no more."""

    key: NDArray[np.uint64]  # (C,) 0 where empty
    best: SmallIntegers  # (C,) a best index of the line
    value: Floats  # (C,) the objective there
    size: Integers  # (1,) lines held


def new_lines(expected: int) -> Lines:
    """Make room for about `expected` lines."""
    capacity = 1 << 4
    while capacity < 2 * expected and capacity < _LARGEST:
        capacity *= 2
    return Lines(
        np.zeros(capacity, np.uint64),
        np.zeros(capacity, np.uint32),
        np.zeros(capacity),
        np.zeros(1, np.int64),
    )


@jit
def mix(c: int, index: int) -> np.uint64:
    """Hash a class at an index (the finaliser of splitmix64)."""
    z = np.uint64(c + 1) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(index)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def find(lines: Lines, key: np.uint64) -> int:
    """Return the slot of a line, or the empty slot where it would go."""
    mask = np.uint64(len(lines.key) - 1)
    slot = key & mask
    while lines.key[slot] != np.uint64(0) and lines.key[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return int(slot)


@jit
def keep(lines: Lines, slot: int, key: np.uint64, index: int, value: float) -> None:
    """Put a line into the empty slot that `find` gave, while there is room."""
    if 2 * lines.size[0] < len(lines.key):
        lines.key[slot] = key
        lines.best[slot] = index
        lines.value[slot] = value
        lines.size[0] += 1
