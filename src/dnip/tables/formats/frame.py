"""Data frames of pandas, polars, Arrow and others, through narwhals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.optional import load_optional
from dnip.base.validation import check_choice
from dnip.tables.block import block_of
from dnip.tables.cells import matrix_from_numbers
from dnip.tables.chunk import RawChunk
from dnip.tables.columns import ID, LABEL, resolve_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dnip.tables.chunk import Rows

#: Libraries that data frames can be made with.
LIBRARIES = ("pandas", "polars", "pyarrow")

_SOURCE = "frame"


def read_frame(frame: Any, classes: tuple[str, ...] | None) -> RawChunk:  # noqa: ANN401
    """Return the rows of a data frame; an index is ignored.

    Raises
    ------
    InvalidInputError
        For anything but a data frame whose rows are in memory, and for columns that are missing.
    """
    columns = _series_of(frame)
    names = [str(series.name) for series in columns]
    layout = resolve_columns(names, classes=classes, source=_SOURCE)
    series_of = dict(zip(names, columns, strict=True))
    cells = {name: _cells(series_of[name]) for name in layout.columns}
    return RawChunk(
        layout=layout,
        numbers=matrix_from_numbers(
            [cells[name] for name in layout.numbers],
            layout.location(),
        ),
        labels=list(cells[LABEL]) if layout.has_labels else None,
        ids=list(cells[ID]) if layout.has_ids else None,
    )


def make_frame(rows: Rows, library: str) -> Any:  # noqa: ANN401
    """Return rows as a data frame with the columns of a file.

    Raises
    ------
    InvalidInputError
        For a library that is not one of :data:`LIBRARIES`.
    MissingDependencyError
        If the library is not installed.
    """
    check_choice("library", library, LIBRARIES)
    extra = "parquet" if library == "pyarrow" else library
    load_optional(library, purpose="make data frames", extra=extra)
    narwhals = load_optional("narwhals", purpose="make data frames", extra="pandas")
    block = block_of(rows)
    arrays = [*map(block.cells, block.leading), *block.probabilities.T]
    columns = dict(zip(block.columns, arrays, strict=True))
    return narwhals.from_dict(columns, backend=library).to_native()


def _series_of(frame: Any) -> list[Any]:  # noqa: ANN401
    """Return the columns of a data frame as series of narwhals."""
    narwhals = load_optional("narwhals", purpose="read data frames", extra="pandas")
    try:
        return list(narwhals.from_native(frame, eager_only=True).iter_columns())
    except TypeError as error:
        kind = type(frame)
        raise InvalidInputError(
            f"a data frame is needed; got {kind.__module__.partition('.')[0]}.{kind.__name__}",
            hint="Collect a lazy frame first; for arrays use ProbabilityTable(probabilities, ...)",
        ) from error
    except narwhals.exceptions.DuplicateError as error:
        raise InvalidInputError(
            f"{_SOURCE}: two columns have the same name", hint="Give every column a name of its own"
        ) from error


def _cells(series: Any) -> NDArray[np.generic] | Sequence[object]:  # noqa: ANN401
    """Return an array where the column has no empty cells, Python values where it has."""
    if series.dtype.is_numeric() and not series.null_count():
        return np.asarray(series.to_numpy())
    empty = series.is_null()
    return [None if missing else cell for cell, missing in zip(series, empty, strict=True)]
