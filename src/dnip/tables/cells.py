"""From the columns of a file to one float64 matrix with contiguous columns."""

from __future__ import annotations

import math
from datetime import date, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.tables.chunk import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from dnip.base.typing import Floats, Probabilities
    from dnip.tables.chunk import CellLocation

_NUMBERS = (int, float, Decimal, np.integer, np.floating)


def matrix_from_text(columns: Sequence[Sequence[str]], location: CellLocation) -> Probabilities:
    """Turn columns of text into a matrix.

    Parameters
    ----------
    columns : sequence of N sequences of M texts
        The class columns in class order.
    location : CellLocation
        How to name a cell in a message.

    Returns
    -------
    ndarray of shape (M, N)
        Values as found: they may be negative, infinite or NaN.

    Raises
    ------
    InvalidInputError
        For the first cell, row by row, that holds no number.

    Examples
    --------
    >>> from dnip.tables.chunk import CellLocation
    >>> matrix_from_text([["0.5", "1"], ["0.5", "0"]], CellLocation("t", ("p0", "p1")))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return _matrix(columns, _floats_from_text, location)


def matrix_from_numbers(
    columns: Sequence[Sequence[Any] | NDArray[Any]], location: CellLocation
) -> Probabilities:
    """Turn columns of arrays or Python values into a matrix; text and booleans are no numbers.

    Parameters
    ----------
    columns : sequence of N arrays or sequences of M values
        The class columns in class order; None is an empty cell.
    location : CellLocation
        How to name a cell in a message.

    Returns
    -------
    ndarray of shape (M, N)
        Values as found: they may be negative, infinite or NaN.

    Raises
    ------
    InvalidInputError
        For the first cell, row by row, that holds no number.

    Examples
    --------
    >>> from dnip.tables.chunk import CellLocation
    >>> matrix_from_numbers([[0.5, 1], [0.5, 0]], CellLocation("t", ("p0", "p1")))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    return _matrix(columns, _floats_from_numbers, location)


def _matrix(
    columns: Sequence[Any], convert: Callable[[Any], NDArray[Any]], location: CellLocation
) -> Probabilities:
    matrix = np.empty((len(columns[0]), len(columns)), dtype=np.float64, order="F")
    try:
        for column, cells in enumerate(columns):
            matrix[:, column] = convert(cells)
    except (ValueError, OverflowError):
        # Whole columns are converted at once, for speed; the message needs the cell.
        for row, cells_of_row in enumerate(zip(*map(list, columns), strict=True)):
            for column, cell in enumerate(cells_of_row):
                _check_cell(cell, convert, location.cell(row, column), location.remedy)
        raise
    return matrix


def _floats_from_text(cells: Sequence[str]) -> Floats:
    if "_" in "".join(cells):
        raise ValueError("float() would read 0_1 as a number")
    return np.fromiter(map(float, cells), np.float64, len(cells))


def _floats_from_numbers(cells: Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu":
        return cells  # the matrix takes them as float64
    for kind in set(map(type, cells)):
        if not issubclass(kind, _NUMBERS) or issubclass(kind, bool | np.timedelta64):
            raise ValueError(f"{kind.__name__} is no type of number")
    return np.fromiter(map(float, cells), np.float64, len(cells))


def _check_cell(
    cell: object, convert: Callable[[Any], NDArray[Any]], where: str, remedy: str
) -> None:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        raise InvalidInputError(
            f"{where}: the cell is empty",
            hint=remedy or "Give a number in every row; a class that is ruled out has 0",
        )
    if isinstance(cell, np.datetime64 | np.timedelta64 | date | time | timedelta):
        raise InvalidInputError(
            f"{where}: {str(cell)!r} is a date or a time, not a number",
            hint=remedy or "Give probabilities there, numbers from 0 to 1",
        )
    try:
        convert([cell])
    except OverflowError:
        raise InvalidInputError(
            f"{where}: the number is too large", hint="Probabilities lie between 0 and 1"
        ) from None
    except ValueError:
        raise InvalidInputError(
            f"{where}: {shown(cell)} is not a number",
            hint=remedy or "Write numbers with a decimal point, such as 0.25",
        ) from None


def is_missing(value: object) -> bool:
    """Say whether a cell is empty: None or NaN.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing("")
    (True, True, False)
    """
    return value is None or (isinstance(value, float) and math.isnan(value))
