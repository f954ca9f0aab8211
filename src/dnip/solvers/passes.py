"""Passes over the open rows of a problem: counts at a point, and flips along a line."""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np

from dnip.solvers.kernels.counting import count
from dnip.solvers.kernels.flips import (
    Flips,
    add_flips,
    end_flips,
    find_flips,
    list_tally,
    list_workspace,
    new_flips,
    new_workspace,
    prefers_tally,
    tally_dense_flips,
    tally_workspace,
)
from dnip.solvers.kernels.in_place import count_in_place, find_in_place, list_in_place
from dnip.solvers.kernels.leaders import (
    count_leaders,
    find_by_leaders,
    grade,
    move_leaders,
    new_leaders,
    rank,
)
from dnip.solvers.kernels.levels import weights_at
from dnip.solvers.kernels.rows import BLOCK, InPlaceRows, lay_out
from dnip.solvers.kernels.threads import Threads
from dnip.solvers.shared import SharedPasses, SharedProblem
from dnip.solvers.streamed import StreamedProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dnip.base.typing import Confusion, Floats
    from dnip.method.problem import Problem
    from dnip.solvers.kernels.leaders import Leaders
    from dnip.solvers.kernels.levels import Levels
    from dnip.solvers.kernels.rows import Rows

T = TypeVar("T")

#: The rows of an opt set: in memory, in blocks that may be on disk, or in other processes.
OptSet: TypeAlias = "Problem | StreamedProblem | SharedProblem"

# For rows of so many bytes or more, the two best classes are remembered instead of found in every
# pass; the memory for them is then small beside the row itself.
_LEADERS_FROM = 256
# Flips of rows in place are tallied if there are so many rows per cell of the tallies; for fewer, a
# list takes less memory.
_ROWS_PER_CELL = 1
# The work on one row with known leaders, in cells that are read one after another. A line takes
# fewer, a new start takes N.
_CELLS_PER_ROW = 32


class Passes(Protocol):
    """What a search needs from the rows, wherever they are."""

    def count(self, indices: Floats) -> Confusion:
        """Return the confusion counts of shape (N, N) at weight indices of shape (N,)."""
        ...

    def find_flips(self, indices: Floats, c: int) -> Flips:
        """Return where rows flip as class `c` goes from 1 to K, the others at `indices`.

        The next call may use the same memory.
        """
        ...


def passes_over(problem: OptSet, levels: Levels) -> Passes:
    """Lay out the rows of a problem, and return the passes that fit them."""
    if isinstance(problem, SharedProblem):
        return SharedPasses(problem, levels)
    threads = Threads()
    if isinstance(problem, StreamedProblem):
        return BlockPasses(problem, levels, threads)
    rows = lay_out(problem.probabilities, problem.labels, problem.mass, levels.span, threads)
    if not isinstance(rows, InPlaceRows):
        return CompiledPasses(rows, levels)
    if rows.p.strides[0] < _LEADERS_FROM:
        return InPlacePasses(rows, levels, threads)
    return LeaderPasses(rows, levels, threads)


class CompiledPasses:
    """Passes over rows in a layout of their own, for descents that run compiled as a whole."""

    def __init__(self, rows: Rows, levels: Levels) -> None:
        self.rows = rows
        self.levels = levels
        self.workspace = new_workspace(rows, levels.size)

    def count(self, indices: Floats) -> Confusion:
        """Return the counts at weight indices."""
        return count(self.rows, weights_at(self.levels, indices))

    def find_flips(self, indices: Floats, c: int) -> Flips:
        """Return the flips of class `c`."""
        find_flips(self.rows, weights_at(self.levels, indices), c, self.levels, self.workspace)
        return self.workspace.flips


