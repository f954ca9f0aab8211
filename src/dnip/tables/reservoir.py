"""Random samples of the rows of a stream, which do not depend on its blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from dnip.base.typing import Floats, Integers, Labels, Probabilities


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
    >>> bool((RowSample.joined(shares).rows == sample.rows).all())
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

    @classmethod
    def joined(cls, samples: Iterable[RowSample]) -> Self:
        """Return the sample of a stream from those of its shares, which have one seed."""
        parts = list(samples)
        whole = cls(parts[0]._most)
        for part in parts:
            whole.n_seen += part.n_seen
            if len(part._keys):
                whole._keep(part._keys, part._places, part.rows)
        order = np.argsort(whole._places)
        whole._keys, whole._places = whole._keys[order], whole._places[order]
        whole._rows = [whole.rows[order]] if len(order) else []
        return whole

    @property
    def rows(self) -> Probabilities:
        """The rows of the sample, in the order of the stream."""
        if len(self._rows) > 1:
            self._rows = [np.concatenate(self._rows)]
        return self._rows[0] if self._rows else np.empty((0, 0))


class ClassSample:
    """A uniform sample of at most `most` rows of each class of a stream.

    Parameters
    ----------
    n_classes : int
    most : int
        Rows of a class to keep, at least 1.

    Examples
    --------
    >>> sample = ClassSample(2, most=1)
    >>> sample.add(np.array([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]]), np.array([0, 1, 0]))
    >>> sample.drawn()
    (array([[0.5 , 0.5 ],
           [0.25, 0.75]]), array([0, 1]))
    """

    def __init__(self, n_classes: int, most: int) -> None:
        self._samples = [RowSample(most, (0, c)) for c in range(n_classes)]

    def add(self, probabilities: Probabilities, labels: Labels) -> None:
        """Add labelled rows to the stream."""
        for c, sample in enumerate(self._samples):
            of_class = labels == c
            if of_class.any():
                sample.add(probabilities[of_class])

    def drawn(self) -> tuple[Probabilities, Labels]:
        """Return the rows of the sample and their labels, class by class."""
        parts = [(c, sample.rows) for c, sample in enumerate(self._samples) if sample.n_seen]
        labels = np.concatenate([np.full(len(rows), c) for c, rows in parts])
        return np.concatenate([rows for _, rows in parts]), labels
