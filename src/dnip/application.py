"""Coefficients applied to tables of any size."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dnip.evaluation import check_same_classes
from dnip.tables import open_writer

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from dnip.coefficients import Coefficients
    from dnip.tables import ProbabilityTable


def apply_stream(
    chunks: Iterable[ProbabilityTable],
    coefficients: Coefficients,
    out: str | os.PathLike[str],
    *,
    progress: Callable[[int], None] | None = None,
) -> tuple[int, int]:
    """Write reweighted probabilities and predictions, holding one chunk in memory.

    Parameters
    ----------
    chunks : iterable of ProbabilityTable
        The table; ``[table]`` for one in memory.
    coefficients : Coefficients
        Fitted for the table's classes.
    out : path-like
        The table to write; its suffix names the format.
    progress : callable, optional
        Receives the number of rows done after each chunk.

    Returns
    -------
    n_rows, n_changed : int
        Rows written, and those whose decision differs from the raw argmax.

    Raises
    ------
    CoefficientsFormatError
        If the coefficients were fitted for other classes.
    InvalidInputError
        For bad rows, as they are reached; nothing is left at `out` then but what stood there.
    OutputError
        If `out` cannot be written.
    """
    n_rows = n_changed = 0
    with open_writer(out, coefficients.classes) as writer:
        for chunk in chunks:
            check_same_classes(chunk, coefficients)
            predictions = coefficients.predict(chunk.probabilities)
            reweighted = replace(chunk, probabilities=coefficients.apply(chunk.probabilities))
            writer.write(reweighted, predictions)
            n_rows += len(chunk)
            n_changed += int(np.count_nonzero(predictions != chunk.probabilities.argmax(axis=1)))
            if progress is not None:
                progress(n_rows)
    return n_rows, n_changed
