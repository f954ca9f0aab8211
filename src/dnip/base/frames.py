"""Data frames that stand where an array could: their columns are the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from dnip.base.errors import InvalidInputError, listed
from dnip.base.optional import load_optional
from dnip.base.validation import check_choice

#: Libraries that data frames can be made with.
LIBRARIES = ("pandas", "polars", "pyarrow")

# Columns of a table that are no classes.
_NO_CLASSES = frozenset({"label", "id"})


def is_frame(table: object) -> bool:
    """Return whether this is a data frame, of pandas or another library."""
    return any(kind.__name__ == "DataFrame" for kind in type(table).__mro__)


def class_columns(table: object) -> list[str] | None:
    """Return the class names that the columns of a data frame have, None where they have none.

    Raises
    ------
    InvalidInputError
        For a column `label` or `id` among them.

    Examples
    --------
    >>> import pandas as pd
    >>> class_columns(pd.DataFrame({"cat": [0.5], "dog": [0.5]}))
    ['cat', 'dog']
    >>> class_columns(pd.DataFrame({"p0": [0.5], "p1": [0.5]})) is None
    True
    """
    if not is_frame(table):
        return None
    columns = list(cast("Any", table).columns)
    extra = [name for name in columns if name in _NO_CLASSES]
    if extra:
        raise InvalidInputError(
            f"probabilities has a column {extra[0]}", hint="Give the class columns alone"
        )
    numbered = [f"p{index}" for index in range(len(columns))]
    named = all(isinstance(name, str) for name in columns) and sorted(columns) != sorted(numbered)
    return columns if named else None


def check_column_names(
    table: object,
    classes: Sequence[str],
    *,
    name: str = "probabilities",
    hint: str = "Put the columns into this order",
) -> None:
    """Refuse a data frame whose columns are named after classes, but not these in this order.

    Columns `p0`, `p1`, ... in order and columns without names of their own, such as 0, 1, 2, are
    taken by position; so are all names where the classes have none but their indices.

    Parameters
    ----------
    table : object
        What holds the probabilities; anything but a data frame has no names to check.
    classes : sequence of str
        Class names, in the order that is needed.
    name, hint : str
        What the message calls the table, and the remedy.

    Raises
    ------
    InvalidInputError
        For other columns, or another order of them.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"cat": [0.5], "dog": [0.5]})
    >>> check_column_names(frame, ["cat", "dog"])
    >>> check_column_names(frame[["dog", "cat"]], ["cat", "dog"])
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: the columns of probabilities are dog, cat, but the classes in \
order are cat, dog. Put the columns into this order
    """
    if not is_frame(table):
        return
    columns = list(cast("Any", table).columns)
    names = [str(column) for column in columns]
    numbers = [str(index) for index in range(len(classes))]
    accepted = [list(classes), [f"p{number}" for number in numbers], numbers]
    if names in accepted:
        return
    disordered = any(sorted(names) == sorted(order) for order in accepted)
    named = numbers != list(classes) and any(isinstance(column, str) for column in columns)
    if disordered or named or not set(names).isdisjoint(classes):
        raise InvalidInputError(
            f"the columns of {name} are {listed(names)}, but the classes in order are "
            f"{listed(classes)}",
            hint=hint,
        )


def by_names(table: Any, classes: Sequence[str]) -> Any:  # noqa: ANN401 - any data frame or array
    """Return the class columns of a data frame that has all of them; anything else as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"text": ["hi"], "dog": [0.25], "cat": [0.75]})
    >>> by_names(frame, ["cat", "dog"])
        cat   dog
    0  0.75  0.25
    """
    if not is_frame(table) or not set(classes) <= set(table.columns):
        return table
    return table[list(classes)]


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
