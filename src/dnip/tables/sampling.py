"""Random samples of the rows of a stream, which do not depend on its blocks.

Every row draws a random number, and those with the least numbers are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Booleans, Floats, Integers, Labels, Probabilities
from dnip.base.validation import check_countable, check_integer
from dnip.tables.cells import UNLABELLED
from dnip.tables.guards import check_raw
from dnip.tables.rows import Rows
from dnip.tables.table import ProbabilityTable

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

    @property
    def is_whole(self) -> bool:
        """Whether all rows of the table are in the sample."""
        return len(self.table) == self.n_rows

    @property
    def class_weights(self) -> Floats | None:
        """How many rows a row of each class stands for, (N,); None where the sample is whole."""
        labels = self.table.labels
        if self.is_whole or labels is None:
            return None
        drawn = np.bincount(labels[labels != UNLABELLED], minlength=self.table.n_classes)
        return np.asarray(self.class_sizes / np.maximum(drawn, 1))

    @property
    def weights(self) -> Floats | None:
        """How many rows each labelled row stands for; None where the sample is whole."""
        weight, labels = self.class_weights, self.table.labels
        return None if weight is None or labels is None else weight[labels[labels != UNLABELLED]]


class _Draws:
    """Columns of the rows with the least keys of each stratum; `most` rows in all."""

    def __init__(self, most: int, seed: int | tuple[int, ...] = 0) -> None:
        self._most, self._rng = most, np.random.default_rng(seed)
        self.n_rows = 0
        self._sizes: Integers = np.empty(0, np.int64)
        self._limits: Floats = np.empty(0)  # of each stratum: rows with larger keys are out
        self._parts: list[dict[str, NDArray[Any]]] = []

    def _put(self, columns: dict[str, NDArray[Any]], strata: Integers, n_strata: int) -> None:
        """Add rows of the stream."""
        if not len(self._sizes):
            self._sizes, self._limits = np.zeros(n_strata, np.int64), np.ones(n_strata)
        n_rows = len(strata)
        keys, places = self._rng.random(n_rows), self.n_rows + np.arange(n_rows)
        self.n_rows += n_rows
        self._sizes = self._sizes + np.bincount(strata, minlength=n_strata)
        part = {"keys": keys, "places": places, "strata": strata, **columns}
        self._parts.append(_where(part, keys <= self._limits[strata]))
        self._compact(self._most + self._most // 2)

    def _drawn(self) -> dict[str, NDArray[Any]]:
        """Return the columns of the sample, in the order of the stream."""
        self._compact(self._most)
        if len(self._parts) > 1:
            places = np.concatenate([part["places"] for part in self._parts])
            order = np.argsort(places)
            self._parts = [
                {
                    name: np.concatenate([part[name] for part in self._parts])[order]
                    for name in self._parts[0]
                }
            ]
        return self._parts[0] if self._parts else {}

    def _compact(self, most: int) -> None:
        """Drop the rows that cannot be in the sample, if more than `most` are held."""
        if sum(len(part["keys"]) for part in self._parts) <= most:
            return
        cap = _cap(self._sizes, self._most)
        if not cap:
            raise InvalidInputError(
                f"a sample of {self._most:,} rows is too small for "
                f"{np.count_nonzero(self._sizes):,} classes",
                hint="Draw more rows",
            )
        strata = np.concatenate([part["strata"] for part in self._parts])
        keys = np.concatenate([part["keys"] for part in self._parts])
        keys = keys[np.argsort(strata, kind="stable")]
        ends = np.cumsum(np.bincount(strata, minlength=len(self._sizes)))
        self._limits = self._limits.copy()
        for c in np.flatnonzero(self._sizes > cap):
            own = keys[ends[c - 1] if c else 0 : ends[c]]
            self._limits[c] = np.partition(own, cap - 1)[cap - 1]
        for number, part in enumerate(self._parts):  # one by one, for the sake of memory
            self._parts[number] = _where(part, part["keys"] <= self._limits[part["strata"]])


def _where(part: dict[str, NDArray[Any]], chosen: Booleans) -> dict[str, NDArray[Any]]:
    return {name: np.ascontiguousarray(cells[chosen]) for name, cells in part.items()}


class Sampler(_Draws):
    """Draws a sample of a stream that is stratified by class, in one pass.

    Of each class with n rows, min(n, cap) are drawn, where cap is the largest number that leaves
    the sample within `rows`. So a class of few rows is in the sample whole. Rows without a label
    count as one more class. The sample depends on the seed and on the rows' places in the table,
    not on the blocks that they come in. Memory holds one and a half samples.

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
        super().__init__(check_integer("rows", rows, at_least=1), (_STREAM, seed))
        self._classes: tuple[str, ...] = ()
        self._source = ""
        self._labelled = False

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
        check_countable(len(rows.classes))
        self._classes, self._source = rows.classes, rows.source
        self._labelled = rows.labels is not None
        columns = {"probabilities": rows.probabilities, "mass": rows.mass, "ids": rows.ids}
        known = {name: cells for name, cells in columns.items() if cells is not None}
        self._put(known, _strata_of(rows), len(rows.classes) + 1)

    def sample(self) -> Sample:
        """Return the sample of the rows so far.

        Raises
        ------
        InvalidInputError
            If there are no rows, or more classes than rows to draw.
        """
        if not self.n_rows:
            raise InvalidInputError("there are no rows to draw from", hint="Give a table with rows")
        drawn, n_classes = self._drawn(), len(self._classes)
        strata = drawn["strata"].astype(np.int64)
        labels = np.where(strata == n_classes, UNLABELLED, strata) if self._labelled else None
        rows = Rows(
            drawn["probabilities"],
            labels,
            drawn.get("ids"),
            self._classes,
            self._source,
            drawn.get("mass"),
        )
        return Sample(ProbabilityTable.trusted(rows), self.n_rows, self._sizes[:n_classes])


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


class RowSample(_Draws):
    """A uniform sample of at most `most` rows; all rows of a shorter stream.

    Every row draws a random number; the rows with the least numbers are kept, in their order.

    Parameters
    ----------
    most : int
        Rows to keep, at least 1.
    seed : int or sequence of int, default=0
        The same seed gives the same sample.

    Examples
    --------
    >>> sample = RowSample(3)
    >>> for block in np.split(np.arange(20.0).reshape(10, 2), 5):
    ...     sample.add(block)
    >>> sample.n_rows, sample.rows.shape
    (10, (3, 2))
    """

    def add(self, rows: Probabilities) -> None:
        """Add rows of shape (M, N) to the stream."""
        cells = {"rows": np.asarray(rows, np.float64)}
        self._put(cells, np.zeros(len(rows), np.int64), 1)

    @property
    def rows(self) -> Probabilities:
        """The rows of the sample, in the order of the stream."""
        return self._drawn().get("rows", np.empty((0, 0)))


def sample_classes(
    probabilities: Probabilities, labels: Labels, most: int
) -> tuple[Probabilities, Labels]:
    """Return up to so many rows of each class that has rows, class by class, and their labels.

    Examples
    --------
    >>> sample_classes(np.eye(2)[[0, 0, 1]], np.array([0, 0, 1]), most=1)
    (array([[1., 0.],
           [0., 1.]]), array([0, 1]))
    """
    parts = []
    for c in np.unique(labels).tolist():
        sample = RowSample(most, (0, c))
        sample.add(probabilities[labels == c])
        parts.append((sample.rows, np.full(len(sample.rows), c)))
    drawn, of_class = zip(*parts, strict=True)
    return np.concatenate(drawn), np.concatenate(of_class)
