"""Random samples of the rows of a stream, which do not depend on its blocks.

Every row draws a random number from its place and the seed, and those with the least numbers are
kept. So samples of the shares of a stream can be joined: the result is the sample of the stream.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

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


class Sampler:
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
        self._most = check_integer("rows", rows, at_least=1)
        self._seed = check_integer("seed", seed, at_least=0)
        self.n_rows = 0
        self._classes: tuple[str, ...] = ()
        self._source = ""
        self._labelled = False
        self._sizes: Integers = np.empty(0, np.int64)
        self._limits: Floats = np.empty(0)  # of each class: rows with larger keys are out
        self._parts: list[_Part] = []

    def add(self, rows: Rows) -> None:
        """Add rows to the stream; rows of a file say where in the table they stand.

        Raises
        ------
        InvalidInputError
            If there are more classes than rows to draw, or than a fit can count.
        CorrectedError
            For corrected probabilities: samples are what weights are learned from.
        """
        check_raw(rows)
        if not self._classes:
            self._begin(rows.classes, rows.source, labelled=rows.labels is not None)
        n_rows = len(rows.probabilities)
        first_row = self.n_rows if rows.first_row is None else rows.first_row
        rng = np.random.default_rng((_STREAM, self._seed))
        rng.bit_generator.advance(first_row)  # type: ignore[attr-defined]
        strata = _strata_of(rows)
        keys, places = rng.random(n_rows), first_row + np.arange(n_rows)
        self.n_rows += n_rows
        self._sizes += np.bincount(strata, minlength=len(self._sizes))
        part = _Part(keys, places, strata, rows.probabilities, rows.mass, rows.ids)
        self._parts.append(part.where(keys <= self._limits[strata]))
        self._compact(self._most + self._most // 2)

    def join(self, other: Sampler) -> None:
        """Add the rows of another share of the table, drawn with the same number and seed."""
        if not other._classes:
            return
        if not self._classes:
            self._begin(other._classes, other._source, labelled=other._labelled)
        self.n_rows += other.n_rows
        self._sizes += other._sizes
        self._limits = np.minimum(self._limits, other._limits)
        self._parts += other._parts
        self._compact(self._most + self._most // 2)

    def sample(self) -> Sample:
        """Return the sample of the rows so far.

        Raises
        ------
        InvalidInputError
            If there are no rows, or more classes than rows to draw.
        """
        if not self.n_rows:
            raise InvalidInputError("there are no rows to draw from", hint="Give a table with rows")
        self._compact(self._most)
        places = np.concatenate([part.places for part in self._parts])
        rank = np.empty(len(places), np.int64)
        rank[np.argsort(places)] = np.arange(len(places))
        n_classes = len(self._classes)
        strata = np.empty(len(places), np.int64)
        probabilities = np.empty((len(places), n_classes))
        mass = None if self._parts[0].mass is None else np.empty(len(places))
        ids = None if self._parts[0].ids is None else np.empty(len(places), np.object_)
        start = 0
        for part in self._parts:
            own = rank[start : start + len(part.keys)]
            strata[own], probabilities[own] = part.strata, part.probabilities
            if mass is not None:
                mass[own] = part.mass
            if ids is not None:
                ids[own] = part.ids
            start += len(own)
        labels = np.where(strata == n_classes, UNLABELLED, strata) if self._labelled else None
        rows = Rows(probabilities, labels, ids, self._classes, self._source, mass)
        return Sample(ProbabilityTable.trusted(rows), self.n_rows, self._sizes[:n_classes])

    def _begin(self, classes: tuple[str, ...], source: str, *, labelled: bool) -> None:
        check_countable(len(classes))
        self._classes, self._source, self._labelled = classes, source, labelled
        self._sizes = np.zeros(len(classes) + 1, np.int64)
        self._limits = np.ones(len(classes) + 1)

    def _compact(self, most: int) -> None:
        """Drop the rows that cannot be in the sample, if more than `most` are held."""
        if sum(len(part.keys) for part in self._parts) <= most:
            return
        cap = _cap(self._sizes, self._most)
        if not cap:
            raise InvalidInputError(
                f"{self._source}: a sample of {self._most:,} rows is too small for "
                f"{np.count_nonzero(self._sizes):,} classes",
                hint="Draw more rows",
            )
        strata = np.concatenate([part.strata for part in self._parts])
        keys = np.concatenate([part.keys for part in self._parts])
        keys = keys[np.argsort(strata, kind="stable")]
        ends = np.cumsum(np.bincount(strata, minlength=len(self._sizes)))
        for c in np.flatnonzero(self._sizes > cap):
            own = keys[ends[c - 1] if c else 0 : ends[c]]
            self._limits[c] = np.partition(own, cap - 1)[cap - 1]
        for number, part in enumerate(self._parts):  # one by one, for the sake of memory
            self._parts[number] = part.where(part.keys <= self._limits[part.strata])


class _Part(NamedTuple):
    """Some rows that may be in the sample."""

    keys: Floats
    places: Integers
    strata: Integers
    probabilities: Probabilities
    mass: Floats | None
    ids: NDArray[np.object_] | None

    def where(self, chosen: Booleans) -> _Part:
        """Return a copy of the rows that are chosen."""
        keys, places, strata, probabilities, mass, ids = self
        return _Part(
            keys[chosen],
            places[chosen],
            strata[chosen],
            np.ascontiguousarray(probabilities[chosen]),
            None if mass is None else mass[chosen],
            None if ids is None else ids[chosen],
        )


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


class RowSample:
    """A uniform sample of at most `most` rows; all rows of a shorter stream.

    Every row draws a random number; the rows with the least numbers are kept, in their order. So
    samples of the shares of a stream can be joined: the result is the sample of the stream.

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
    >>> sample.n_seen, sample.rows.shape
    (10, (3, 2))

    Two shares of the same stream:

    >>> shares = RowSample(3), RowSample(3)
    >>> for number, block in enumerate(np.split(np.arange(20.0).reshape(10, 2), 5)):
    ...     shares[number % 2].add(block, first_row=2 * number)
    >>> shares[0].join(shares[1])
    >>> bool((shares[0].rows == sample.rows).all())
    True
    """

    def __init__(self, most: int, seed: int | tuple[int, ...] = 0) -> None:
        self._most = most
        self._rng = np.random.default_rng(seed)
        self._drawn = 0
        self._keys: Floats = np.empty(0)
        self._places: Integers = np.empty(0, np.int64)
        self._rows: list[Probabilities] = []
        self.n_seen = 0

    def add(self, rows: Probabilities, *, first_row: int | None = None) -> None:
        """Add rows of shape (M, N) to the stream; `first_row` is the place of a share's rows."""
        if first_row is not None:
            self._rng.bit_generator.advance(first_row - self._drawn)  # type: ignore[attr-defined]
            self._drawn = first_row
        keys, places = self._rng.random(len(rows)), self._drawn + np.arange(len(rows))
        self._drawn += len(rows)
        self.n_seen += len(rows)
        self._keep(keys, places, rows)

    def _keep(self, keys: Floats, places: Integers, rows: Probabilities) -> None:
        if len(self._keys) == self._most:  # most rows of a long stream end here
            lucky = keys < self._keys.max()
            keys, places, rows = keys[lucky], places[lucky], rows[lucky]
        if not len(rows):
            return
        self._keys = np.concatenate([self._keys, keys])
        self._places = np.concatenate([self._places, places])
        self._rows.append(np.array(rows, np.float64, order="C"))
        if len(self._keys) > self._most:
            kept = np.sort(np.argpartition(self._keys, self._most - 1)[: self._most])
            self._keys, self._places = self._keys[kept], self._places[kept]
            self._rows = [np.concatenate(self._rows)[kept]]

    def join(self, other: RowSample) -> None:
        """Add the sample of another share of the stream."""
        self.n_seen += other.n_seen
        if len(other._keys):
            self._keep(other._keys, other._places, other.rows)
        order = np.argsort(self._places)
        self._keys, self._places = self._keys[order], self._places[order]
        self._rows = [self.rows[order]] if len(order) else []

    @property
    def rows(self) -> Probabilities:
        """The rows of the sample, in the order of the stream."""
        if len(self._rows) > 1:
            self._rows = [np.concatenate(self._rows)]
        return self._rows[0] if self._rows else np.empty((0, 0))


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