class InPlacePasses:
    """Passes over rows in place that read each row whole: for few classes.

    Every thread tallies the flips that it finds. If the tallies would take more memory than a list
    of all flips, the flips are listed.
    """

    def __init__(self, rows: InPlaceRows, levels: Levels, threads: Threads) -> None:
        self._rows = rows
        self._levels = levels
        self._threads = threads
        n_rows, n_classes = len(rows.row), rows.p.shape[1]
        self._bounds = threads.share(n_rows, n_rows * n_classes)
        self._parts = [rows.part(*bounds) for bounds in self._bounds]
        n_cells = (levels.size + 2) * n_classes**2
        if n_cells * (len(self._parts) + 1) * _ROWS_PER_CELL > n_rows:
            n_cells = 0
        self._tallies = np.empty((len(self._parts), n_cells), np.int64)
        self._found = np.empty((2, 0 if n_cells else n_rows), np.uint16)  # rivals, and indices
        self._flips = new_flips(levels.size, n_cells or n_rows)

    def count(self, indices: Floats) -> Confusion:
        """Return the counts at weight indices."""
        weights = weights_at(self._levels, indices)

        def count_part(part: int, *_: int) -> Confusion:
            return count_in_place(self._parts[part], weights)

        return reduce(add, self._threads.run(count_part, self._bounds), self._rows.settled)

    def find_flips(self, indices: Floats, c: int) -> Flips:
        """Return the flips of class `c`."""
        weights = weights_at(self._levels, indices)

        def find_part(part: int, first: int, last: int) -> None:
            tally = self._tallies[part]
            found = np.empty((2, BLOCK), np.uint16) if len(tally) else self._found[:, first:last]
            find_in_place(self._parts[part], weights, c, self._levels, found[0], found[1], tally)

        self._threads.run(find_part, self._bounds)
        scale = self._levels.size
        if self._tallies.size:
            list_tally(reduce(add, self._tallies), len(indices), scale, self._flips)
        else:
            rival, slot = self._found
            list_in_place(self._rows, self._rows.row, rival, slot, scale, self._flips)
        return self._flips


class LeaderPasses:
    """Passes over rows in place that remember the two best classes of each row: for many classes.

    These leaders belong to the point of the last line. The next line first moves them to its own
    point, which differs in one class or is a new start.
    """

    def __init__(self, rows: InPlaceRows, levels: Levels, threads: Threads) -> None:
        self._rows = rows
        self._levels = levels
        self._threads = threads
        n_rows = len(rows.row)
        self._bounds = threads.share(n_rows, n_rows * _CELLS_PER_ROW)
        parts = [rows.part(*bounds) for bounds in self._bounds]
        self._parts = [(part, new_leaders(len(part.row), rows.p.shape[1])) for part in parts]
        self._run(grade)
        self._found = np.empty(n_rows, np.uint32), *np.empty((2, n_rows), np.uint16)
        self._flips = new_flips(levels.size, n_rows)
        self._standing: Floats | None = None  # indices that the leaders belong to

    def count(self, indices: Floats) -> Confusion:
        """Return the counts at weight indices, and move the leaders there."""
        self._stand(indices)
        return reduce(add, self._run(count_leaders), self._rows.settled)

    def find_flips(self, indices: Floats, c: int) -> Flips:
        """Return the flips of class `c`."""
        self._stand(indices)

        def find_part(part: int, first: int, last: int) -> int:
            rows, leaders = self._parts[part]
            found = (numbers[first:last] for numbers in self._found)
            return find_by_leaders(rows, c, self._levels, leaders, *found)

        counts = self._threads.run(find_part, self._bounds)
        n_flips = counts[0]
        for (first, _), n in zip(self._bounds[1:], counts[1:], strict=True):
            for numbers in self._found:
                numbers[n_flips : n_flips + n] = numbers[first : first + n]
            n_flips += n
        row, rival, slot = (numbers[:n_flips] for numbers in self._found)
        list_in_place(self._rows, row, rival, slot, self._levels.size, self._flips)
        return self._flips

    def _stand(self, indices: Floats) -> None:
        if self._standing is None:
            moved = np.arange(len(indices))
        else:
            moved = np.flatnonzero(self._standing != indices)
        if len(moved) == 0:
            return
        self._standing = None  # after an interruption, the leaders belong to no point
        weights, levels = weights_at(self._levels, indices), self._levels
        if len(moved) == 1:
            c = int(moved[0])
            self._run(lambda rows, leaders: move_leaders(rows, weights, c, levels, leaders))
        else:
            self._run(lambda rows, leaders: rank(rows, weights, levels, leaders))
        self._standing = indices.copy()

    def _run(self, work: Callable[[InPlaceRows, Leaders], T]) -> list[T]:
        return self._threads.run(lambda part, *_: work(*self._parts[part]), self._bounds)


