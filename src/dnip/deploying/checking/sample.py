"""A sample of the rows of a table of any size, with captured mass and weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from dnip.deploying.checking.sketch import Sketch
from dnip.method.prediction import decide
from dnip.priors import most_rows
from dnip.tables.reservoir import RowSample

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dnip.base.typing import Floats, Labels, Probabilities

# Rows that are copied at a time.
_BLOCK = 65_536


class TableSample:
    """A uniform sample of the rows of a stream: 20,000, or half a million cells if that is less.

    Parameters
    ----------
    n_classes : int

    Examples
    --------
    >>> sample = TableSample(2)
    >>> sample.add(np.array([[0.9, 0.1], [0.6, 0.4]]), mass=np.array([0.5, 1.0]))
    >>> sample.probabilities.shape, sample.mass
    ((2, 2), array([0.5, 1. ]))
    >>> sample.changed(np.array([1.0, 2.0]))
    0.5
    """

    def __init__(self, n_classes: int) -> None:
        self._sample = RowSample(most_rows(n_classes))
        self._n_classes = n_classes
        self._extra: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        probabilities: Probabilities,
        labels: Labels,
        *,
        mass: Floats | None = None,
        weight: Floats | None = None,
        target: Floats | None = None,
    ) -> Self:
        """Return a sample of labelled rows, weighed to the class mix `target`, (N,), if given."""
        n_classes = probabilities.shape[1]
        if target is not None:
            own = np.ones(len(labels)) if weight is None else weight
            support = np.bincount(labels, own, n_classes)
            weight = own * (target / np.where(support > 0, support, 1.0))[labels]
        sample = cls(n_classes)
        sample.add(probabilities, mass=mass, weight=weight)
        return sample

    def add(
        self,
        probabilities: Probabilities,
        *,
        mass: Floats | None = None,
        weight: Floats | None = None,
        first_row: int | None = None,
    ) -> None:
        """Add rows, (M, N), with captured mass and weights, (M,), which all rows have or none.

        `first_row` is the place of the rows in the stream, where they are a share of it.
        """
        given = {"mass": mass, "weight": weight}
        extra = {name: values for name, values in given.items() if values is not None}
        self._extra = tuple(extra)
        for begin in range(0, len(probabilities), _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            beside = [values[rows] for values in extra.values()]
            place = None if first_row is None else first_row + begin
            self._sample.add(np.column_stack([probabilities[rows], *beside]), first_row=place)

    @classmethod
    def joined(cls, samples: Iterable[TableSample]) -> Self:
        """Return the sample of a stream from those of its shares."""
        parts = list(samples)
        whole = cls(parts[0]._n_classes)
        whole._extra = next((part._extra for part in parts if len(part)), ())
        whole._sample = RowSample.joined(part._sample for part in parts)
        return whole

    def __len__(self) -> int:
        """Return the number of rows that were added."""
        return self._sample.n_seen

    @property
    def probabilities(self) -> Probabilities:
        """Of the rows of the sample, (M, N)."""
        return self._sample.rows[:, : self._n_classes]

    @property
    def mass(self) -> Floats | None:
        """Captured mass of the rows of the sample, (M,); None where it is not known."""
        return self._column("mass")

    def sketch(self, multipliers: Floats | None = None) -> Sketch:
        """Return what a fit keeps of the rows.

        Parameters
        ----------
        multipliers : ndarray of shape (N,), optional
            The coefficients, if they are known.
        """
        changed = None if multipliers is None else self.changed(multipliers)
        return Sketch.of(self.probabilities, self._column("weight"), self.mass, changed)

    def changed(self, multipliers: Floats) -> float:
        """Return the share of the rows whose decision the coefficients change."""
        p = self.probabilities
        return float(
            np.average(decide(p) != decide(p, multipliers), weights=self._column("weight"))
        )

    def _column(self, name: str) -> Floats | None:
        if name not in self._extra:
            return None
        return self._sample.rows[:, self._n_classes + self._extra.index(name)]
