"""Coefficients applied to tables of any size."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dnip.method.coefficients import Coefficients, CoefficientsLike, as_coefficients
from dnip.method.prediction import decide, reweight
from dnip.priors import PriorEstimate, estimate_prior, most_rows
from dnip.tables import Rows, Scan, ahead, open_writer
from dnip.tables.columns import DEFERRED
from dnip.tables.files import counted_rows
from dnip.tables.rows import CapturedMass, MassCounts
from dnip.tables.sampling import RowSample
from dnip.tables.table import TableLike, as_blocks, check_raw, check_same_classes


class Application(NamedTuple):
    """The result of applying coefficients to a table.

    Attributes
    ----------
    n_rows, n_changed, n_deferred : int
        Rows written, those whose decision differs from the raw argmax, and those
        that are deferred.
    captured_mass : CapturedMass or None
        How many rows have a low captured mass; None where the table has no such column.
    """

    n_rows: int
    n_changed: int
    n_deferred: int
    captured_mass: CapturedMass | None


def apply(
    data: TableLike | Iterable[Rows],
    coefficients: CoefficientsLike,
    out: str | os.PathLike[str],
    *,
    classes: Sequence[Any] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Application:
    """Write reweighted probabilities and predictions, holding a few blocks of rows in memory.

    Labels, ids, captured mass and other columns are carried along, and class columns keep their
    names. A block is written while the next one is computed in another thread.

    Parameters
    ----------
    data : array-like, DataFrame, ProbabilityTable, path, or iterable of Rows
        The table, of any size; labels are not needed.
    coefficients : Coefficients, Fit or path
        Fitted for the table's classes.
    out : path-like
        The table to write; its suffix names the format. It may be the file that `data` names: it
        is replaced only when everything is written.
    classes : sequence, optional
        The class of each column; by default those of the coefficients.
    progress : callable, optional
        Receives the number of rows done after each block.

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

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import dnip
    >>> weights = dnip.Coefficients(["ham", "spam"], [15, 30], 30)
    >>> with TemporaryDirectory() as folder:
    ...     done = dnip.apply([[0.6, 0.4], [0.9, 0.1]], weights, f"{folder}/out.csv")
    >>> done.n_rows, done.n_changed
    (2, 1)
    """
    coefficients = as_coefficients(coefficients)
    names = coefficients.classes if classes is None else classes
    blocks, work = as_blocks(data, classes=names, others=True), partial(reweighted, coefficients)
    if isinstance(blocks, Scan):
        done = blocks.each(work, progress)
    else:
        done = work(counted_rows(blocks, progress))
    n_rows = n_changed = n_deferred = 0
    masses = MassCounts()
    with open_writer(out) as writer:
        for applied in ahead(done):
            writer.write(applied.rows, applied.predictions)
            n_rows += len(applied.rows)
            n_changed += applied.n_changed
            n_deferred += applied.n_deferred
            if applied.rows.mass is not None:
                masses.add(applied.rows.mass)
    return Application(n_rows, n_changed, n_deferred, masses.summary)


def estimate_stream(
    chunks: Iterable[Rows],
    coefficients: CoefficientsLike,
    *,
    progress: Callable[[int], None] | None = None,
) -> PriorEstimate:
    """Estimate the class mix of a table of any size; labels are not read.

    A uniform sample of its rows is used: 20,000 rows, or half a million cells if that is less.

    Parameters
    ----------
    chunks : iterable of ProbabilityTable or Rows
        The table: a `Scan` of one on disk, ``[table]`` for one in memory.
    coefficients : Coefficients, Fit or path
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
        For bad rows.
    """
    coefficients = as_coefficients(coefficients)
    calibration = coefficients.calibration  # refused before a long table is read
    sample = RowSample(most_rows(len(coefficients.classes)))
    for chunk in counted_rows(chunks, progress):
        check_same_classes(chunk, coefficients.classes, coefficients.path)
        check_raw(chunk)
        sample.add(probabilities=chunk.probabilities)
    return estimate_prior(sample.columns["probabilities"], calibration)


class _Applied(NamedTuple):
    """Rows with their reweighted probabilities and predictions."""

    rows: Rows
    predictions: NDArray[np.integer]
    n_changed: int
    n_deferred: int


def reweighted(coefficients: Coefficients, chunks: Iterable[Rows]) -> Iterator[_Applied]:
    """Yield rows with reweighted probabilities and predictions.

    Raises
    ------
    CoefficientsFormatError
        If the coefficients were fitted for other classes.
    """
    multipliers = coefficients.multipliers
    for chunk in chunks:
        check_same_classes(chunk, coefficients.classes, coefficients.path)
        check_raw(chunk)
        p = chunk.probabilities
        predictions = decide(p, multipliers)
        corrected, n_deferred = reweight(p, multipliers), 0
        rows = chunk.changed(probabilities=corrected, corrected_by=coefficients.digest)
        if coefficients.defer is not None:
            deferred = coefficients.defer.deferred(rows.probabilities, predictions)
            n_deferred = int(deferred.sum())
            others = {DEFERRED: deferred.astype(np.int64).tolist(), **(rows.others or {})}
            rows = rows.changed(others=others)
        n_changed = int(np.count_nonzero(predictions != decide(p)))
        yield _Applied(rows, predictions, n_changed, n_deferred)