class BlockPasses:
    """Passes over the blocks of a streamed problem, in memory or on disk."""

    def __init__(self, problem: StreamedProblem, levels: Levels, threads: Threads) -> None:
        assert levels.span <= problem.span  # otherwise open rows would count as settled
        self._problem = problem
        self._blocks = problem.blocks
        self._levels = levels
        self._threads = threads
        self._n_parts = max(min(threads.most, len(self._blocks)), 1)
        shape = problem.n_open, problem.n_classes, levels.size
        self._tallied = problem.dense and prefers_tally(*shape)
        made = partial(list_workspace, problem.largest_list, levels.size)
        if self._tallied:
            made = partial(tally_workspace, *shape)
        self._workspaces = [made() for _ in range(self._n_parts)]

    def count(self, indices: Floats) -> Confusion:
        """Return the counts at weight indices."""
        weights = weights_at(self._levels, indices)

        def count_part(part: int, *_: int) -> Confusion:
            counts = (count(rows, weights) for rows in self._rows_of(part))
            return reduce(add, counts, np.zeros_like(self._problem.settled))

        return reduce(add, self._run(count_part), self._problem.settled)

    def find_flips(self, indices: Floats, c: int) -> Flips:
        """Return the flips of class `c`."""
        weights = weights_at(self._levels, indices)
        return self._add_tallies(weights, c) if self._tallied else self._join_lists(weights, c)

    def _add_tallies(self, weights: Floats, c: int) -> Flips:
        def tally_part(part: int, *_: int) -> None:
            workspace = self._workspaces[part]
            workspace.tally[:] = 0
            for rows in self._rows_of(part):
                tally_dense_flips(rows, weights, c, self._levels, workspace)

        self._run(tally_part)
        tally = reduce(add, (workspace.tally for workspace in self._workspaces))
        flips = self._workspaces[0].flips
        list_tally(tally, len(weights), self._levels.size, flips)
        return flips

    def _join_lists(self, weights: Floats, c: int) -> Flips:
        def find_part(part: int, *_: int) -> list[Flips]:
            workspace = self._workspaces[part]
            found = []
            for rows in self._rows_of(part):
                find_flips(rows, weights, c, self._levels, workspace)
                start, true, rival, mass = workspace.flips
                n = start[-1]
                found.append(
                    Flips(start.copy(), true[:n].copy(), rival[:n].copy(), mass[:n].copy())
                )
            return found

        parts = [flips for found in self._run(find_part) for flips in found]
        sizes = np.sum([np.diff(flips.start[1:]) for flips in parts], axis=0)
        scale = self._levels.size
        joined = new_flips(scale, int(sizes.sum()))
        joined.start[2:] = np.cumsum(sizes)
        for flips in parts:
            add_flips(flips, scale, joined)
        end_flips(scale, joined.start)
        return joined

    def _rows_of(self, part: int) -> Iterator[Any]:
        return self._blocks.read(range(part, len(self._blocks), self._n_parts))

    def _run(self, work: Callable[[int, int, int], T]) -> list[T]:
        return self._threads.run(work, [(part, part + 1) for part in range(self._n_parts)])
