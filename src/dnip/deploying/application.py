"""Coefficients applied to tables of any size."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import InvalidInputError, OutputError
from dnip.base.files import check_writable
from dnip.method.coefficients import Coefficients
from dnip.method.prediction import decide, reweight
from dnip.priors.estimate import PriorEstimate, estimate_prior, most_rows
from dnip.tables import Rows, Scan, ahead, open_writer
from dnip.tables.captured_mass import CapturedMass, MassCounts
from dnip.tables.columns import DEFERRED
from dnip.tables.guards import check_raw, check_same_classes
from dnip.tables.on_cluster import SharedTable
from dnip.tables.sampling import RowSample


class Application(NamedTuple):
    """The result of applying coefficients to a table.

    Attributes
    ----------
    n_rows, n_changed, n_deferred : int
        Rows written, those whose decision differs from the raw argmax, and those that go to
        somebody better.
    captured_mass : CapturedMass or None
        How many rows have a low captured mass; None where the table has no such column.
    """

    n_rows: int
    n_changed: int
    n_deferred: int
    captured_mass: CapturedMass | None


def apply_stream(
    chunks: Iterable[Rows] | SharedTable,
    coefficients: Coefficients,
    out: str | os.PathLike[str],
    *,
    progress: Callable[[int], None] | None = None,
) -> Application:
    """Write reweighted probabilities and predictions, holding a few chunks in memory.

    Labels, ids, captured mass and other columns are carried along, and class columns keep their
    names. A chunk is written while the next one is computed in another thread.

    Parameters
    ----------
    chunks : iterable of ProbabilityTable or Rows, or SharedTable
        The table: a `Scan` of one on disk, ``[table]`` for one in memory.
    coefficients : Coefficients
        Fitted for the table's classes.
    out : path-like
        The table to write; its suffix names the format. It may be the file that `chunks` are read
        from: it is replaced only when everything is written. The workers of a cluster write a
        folder of Parquet files, which hold the rows in the same order.
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
    if isinstance(chunks, SharedTable):
        return _apply_on_cluster(chunks, coefficients, Path(out).absolute(), progress)
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
        check_raw(chunk)
        sample.add(chunk.probabilities)
        if progress is not None:
            progress(sample.n_rows)
    if not sample.n_rows:
        raise InvalidInputError(
            "there are no rows to estimate the target prior from", hint="Give a table with rows"
        )
    return estimate_prior(sample.rows, calibration)


class Applied(NamedTuple):
    """Rows with their reweighted probabilities and predictions."""

    rows: Rows
    predictions: NDArray[np.integer]
    n_changed: int
    n_deferred: int


class AppliedCounts:
    """What an `Application` says of all rows."""

    def __init__(self) -> None:
        self.n_rows = self.n_changed = self.n_deferred = 0
        self._masses = MassCounts()

    def add(self, applied: Applied) -> None:
        """Count some more rows."""
        self.n_rows += len(applied.rows)
        self.n_changed += applied.n_changed
        self.n_deferred += applied.n_deferred
        if applied.rows.mass is not None:
            self._masses.add(applied.rows.mass)

    def join(self, other: AppliedCounts) -> None:
        """Add the counts of another share of the table."""
        self.n_rows += other.n_rows
        self.n_changed += other.n_changed
        self.n_deferred += other.n_deferred
        self._masses.join(other._masses)

    @property
    def application(self) -> Application:
        """The counts of all rows."""
        return Application(self.n_rows, self.n_changed, self.n_deferred, self._masses.summary)


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
        check_raw(chunk)
        p = chunk.probabilities
        predictions = decide(p, multipliers)
        rows, n_deferred = chunk.corrected(reweight(p, multipliers), coefficients.digest), 0
        if coefficients.defer is not None:
            deferred = coefficients.defer.deferred(rows.probabilities, predictions)
            n_deferred = int(deferred.sum())
            others = {DEFERRED: deferred.astype(np.int64).tolist(), **(rows.others or {})}
            rows = replace(rows, others=others)
        n_changed = int(np.count_nonzero(predictions != decide(p)))
        yield Applied(rows, predictions, n_changed, n_deferred)


def _apply_on_cluster(
    table: SharedTable,
    coefficients: Coefficients,
    folder: Path,
    progress: Callable[[int], None] | None,
) -> Application:
    if folder.suffix not in ("", ".parquet"):
        raise InvalidInputError(
            f"{folder}: a cluster writes a folder of Parquet files, not {folder.suffix}",
            hint="Give a name without a suffix, or with .parquet",
        )
    if folder.exists():
        raise OutputError(
            f"{folder} cannot be written: it exists", hint="Give another name, or delete it"
        )
    check_writable(folder)
    whole = Scan(table.path.absolute(), table.classes)
    check_ids = table.cluster.start(_read_if_ids, whole)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    counts = AppliedCounts()
    try:
        for done in table.each(_apply_share, coefficients, unfinished, others=True):
            counts.join(done)
            if progress is not None:
                progress(counts.n_rows)
        table.cluster.get(check_ids)  # also refuses a table without rows
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return counts.application


def _read_if_ids(scan: Scan) -> None:
    """Read a table with ids as a whole, which refuses an id that appears twice."""
    chunks = iter(scan)
    if next(chunks).ids is not None:
        for _ in chunks:
            pass


def _apply_share(scan: Scan, coefficients: Coefficients, folder: Path) -> AppliedCounts:
    """Write a file for each run of rows that follow one another; its name is that of the first."""
    counts = AppliedCounts()
    for first_row, run in _runs(reweighted(scan, coefficients)):
        with open_writer(folder / f"part-{first_row:015}.parquet", coefficients.classes) as writer:
            for applied in run:
                writer.write(applied.rows, applied.predictions, others=applied.rows.others)
                counts.add(applied)
    return counts


def _runs(applied: Iterator[Applied]) -> Iterator[tuple[int, Iterator[Applied]]]:
    """Group rows that follow one another in the table, by the first of them."""
    begin = end = -1

    def first_row(each: Applied) -> int:
        nonlocal begin, end
        place = each.rows.first_row or 0
        begin = begin if place == end else place
        end = place + len(each.rows)
        return begin

    return groupby(applied, first_row)
