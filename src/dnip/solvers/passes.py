"""Passes over the rows of a problem: counts at a point, and flips along a line."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from operator import add
from typing import TypeVar

from dnip.base.typing import Confusion, Floats
from dnip.method.problem import Problem
from dnip.solvers.kernels.rows import Flips, Levels, Rows

S = TypeVar("S")
T = TypeVar("T")

# Bytes of a table whose rows are divided among threads, and cells that are worth a thread.
_SHARED, _FEWEST_CELLS = 1 << 22, 1 << 17
# Cells that compiled code may read between two looks at the clock: a fraction of a second. Whole
# descents run compiled if they read fewer, with so many lines for each class.
_CELLS, _LINES_PER_CLASS = 100_000_000, 10


class Passes:
    """What a search needs from the rows of a problem.

    The open rows are copied into the layout that is searched fastest. Those of a large table are
    divided among threads: kernels release the interpreter lock, and the counts of the parts add up.

    Parameters
    ----------
    problem : Problem
    levels : Levels
        The weights that a class may have.
    per_value : int, optional
        Counts that an objective reads for one value; N by default.

    Attributes
    ----------
    whole : Rows or None
        All open rows, for descents that run compiled as a whole; None if they are divided.
    most_lines : int
        Lines or points that compiled code may look at between two looks at the clock.
    is_quick : bool
        Whether some descents take no longer.
    """

    def __init__(self, problem: Problem, levels: Levels, per_value: int | None = None) -> None:
        p, labels, counts = problem.probabilities, problem.labels, problem.counts
        n_parts = 1
        if p.nbytes > _SHARED:
            n_parts = max(min(n_cores(), p.size // _FEWEST_CELLS), 1)
        bounds = pairwise(len(p) * i // n_parts for i in range(n_parts + 1))
        self._pool = ThreadPoolExecutor(n_parts, "dnip") if n_parts > 1 else None

        def lay_out(part: slice) -> Rows:
            return Rows(p[part], labels[part], counts[part], levels)

        self._parts = self._run(lay_out, [slice(*ends) for ends in bounds])
        self.whole = self._parts[0] if n_parts == 1 else None
        # a line reads every row, and counts where a row flips
        read = sum(rows.n_cells + rows.n_rows for rows in self._parts)
        read += (per_value or p.shape[1]) * (1 + min(len(p), levels.size))
        self.most_lines = max(_CELLS // read, 1)
        self.is_quick = self.most_lines >= _LINES_PER_CLASS * p.shape[1]
        if n_parts > 1:
            most = sum(rows.flips.room for rows in self._parts)
            self._joined = Flips(levels.size, p.shape[1], most)

    def count(self, indices: Floats) -> Confusion:
        """Return the confusion counts of shape (N, N) at weight indices of shape (N,)."""
        return reduce(add, self._run(lambda rows: rows.count(indices), self._parts))

    def find_flips(self, indices: Floats, c: int) -> Flips:
        """Return where rows flip as class `c` goes from 1 to K, the others at `indices`.

        The next call uses the same memory.
        """
        found = self._run(lambda rows: rows.find_flips(indices, c), self._parts)
        if len(found) == 1:
            return found[0]
        self._joined.join(found)
        return self._joined

    def _run(self, work: Callable[[S], T], parts: list[S]) -> list[T]:
        return list(map(work, parts) if self._pool is None else self._pool.map(work, parts))


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
