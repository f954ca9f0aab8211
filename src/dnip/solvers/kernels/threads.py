"""Rows divided among threads: kernels release the interpreter lock, and their counts add up."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import TypeVar

import numba

T = TypeVar("T")

# Cells that are worth a thread: for fewer, starting the work costs more than the work.
_FEWEST_CELLS = 1 << 17


class Threads:
    """Threads that start with the first work that is worth sharing.

    Parameters
    ----------
    most : int, optional
        As many as numba would take (NUMBA_NUM_THREADS, or one per core) where it is left out.
    """

    def __init__(self, most: int | None = None) -> None:
        self.most = numba.config.NUMBA_NUM_THREADS if most is None else most
        self._pool: ThreadPoolExecutor | None = None

    def share(self, n_rows: int, n_cells: int) -> list[tuple[int, int]]:
        """Divide rows into one run (first, last + 1) per thread that `n_cells` are worth.

        Examples
        --------
        >>> Threads(2).share(1_000_000, 4_000_000)
        [(0, 500000), (500000, 1000000)]
        """
        n_parts = max(min(self.most, n_cells // _FEWEST_CELLS, n_rows), 1)
        bounds = [n_rows * i // n_parts for i in range(n_parts + 1)]
        return list(pairwise(bounds))

    def run(self, work: Callable[[int, int, int], T], parts: list[tuple[int, int]]) -> list[T]:
        """Call `work` with the number and the bounds of each part, all at once.

        Examples
        --------
        >>> Threads(2).run(lambda part, first, last: last - first, [(0, 3), (3, 5)])
        [3, 2]
        """
        if len(parts) > 1 and self._pool is None:
            self._pool = ThreadPoolExecutor(max(self.most - 1, 1), "dnip")
        others = [
            self._pool.submit(work, part, *bounds)
            for part, bounds in enumerate(parts)
            if part and self._pool is not None
        ]
        try:
            results = [work(0, *parts[0])]
        finally:  # after an interruption, too, no thread goes on writing
            wait(others)
        return results + [other.result() for other in others]
