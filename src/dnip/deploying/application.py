"""Coefficients applied to tables of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.method.prediction import decide, reweight
from dnip.priors import estimate_prior, most_rows
from dnip.tables import Rows, ahead, open_writer
from dnip.tables.captured_mass import MassCounts
from dnip.tables.evaluation import check_same_classes
from dnip.tables.sampling import RowSample

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from dnip.method.coefficients import Coefficients
    from dnip.priors import PriorEstimate
    from dnip.tables.captured_mass import CapturedMass


class Application(NamedTuple):
    """The result of applying coefficients to a table.

    Attributes
    ----------
    n_rows, n_changed : int
        Rows written, and those whose decision differs from the raw argmax.
    captured_mass : CapturedMass or None
        How many rows have a low captured mass; None where the table has no such column.
    """

    n_rows: int
    n_changed: int
    captured_mass: CapturedMass | None


def apply_stream(
    chunks: Iterable[Rows],
    coefficients: Coefficients,
    out: str | os.PathLike[str],
    *,
    progress: Callable[[int], None] | None = None,
) -> Application:
    """Write reweighted probabilities and predictions, holding a few chunks in memory.

    Labels, ids, captured mass and other columns are carried along, and class columns keep their
    names. A chunk is written while the
    next one is computed in another thread.

    Parameters
    ----------
    chunks : iterable of ProbabilityTable or Rows
        The table: a `Scan` of one on disk, ``[table]`` for one in memory.
    coefficients : Coefficients
        Fitted for the table's classes.
    out : path-like
        The table to write; its suffix names the format. It may be the file that `chunks` are read
        from: it is replaced only when everything is written.
    progress : callable, optional
        Receives the number of rows done after each chunk.

    Returns
    -------
    Application

    Raises
    ------
    CoefficientsFormatError
        If the coefficients were fitted for other classes.
    InvalidInputError
        For bad rows, when they are reached; an existing file at `out` then stays as it was.
    OutputError
        If `out` cannot be written.
    """
    counts = AppliedCounts()
    with open_writer(out, coefficients.classes) as writer:
        for applied in ahead(reweighted(chunks, coefficients)):
            writer.write(applied.rows, applied.predictions, others=applied.rows.others)
            counts.add(applied)
            if progress is not None:
                progress(counts.n_rows)
    return counts.application


def estimate_stream(
    chunks: Iterable[Rows],
    coefficients: Coefficients,
    *,
    progress: Callable[[int], None] | None = None,
) -> PriorEstimate:
    """Estimate the class mix of a table of any size; labels are not read.

    A uniform sample of its rows is used: 20,000 rows, or half a million cells if that is less.

    Parameters
    ----------
    chunks : iterable of ProbabilityTable or Rows
        The table: a `Scan` of one on disk, ``[table]`` for one in memory.
    coefficients : Coefficients
        Fitted for the table's classes; their calibration is used.
    progress : callable, optional
        Receives the number of rows done after each chunk.

    Returns
    -------
    PriorEstimate

    Raises
    ------
    CoefficientsFormatError
        If the coefficients were fitted for other classes, or hold no calibration.
    InvalidInputError
        For bad rows, or no row.
    """
    calibration = coefficients.calibration
    sample = RowSample(most_rows(len(coefficients.classes)))
    for chunk in chunks:
        check_same_classes(chunk, coefficients)
        sample.add(chunk.probabilities)
        if progress is not None:
            progress(sample.n_seen)
    if not sample.n_seen:
        raise InvalidInputError(
            "there are no rows to estimate the target prior from", hint="Give a table with rows"
        )
    return estimate_prior(sample.rows, calibration)


class Applied(NamedTuple):
    """Rows with their reweighted probabilities and predictions."""

    rows: Rows
    predictions: NDArray[np.integer]
    n_changed: int


class AppliedCounts:
    """What an `Application` says of all rows."""

    def __init__(self) -> None:
        self.n_rows = self.n_changed = 0
        self._masses = MassCounts()

    def add(self, applied: Applied) -> None:
        """Count some more rows."""
        self.n_rows += len(applied.rows)
        self.n_changed += applied.n_changed
        if applied.rows.mass is not None:
            self._masses.add(applied.rows.mass)

    def join(self, other: AppliedCounts) -> None:
        """Add the counts of another share of the table."""
        self.n_rows += other.n_rows
        self.n_changed += other.n_changed
        self._masses.join(other._masses)

    @property
    def application(self) -> Application:
        """The counts of all rows."""
        return Application(self.n_rows, self.n_changed, self._masses.summary)


def reweighted(chunks: Iterable[Rows], coefficients: Coefficients) -> Iterator[Applied]:
    """Yield rows with reweighted probabilities and predictions.

    Raises
    ------
    CoefficientsFormatError
        If the coefficients were fitted for other classes.
    """
    multipliers = coefficients.multipliers
    for chunk in chunks:
        check_same_classes(chunk, coefficients)
        p = chunk.probabilities
        predictions = decide(p, multipliers)
        rows = chunk.with_probabilities(reweight(p, multipliers))
        yield Applied(rows, predictions, int(np.count_nonzero(predictions != decide(p))))
