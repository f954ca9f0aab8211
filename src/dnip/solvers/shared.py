"""An opt set whose rows lie in other processes: counts and flips of its shares add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from dnip.method.problem import check_present
from dnip.solvers.kernels.flips import Flips
from dnip.solvers.levels import levels_of
from dnip.solvers.streamed import CountedRows

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from dnip.base.typing import Confusion, Floats, Integers
    from dnip.method.scales import WeightScale
    from dnip.solvers.kernels.levels import Levels

# Flips are tallied if there are so many cells per flip at most; sorting them is faster for fewer.
_CELLS_PER_FLIP = 16


class ShareCounts(NamedTuple):
    """What is known of a share before the search.

    Attributes
    ----------
    n_rows : int
        Rows, those without a label included.
    class_mass : ndarray of shape (N,)
        Labelled rows of each class.
    n_open : int
        Rows whose prediction depends on the weights.
    """

    n_rows: int
    class_mass: Integers
    n_open: int


class Shares(Protocol):
    """The shares of an opt set. Each call goes to all of them at once."""

    def measure(self) -> Sequence[ShareCounts]:
        """Return what each share holds."""
        ...

    def count(self, indices: Floats) -> Sequence[Confusion]:
        """Return the confusion counts of each share at weight indices of shape (N,)."""
        ...

    def find_flips(self, indices: Floats, c: int) -> Sequence[PackedFlips]:
        """Return the flips of class `c` in each share."""
        ...


class PackedFlips(NamedTuple):
    """Flips of one class as two short arrays, to be sent to another process.

    A cell is one index, true class and rival. Most of them are near the next, and hold few
    examples, so a number takes one or two bytes.

    Attributes
    ----------
    steps : ndarray of shape (F,)
        From each cell to the next, in ascending order.
    mass : ndarray of shape (F,)
        How many examples flip there.
    """

    steps: Integers
    mass: Integers

    @classmethod
    def of(cls, flips: Flips, n_classes: int) -> PackedFlips:
        """Pack flips; those of one cell are added up.

        Examples
        --------
        >>> start, classes = np.array([0, 0, 2, 3]), np.array([1, 1, 0])
        >>> packed = PackedFlips.of(Flips(start, classes, 1 - classes, np.array([2, 3, 1])), 2)
        >>> packed.steps.tolist(), packed.mass.tolist(), packed.mass.dtype
        ([6, 3], [5, 1], dtype('uint8'))
        """
        n = int(flips.start[-1])
        index = np.repeat(np.arange(1, len(flips.start) - 1), np.diff(flips.start[1:]))
        cells = (index * n_classes + flips.true[:n]) * n_classes + flips.rival[:n]
        return cls._packed(cells, flips.mass[:n])

    @classmethod
    def sum(cls, parts: Sequence[Self]) -> Self:
        """Add flips of different rows.

        Examples
        --------
        >>> one = PackedFlips(np.array([6, 3]), np.array([5, 1]))
        >>> other = PackedFlips(np.array([8, 1]), np.array([2, 2]))
        >>> both = PackedFlips.sum([one, other])
        >>> both.cells.tolist(), both.mass.tolist()
        ([6, 8, 9], [5, 2, 3])
        """
        if len(parts) == 1:
            return parts[0]
        cells = [part.cells for part in parts]
        n_cells = 1 + max(int(each.max(initial=0)) for each in cells)
        if n_cells > _CELLS_PER_FLIP * sum(map(len, cells)):
            return cls._packed(np.concatenate(cells), np.concatenate([each.mass for each in parts]))
        tally = np.zeros(n_cells, np.int64)
        for place, part in zip(cells, parts, strict=True):
            tally[place] += part.mass  # no cell is there twice
        found = np.flatnonzero(tally > 0)
        return cls._packed(found, tally[found])

    @classmethod
    def _packed(cls, cells: Integers, mass: Integers) -> Self:
        if (np.diff(cells) <= 0).any():
            cells, place = np.unique(cells, return_inverse=True)
            mass = np.bincount(place, mass, len(cells)).astype(np.int64)
        return cls(_short(np.diff(cells, prepend=0)), _short(mass))

    @property
    def cells(self) -> Integers:
        """The cells, ascending."""
        return np.cumsum(self.steps, dtype=np.int64)


class SharedProblem(CountedRows):
    """An opt set whose rows lie in other processes, ready for a search.

    A search takes the same steps as on a :class:`~dnip.method.problem.Problem` of the same rows,
    and ends at the same solution.

    Parameters
    ----------
    shares : Shares
    classes : sequence of str
        Class names.
    scale : int, str or WeightScale
        Linear or geometric.

    Raises
    ------
    InvalidInputError
        For labels of fewer than two classes.
    """

    def __init__(
        self, shares: Shares, classes: Sequence[str], *, scale: int | str | WeightScale
    ) -> None:
        self.shares = shares
        self.classes = tuple(classes)
        self.span = levels_of(scale).span
        measured = shares.measure()
        self.n_rows = sum(each.n_rows for each in measured)
        self.n_open = sum(each.n_open for each in measured)
        self.class_mass = np.sum([each.class_mass for each in measured], axis=0)
        check_present(self.present, self.classes)


class SharedPasses:
    """Passes over the rows of a shared problem: one message to each share, and one back."""

    def __init__(self, problem: SharedProblem, levels: Levels) -> None:
        self._shares = problem.shares
        self._n_classes = problem.n_classes
        self._scale = levels.size

    def count(self, indices: Floats) -> Confusion:
        """Return the counts at weight indices."""
        counts: Confusion = np.sum(self._shares.count(indices), axis=0)
        return counts

    def find_flips(self, indices: Floats, c: int) -> Flips:
        """Return the flips of class `c`."""
        flips = PackedFlips.sum(self._shares.find_flips(indices, c))
        index, pair = np.divmod(flips.cells, self._n_classes**2)
        true, rival = np.divmod(pair, self._n_classes)
        start = np.searchsorted(index, np.arange(self._scale + 2))
        classes = true.astype(np.uint32), rival.astype(np.uint32)
        return Flips(start, *classes, flips.mass.astype(np.int64))


def _short(numbers: Integers) -> Integers:
    """Return whole numbers, 0 or more, in as few bytes as the largest needs."""
    return np.asarray(numbers).astype(np.min_scalar_type(numbers.max() if len(numbers) else 0))
