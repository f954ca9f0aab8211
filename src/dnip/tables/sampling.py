"""Random samples of the rows of a stream, which do not depend on its blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Booleans, Floats, Integers
from dnip.base.validation import check_integer
from dnip.tables.cells import no_rows
from dnip.tables.labels import UNLABELLED, check_countable
from dnip.tables.rows import Rows
from dnip.tables.table import ProbabilityTable, check_raw

# Rows that are looked at together.
_BLOCK = 65_536

# Keeps these random numbers apart from others that are drawn by the same seed.
_STREAM = 0x5A3


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a table, drawn class by class, and how many rows they stand for.

    Attributes
    ----------
    table : ProbabilityTable
        The rows of the sample, in the order of the table.
    n_rows : int
        Rows of the whole table.
    class_sizes : ndarray of shape (N,)
        Labelled rows of each class in the whole table.
    """

    table: ProbabilityTable
    n_rows: int
    class_sizes: Integers

    @classmethod
    def whole(cls, table: ProbabilityTable) -> Self:
        """Return all rows of a table."""
        labels = np.empty(0, np.int64) if table.labels is None else table.labels
        sizes = np.bincount(labels[labels != UNLABELLED], minlength=table.n_classes)
        return cls(table, len(table), sizes)

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the table are in the sample."""
        return len(self.table) == self.n_rows

    @property
    def weights(self) -> Floats | None:
        """How many rows each labelled row stands for; None where the sample is whole."""
        if self.is_whole or self.table.labels is None:
            return None
        labels = self.table.labels[self.table.labels != UNLABELLED]
        drawn = np.bincount(labels, minlength=self.table.n_classes)
        return np.asarray((self.class_sizes / np.maximum(drawn, 1))[labels])


class RowSample:
    """A sample of the rows of a stream in one pass, all of them if there are few.

    Every row draws a random number, and those with the least numbers are kept, in their order. Of
    each stratum with n rows these are min(n, cap), where cap is the largest number that leaves the
    sample within `most` rows. Memory holds one and a half samples.

    Parameters
    ----------
    most : int
        Rows to keep, at least 1.
    seed : int or sequence of int, default=0
        The same seed gives the same sample, whatever blocks the rows come in.

    Examples
    --------
    >>> sample = RowSample(3)
    >>> for block in np.split(np.arange(20.0).reshape(10, 2), 5):
    ...     sample.add(rows=block)
    >>> sample.n_rows, sample.columns["rows"].shape
    (10, (3, 2))
    """

    def __init__(self, most: int, seed: int | tuple[int, ...] = 0) -> None:
        self._most, self._rng = most, np.random.default_rng(seed)
        self.n_rows = 0
        self.sizes: Integers = np.zeros(1, np.int64)
        self._limits: Floats = np.ones(1)  # of each stratum: rows with larger keys are out
        self._parts: list[dict[str, NDArray[Any]]] = []

    def add(
        self, strata: Integers | None = None, n_strata: int = 1, **columns: NDArray[Any] | None
    ) -> None:
        """Add rows to the stream: what is known of each, (M, …), and which of the strata it is in.

        All rows must have the same columns; one that is None is left out.
        """
        if not self._parts:
            self.sizes, self._limits = np.zeros(n_strata, np.int64), np.ones(n_strata)
        known = {name: cells for name, cells in columns.items() if cells is not None}
        n_rows = len(next(iter(known.values())))
        for begin in range(0, n_rows, _BLOCK):
            block = slice(begin, min(begin + _BLOCK, n_rows))
            stratum = np.zeros(block.stop - begin, np.uint8) if strata is None else strata[block]
            keys = self._rng.random(len(stratum))
            self.sizes = self.sizes + np.bincount(stratum, minlength=n_strata)
            rows = {"keys": keys, "strata": stratum, **{n: c[block] for n, c in known.items()}}
            self._parts.append(_where(rows, keys <= self._limits[stratum]))
            self._compact(self._most + self._most // 2)
        self.n_rows += n_rows

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The rows of the sample, in the order of the stream."""
        self._compact(self._most)
        if len(self._parts) > 1:
            names = self._parts[0]
            whole = {name: np.concatenate([rows[name] for rows in self._parts]) for name in names}
            self._parts = [whole]
        return self._parts[0] if self._parts else {}

    def _compact(self, most: int) -> None:
        """Drop the rows that cannot be in the sample, if more than `most` are held."""
        if sum(len(rows["keys"]) for rows in self._parts) <= most:
            return
        cap = _cap(self.sizes, self._most)
        if not cap:
            raise InvalidInputError(
                f"a sample of {self._most:,} rows is too small for "
                f"{np.count_nonzero(self.sizes):,} classes",
                hint="Draw more rows",
            )
        strata = np.concatenate([rows["strata"] for rows in self._parts])
        keys = np.concatenate([rows["keys"] for rows in self._parts])
        keys = keys[np.argsort(strata, kind="stable")]
        ends = np.cumsum(np.bincount(strata, minlength=len(self.sizes)))
        for c in np.flatnonzero(self.sizes > cap):
            keys_here = keys[ends[c - 1] if c else 0 : ends[c]]
            self._limits[c] = np.partition(keys_here, cap - 1)[cap - 1]
        for number, rows in enumerate(self._parts):  # one by one, for the sake of memory
            self._parts[number] = _where(rows, rows["keys"] <= self._limits[rows["strata"]])


