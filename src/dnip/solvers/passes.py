"""Passes over the open rows of a problem: counts at a point, and flips along a line."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from operator import add
from typing import TypeVar

import numpy as np

from dnip.base.typing import Confusion, Floats, Integers, Labels, Probabilities
from dnip.method.problem import Problem
from dnip.solvers.kernels.door import Struct
from dnip.solvers.kernels.flips import (
    Flips,
    Workspace,
    count,
    find_flips,
    join_flips,
    new_flips,
    new_workspace,
)
from dnip.solvers.kernels.levels import Levels, weights_at
from dnip.solvers.kernels.rows import Rows, fill_sparse, new_rows, survey

S = TypeVar("S")
T = TypeVar("T")

# Bytes of a table whose rows are divided among threads, and cells that are worth a thread.
_SHARED, _FEWEST_CELLS = 1 << 22, 1 << 17
# Cells that compiled code may read between two looks at the clock: a fraction of a second. Whole
# descents run compiled if they read fewer, with so many lines for each class.
_CELLS, _LINES_PER_CLASS = 100_000_000, 10
# Measured cost of one line search, in ns. In the dense layout it reads every open row and class. In
# the sparse layout it reads only rows that its class can win, and only their candidates.
_DENSE_ROW, _DENSE_CELL = 4.0, 0.25
_SPARSE_ROW, _SPARSE_ENTRY = 4.0, 5.0


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
    whole : tuple of Rows and Workspace, or None
        All open rows, for descents that run compiled as a whole; None if they are divided.
    most_lines : int
        Lines or points that compiled code may look at between two looks at the clock.
    is_quick : bool
        Whether some descents take no longer.
    """

    def __init__(self, problem: Problem, levels: Levels, per_value: int | None = None) -> None:
        p, labels, counts = problem.probabilities, problem.labels, problem.counts
        alike = counts.strides == (0,)

        def lay_out_part(bounds: tuple[int, int]) -> tuple[Rows, Workspace]:
            part = slice(*bounds)
            own = counts[:1].copy() if alike else counts[part]
            rows = lay_out(p[part], labels[part], own, levels.span)
            return rows, new_workspace(rows, levels.size)

        n_parts = 1
        if p.nbytes > _SHARED:
            n_parts = max(min(n_cores(), p.size // _FEWEST_CELLS), 1)
        bounds = pairwise(len(p) * i // n_parts for i in range(n_parts + 1))
        self._levels = Struct(levels)
        self._pool = ThreadPoolExecutor(n_parts, "dnip") if n_parts > 1 else None
        parts = self._run(lay_out_part, [*bounds])
        self.whole = parts[0] if n_parts == 1 else None
        self._workspaces = [workspace for _, workspace in parts]
        self._parts = [(Struct(rows), Struct(workspace)) for rows, workspace in parts]
        # a line reads every row, and counts where a row flips
        read = sum(rows.columns.size + len(rows.row_p) for rows, _ in parts)
        read += (per_value or p.shape[1]) * (1 + min(len(p), levels.size))
        self.most_lines = max(_CELLS // read, 1)
        self.is_quick = self.most_lines >= _LINES_PER_CLASS * p.shape[1]
        if n_parts > 1:
            most = sum(len(workspace.flips.true) for workspace in self._workspaces)
            self._joined = new_flips(levels.size, most)

    def count(self, indices: Floats) -> Confusion:
        """Return the confusion counts of shape (N, N) at weight indices of shape (N,)."""
        weights = weights_at(self._levels.record, indices)
        return reduce(add, self._run(lambda part: count(part[0], weights), self._parts))

    def find_flips(self, indices: Floats, c: int) -> Flips:
        """Return where rows flip as class `c` goes from 1 to K, the others at `indices`.

        The next call uses the same memory.
        """
        weights = weights_at(self._levels.record, indices)

        def find(part: tuple[Struct, Struct]) -> None:
            rows, workspace = part
            find_flips(rows, weights, c, self._levels, workspace)

        self._run(find, self._parts)
        found = [workspace.flips for workspace in self._workspaces]
        if len(found) == 1:
            return found[0]
        join_flips(found, self._levels.record.size, self._joined)
        return self._joined

    def _run(self, work: Callable[[S], T], parts: Sequence[S]) -> list[T]:
        return list(map(work, parts) if self._pool is None else self._pool.map(work, parts))


def lay_out(p: Probabilities, labels: Labels, counts: Integers, span: float) -> Rows:
    """Count the settled rows, and copy the open ones; for the arguments see `survey`."""
    is_open, class_size, settled = survey(p, labels, counts, span)
    n_classes = p.shape[1]
    label = labels[is_open].astype(np.uint32)
    n_open, n_entries = len(label), int(class_size.sum())
    own_counts = counts[is_open] if len(counts) > 1 else np.full(n_open, counts[0])
    per_row = _SPARSE_ROW + _SPARSE_ENTRY * n_entries / max(n_open, 1)
    if n_open * (_DENSE_ROW + _DENSE_CELL * n_classes) <= n_entries / n_classes * per_row:
        columns = np.empty((n_classes, n_open))
        for n in range(n_classes):  # a copy of the rows would take as much memory again
            columns[n] = p[is_open, n]
        return new_rows(label, own_counts, settled, columns=columns)
    rows = new_rows(label, own_counts, settled, class_size=class_size)
    fill_sparse(p, is_open, span, rows)
    return rows


def n_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
