"""Data frames of pandas and polars, neither of which is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.tables.cells import matrix_from_numbers
from dnip.tables.chunk import RawChunk
from dnip.tables.columns import ID, LABEL, resolve_columns
from dnip.tables.place import FilePlace

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray

_SOURCE = "frame"


def read_frame(frame: pd.DataFrame | pl.DataFrame, classes: tuple[str, ...] | None) -> RawChunk:
    """Return the rows of a data frame; an index is ignored."""
    library = type(frame).__module__.partition(".")[0]
    if library not in {"pandas", "polars"} or type(frame).__name__ != "DataFrame":
        raise InvalidInputError(
            f"a pandas or polars DataFrame is needed; got {library}.{type(frame).__name__}",
            hint="Collect a lazy frame first; for arrays use ProbabilityTable(probabilities, ...)",
        )
    names = [str(name) for name in frame.columns]
    layout = resolve_columns(names, classes=classes, source=_SOURCE)
    read = _pandas_cells if library == "pandas" else _polars_cells
    own_name = dict(zip(names, frame.columns, strict=True))
    cells = {name: read(frame[own_name[name]]) for name in layout.columns}
    return RawChunk(
        layout=layout,
        numbers=matrix_from_numbers(
            [cells[name] for name in layout.numbers],
            FilePlace(_SOURCE, layout.numbers),
        ),
        labels=list(cells[LABEL]) if layout.has_labels else None,
        ids=list(cells[ID]) if layout.has_ids else None,
    )


def _pandas_cells(series: pd.Series) -> NDArray[np.generic] | Sequence[object]:
    if series.dtype.kind in "fiu" and not series.hasnans:
        return np.asarray(series.to_numpy())
    cells = series.astype(object)
    return [None if missing else cell for cell, missing in zip(cells, cells.isna(), strict=True)]


def _polars_cells(series: pl.Series) -> NDArray[np.generic] | Sequence[object]:
    if series.dtype.is_numeric() and not series.null_count():
        return np.asarray(series.to_numpy())
    cells: list[object] = series.to_list()
    return cells
