"""Data frames of pandas, polars, Arrow and others, through narwhals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dnip.base.errors import InvalidInputError
from dnip.base.optional import load_optional
from dnip.base.validation import check_choice
from dnip.tables.columns import resolve_columns
from dnip.tables.rows import Block, as_list

#: Libraries that data frames can be made with.
LIBRARIES = ("pandas", "polars", "pyarrow")

_SOURCE = "frame"


def read_frame(frame: Any, classes: tuple[str, ...] | None) -> Block:  # noqa: ANN401
    """Return the rows of a data frame; an index is ignored.

    Raises
    ------
    InvalidInputError
        For anything but a data frame whose rows are in memory, and for columns that are missing.
    """
    found = _series_of(frame)
    names = [str(one.name) for one in found]
    series = dict(zip(names, found, strict=True))
    if classes is None and len(names) > 1 and all(name.isdigit() for name in names):
        classes = tuple(names)  # no row of a file without a header, but numbers of classes
    layout = resolve_columns(names, classes=classes, source=_SOURCE)
    return Block(layout, {name: _cells(series[name]) for name in layout.columns})


def make_frame(block: Block, library: str) -> Any:  # noqa: ANN401
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
    columns = {
        name: cells if name in block.layout.probabilities else as_list(cells)
        for name, cells in block.columns.items()
    }
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
