"""Data frames that stand where an array could: their columns are the classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dnip.base.classes import check_classes, default_classes, names_of
from dnip.base.columns import Layout, resolve_columns
from dnip.base.errors import load_optional
from dnip.base.validation import check_choice

#: Libraries that data frames can be made with.
LIBRARIES = ("pandas", "polars", "pyarrow")


def is_frame(table: object) -> bool:
    """Return whether this is a data frame, of pandas or another library."""
    return any(kind.__name__ == "DataFrame" for kind in type(table).__mro__)


def frame_layout(columns: Iterable[object], classes: Sequence[str] | None, source: str) -> Layout:
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
        return resolve_columns(names, classes=order, source=source)
    if tuple(names) == default_classes(len(names)):
        layout = Layout(source, tuple(names), tuple(names), tuple(names))
    else:
        unnamed = order == default_classes(len(order))
        layout = resolve_columns(names, classes=None if unnamed else order, source=source)
    return replace(layout, classes=names_of(len(layout.probabilities), order, source))


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
        For a class without a column, and for columns that leave a doubt.

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
    return table[[held[name] for name in layout.probabilities]], None if unnamed else known


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