def _where(rows: dict[str, NDArray[Any]], chosen: Booleans) -> dict[str, NDArray[Any]]:
    return {name: np.ascontiguousarray(cells[chosen]) for name, cells in rows.items()}


class Sampler:
    """Draws a sample of a table that is stratified by class, in one pass.

    So a class of few rows is in the sample whole. Rows without a label count as one more class.

    Parameters
    ----------
    rows : int
        Rows of the sample at most, at least 1.
    seed : int, default=0
        The same seed gives the same sample.

    Examples
    --------
    >>> table = ProbabilityTable(np.full((100, 2), 0.5), np.repeat([0, 1], [97, 3]))
    >>> sampler = Sampler(10)
    >>> sampler.add(table)
    >>> sample = sampler.sample()
    >>> np.bincount(sample.table.labels), sample.class_sizes
    (array([7, 3]), array([97,  3]))
    >>> sample.weights.min(), sample.weights.sum().round()
    (np.float64(1.0), np.float64(100.0))
    """

    def __init__(self, rows: int, seed: int = 0) -> None:
        seed = check_integer("seed", seed, at_least=0)
        self._sample = RowSample(check_integer("rows", rows, at_least=1), (_STREAM, seed))
        self._last: Rows | None = None
        self._sums_to_one = True

    def add(self, rows: Rows) -> None:
        """Add rows to the stream.

        Raises
        ------
        InvalidInputError
            If there are more classes than rows to draw, or than a fit can count.
        CorrectedError
            For corrected probabilities: samples are what weights are learned from.
        """
        check_raw(rows)
        n_classes = check_countable(rows.n_classes)
        self._last = rows
        self._sums_to_one &= rows.sums_to_one
        self._sample.add(_strata_of(rows), n_classes + 1, **rows.of_each)

    def sample(self) -> Sample:
        """Return the sample of the rows so far.

        Raises
        ------
        InvalidInputError
            If there are no rows, or more classes than rows to draw.
        """
        drawn, last = self._sample.columns, self._last
        if last is None or not drawn:
            raise no_rows("the sample")
        rows = last.changed(
            **{name: drawn[name] for name in last.of_each}, sums_to_one=self._sums_to_one
        )
        sizes = self._sample.sizes[: last.n_classes]
        return Sample(ProbabilityTable(rows), self._sample.n_rows, sizes)


def _strata_of(rows: Rows) -> Integers:
    """Return the class of each row, N for a row without a label, in the smallest type."""
    n_rows, n_classes = rows.probabilities.shape
    kind = np.min_scalar_type(n_classes)
    if rows.labels is None:
        return np.full(n_rows, n_classes, kind)
    return np.where(rows.labels == UNLABELLED, n_classes, rows.labels).astype(kind)


def _cap(sizes: Integers, most: int) -> int:
    """Return the largest number such that min(size, number) sums to `most` at most.

    Examples
    --------
    >>> _cap(np.array([3, 50, 100]), 43)
    20
    """
    left = most
    for number, size in enumerate(np.sort(sizes).tolist()):
        n_open = len(sizes) - number
        if size * n_open > left:
            return left // n_open
        left -= size
    return int(sizes.max())
