"""Data frames of pandas, polars and other libraries: read, and made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError, listed, load_optional
from dnip.base.validation import check_choice
from dnip.tables.cells import Cells, Location, check_complete, check_numbers, is_missing
from dnip.tables.columns import NOTHING, RESERVED, Asked, Layout, plain_name, resolve_columns
from dnip.tables.labels import LABEL, check_classes, default_classes, names_of
from dnip.tables.rows import Block, Rows, check_blocks, joined

#: Libraries that data frames can be made with.
LIBRARIES = ("pandas", "polars", "pyarrow")
# What messages call a data frame.
_FRAME = "frame"


def is_frame(table: object) -> bool:
    """Return whether this is a data frame, of pandas or another library."""
    return any(kind.__name__ == "DataFrame" for kind in type(table).__mro__)


def read_frame(
    frame: Any,  # noqa: ANN401 - of any library
    classes: Sequence[str] | None,
    label: str | None = None,
    y: ArrayLike | None = None,
    asked: Asked = NOTHING,
) -> Rows:
    """Return the rows of a data frame; an index is ignored.

    Columns that hold no numbers are no classes where every label names one that does.

    Parameters
    ----------
    frame : data frame
    classes : sequence of str or None
    label : str, optional
        The column of labels, if it is not `label`.
    y : array-like of shape (M,), optional
        Labels that are given next to the frame.
    asked : Asked, optional
        Columns that the caller asks for.

    Raises
    ------
    InvalidInputError
        For anything but a data frame whose rows are in memory, and for columns that are missing.
    """
    narwhals = load_optional("narwhals", purpose="read data frames", extra="pandas")
    try:
        series: list[Any] = list(narwhals.from_native(frame, eager_only=True).iter_columns())
    except TypeError as error:
        kind = type(frame)
        raise InvalidInputError(
            f"a data frame is needed; got {kind.__module__.partition('.')[0]}.{kind.__name__}",
            hint="Collect a lazy frame first; for arrays use ProbabilityTable(probabilities, ...)",
        ) from error
    except narwhals.exceptions.DuplicateError as error:
        raise InvalidInputError(
            f"{_FRAME}: two columns have the same name", hint="Give every column a name of its own"
        ) from error
    if label is not None:
        series = [column for column in series if str(column.name) != LABEL or label == LABEL]
        series = [column.alias(LABEL) if column.name == label else column for column in series]
    columns = {str(column.name): column for column in series}
    if label is not None and LABEL not in columns:
        raise InvalidInputError(
            f"{_FRAME}: there is no column {label}, which was named for the labels",
            hint=f"The columns are {listed([*columns])}",
        )
    if classes is None:
        labels = columns.get(LABEL, ()) if y is None else np.asarray(y, object).ravel()
        classes = _named_by({n: c for n, c in columns.items() if n not in asked.names}, labels)
    layout = frame_layout([column.name for column in series], classes, _FRAME, asked)
    wanted = layout.wanted([name for name, cells in columns.items() if cells.dtype.is_numeric()])
    block = Block(layout, {name: _cells(columns[name]) for name in wanted})
    return joined(check_blocks([block], _FRAME))


def _named_by(columns: Mapping[str, Any], labels: Any) -> list[str] | None:  # noqa: ANN401
    """Return the classes of columns of numbers, if there are others, and labels name only these."""
    others = [name for name in columns if name not in RESERVED]
    numbers = [plain_name(name) for name in others if columns[name].dtype.is_numeric()]
    known = {str(label) for label in labels if not is_missing(label) and str(label)}
    return numbers if len(numbers) < len(others) and known and known <= set(numbers) else None


def _cells(series: Any) -> Cells:  # noqa: ANN401
    """Return an array where the column has no empty cells, Python values where it has."""
    if series.dtype.is_numeric() and not series.null_count():
        return np.asarray(series.to_numpy())
    empty = series.is_null()
    return [None if missing else cell for cell, missing in zip(series, empty, strict=True)]


def frame_layout(
    columns: Iterable[object], classes: Sequence[str] | None, source: str, asked: Asked = NOTHING
) -> Layout:
    """Say what each column of a data frame holds, as `resolve_columns` does for those of a file.

    Columns that are numbers 0, 1, 2, ... have no names: they are taken by position. So are columns
    of other names where the classes have none but their indices.

    Examples
    --------
    >>> frame_layout(["dog", "label", "cat"], ["cat", "dog"], "frame").probabilities
    ('cat', 'dog')
    >>> frame_layout([0, 1], ["cat", "dog"], "frame").probabilities
    ('0', '1')
    """
    names = [str(column) for column in columns]
    order = None if classes is None else check_classes(classes)
    if order is None and len(names) > 1 and all(name.isdigit() for name in names):
        order = tuple(names)
    if order is None or set(order) <= set(names):
        return resolve_columns(names, classes=order, source=source, asked=asked)
    unnamed = default_classes(len(order)) in (order, tuple(names))
    known = None if unnamed else order
    layout = resolve_columns(names, classes=known, source=source, asked=asked)
    taken = names_of(len(layout.probabilities), order, source)
    return replace(layout, classes=taken, from_header=False)


def take_columns(
    table: Any,  # noqa: ANN401 - anything that holds probabilities
    classes: Sequence[str] | None,
    source: str = "probabilities",
) -> tuple[Any, tuple[str, ...] | None]:
    """Return the class columns of a data frame and their names; anything else as it is.

    The names are None where there are none but indices.

    Raises
    ------
    InvalidInputError
        For a class without a column, for columns that leave a doubt, and for rows that sum to 1
        only with another column.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"text": ["hi"], "dog": [0.25], "cat": [0.75]})
    >>> take_columns(frame, ["cat", "dog"])[0]
        cat   dog
    0  0.75  0.25
    """
    names = None if classes is None else check_classes(classes)
    if not is_frame(table):
        return table, names
    layout = frame_layout(table.columns, classes, source)
    held = {str(column): column for column in table.columns}
    known = names or layout.classes
    unnamed = names is None and known == default_classes(len(known))
    taken = table[[held[name] for name in layout.probabilities]]
    if layout.others:
        spare = {name: np.asarray(table[held[name]]) for name in layout.others}
        check_complete(check_numbers(taken, source), spare, layout.classes, Location(source))
    return taken, None if unnamed else known


def check_same_order(frame: Any, name: str, values: Any) -> None:  # noqa: ANN401
    """Refuse a series whose index is that of a data frame in another order."""
    index: Any = getattr(frame, "index", None)
    other: Any = getattr(values, "index", None)
    if not (hasattr(index, "equals") and hasattr(other, "equals")) or index.equals(other):
        return
    if len(index) == len(other) and {*index} == {*other}:
        raise InvalidInputError(
            f"{name} has the index of the data frame in another order",
            hint=f"Give {name}.loc[frame.index]; or {name}.to_numpy() if its order is the frame's",
        )


def make_frame(columns: Mapping[str, Any], library: str) -> Any:  # noqa: ANN401
    """Return columns as a data frame.

    Raises
    ------
    InvalidInputError
        For a library that is not one of :data:`LIBRARIES`.
    MissingDependencyError
        If it is not installed.

    Examples
    --------
    >>> make_frame({"class": ["cat"]}, "polars").columns
    ['class']
    """
    check_choice("library", library, LIBRARIES)
    extra = "parquet" if library == "pyarrow" else library
    load_optional(library, purpose="make data frames", extra=extra)
    narwhals = load_optional("narwhals", purpose="make data frames", extra="pandas")
    return narwhals.from_dict(columns, backend=library).to_native()
