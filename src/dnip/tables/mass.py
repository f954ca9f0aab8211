"""Captured mass: what a language model gave to all labels of a row together."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats, Integers
from dnip.tables.cells import ROW_SUM_TOLERANCE, Location, check_vector

#: Below this captured mass, most of what the model would say is not a label.
LOW_MASS = 0.1

#: From this share of low rows on, a table is worth a warning.
WORTH_TELLING = 0.1

# Half-precision numbers from 0 to 1: as bits they are whole numbers in the same order.
_N_BINS = int(np.float16(1).view(np.uint16)) + 1


def check_mass(
    mass: ArrayLike, *, n_examples: int, location: Location | None = None, column: int | None = None
) -> Floats:
    """Return captured mass as float64, a number from 0 to 1 in each row.

    Parameters
    ----------
    mass : array-like of shape (M,)
        What a language model gave to all labels of a row together.
    n_examples : int
        M of the probabilities that it belongs to.
    location : Location, optional
        How to name a cell in a message.
    column : int, optional
        Which column of the file it is.

    Raises
    ------
    InvalidInputError
        For a wrong length, and a value that is NaN, below 0, or above 1 by more than rounding.

    Examples
    --------
    >>> check_mass([0.5, 1], n_examples=2)
    array([0.5, 1. ])
    """
    location = location or Location("mass")
    values = check_vector(location.source, mass, n_examples, np.float64)
    bad = ~((values >= 0) & (values <= 1 + ROW_SUM_TOLERANCE))
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidInputError(
            f"{location.cell(row, column)}: the captured mass is {values[row]:g}, outside 0..1",
            hint="Give the probability of all labels together before normalising, or leave the "
            "column out",
        )
    return values


@dataclass(frozen=True)
class CapturedMass:
    """Captured mass over the rows of a table.

    Attributes
    ----------
    rows : int
        Rows whose mass is known.
    low : int
        Rows of less than `LOW_MASS`.
    median : float
        The middle row's, to 3 digits; below 0.0001 to fewer.

    Examples
    --------
    >>> mass = CapturedMass.of([0.02, 0.03, 0.9])
    >>> mass.low, mass.median, mass.at_fault
    (2, 0.03, True)
    """

    rows: int
    low: int
    median: float

    @classmethod
    def of(cls, mass: ArrayLike) -> CapturedMass | None:
        """Summarise the mass of rows; None if there are no rows."""
        counts = MassCounts()
        counts.add(mass)
        return counts.summary

    @property
    def at_fault(self) -> bool:
        """Whether most rows are low: then the prompt is wrong, which no weight can mend."""
        return 2 * self.low > self.rows

    @property
    def worth_telling(self) -> bool:
        """Whether so many rows are low that the user should know."""
        return self.low >= WORTH_TELLING * self.rows

    @property
    def sentence(self) -> str:
        """How many rows are low, and what to do.

        Examples
        --------
        >>> CapturedMass(240, 199, 0.02).sentence
        'the labels capture less than 0.1 of the probability in 83% of the rows (199 of 240; \
median mass 0.02): the prompt or the label words are at fault, coefficients cannot mend that. \
Look at both with `dnip prompt --check`'
        """
        return (
            f"the labels capture less than {LOW_MASS:g} of the probability in "
            f"{self.low / self.rows:.0%} of the rows ({self.low:,} of {self.rows:,}; median mass "
            f"{self.median:.2g}): the prompt or the label words are at fault, coefficients cannot "
            "mend that. Look at both with `dnip prompt --check`"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints.

        Examples
        --------
        >>> CapturedMass(240, 199, 0.02).to_dict()
        {'rows': 240, 'low': 199, 'median': 0.02, 'threshold': 0.1}
        """
        return {**asdict(self), "threshold": LOW_MASS}


class MassCounts:
    """Counts that summarise the captured mass of a table of any size.

    Examples
    --------
    >>> counts = MassCounts()
    >>> for block in ([0.5, 0.05], [0.75]):
    ...     counts.add(block)
    >>> counts.summary
    CapturedMass(rows=3, low=1, median=0.5)
    """

    def __init__(self) -> None:
        self._low = 0
        self._bins: Integers = np.zeros(_N_BINS, np.int64)

    def add(self, mass: ArrayLike) -> None:
        """Count the mass of some more rows, from 0 to 1."""
        values = np.abs(np.asarray(mass, np.float64))  # -0 has other bits
        self._low += int(np.count_nonzero(values < LOW_MASS))
        bits = np.minimum(values, 1).astype(np.float16).view(np.uint16)
        self._bins += np.bincount(bits, minlength=_N_BINS)

    def join(self, other: MassCounts) -> None:
        """Add the counts of other rows."""
        self._low += other._low
        self._bins += other._bins

    @property
    def summary(self) -> CapturedMass | None:
        """The summary of all rows; None if there were none."""
        rows = int(self._bins.sum())
        if not rows:
            return None
        middle = np.searchsorted(np.cumsum(self._bins), (rows + 1) // 2)
        median = float(np.uint16(middle).view(np.float16))
        return CapturedMass(rows, self._low, float(f"{median:.3g}"))
