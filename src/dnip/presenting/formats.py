"""Values, the columns of tables, and both as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, TypeAlias


class Estimate(NamedTuple):
    """A number measured on some rows, and the confidence interval of its value on endless rows.

    COBias on few rows is larger than on endless ones, so it may lie above its interval.
    """

    value: float
    low: float
    high: float

    @classmethod
    def mean(cls, values: Sequence[float], intervals: Sequence[Sequence[float]]) -> Estimate:
        """Return the mean over runs, with the mean ends of their intervals.

        All runs are scored on the same rows, so the chance in these rows does not average out.
        """
        low, high = (fmean(ends) for ends in zip(*intervals, strict=True))
        return cls(fmean(values), low, high)


#: A cell of a table. None is an empty place; a float is printed with the column's digits.
Value: TypeAlias = str | int | float | Estimate | None


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    title : str
    digits : int
        Digits after the point, of all numbers but whole ones.
    group : str
        A heading above neighbouring columns of the same group; empty for none.
    signed : bool
        Whether numbers above 0 have a plus sign, as differences do.
    right : bool
        Whether texts are set to the right, as numbers are.
    wide : bool
        Whether the column is left out on a terminal, which has no room for it.
    """

    title: str
    digits: int = 1
    group: str = ""
    signed: bool = False
    right: bool = False
    wide: bool = False


#: A row of a table: a value for each column, or a heading across the table.
Row: TypeAlias = Sequence[Value] | str


def show(value: Value, column: Column) -> str:
    """Return a value as a column prints it.

    Examples
    --------
    >>> [show(v, Column("accuracy", 3)) for v in (0.5213, 1234, "?", None)]
    ['0.521', '1,234', '?', '-']
    >>> show(Estimate(0.12, 0.1, 0.15), Column("change", 2, signed=True))
    '+0.12 [+0.10, +0.15]'
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Estimate):
        shown, low, high = (show(part, column) for part in value)
        return f"{shown} [{low}, {high}]"
    if value is None or not math.isfinite(value):
        return "-"
    sign = "+" if column.signed else ""
    if isinstance(value, int):
        return f"{value:{sign},}"
    return f"{round(value, column.digits) + 0.0:{sign},.{column.digits}f}"  # no minus before 0


def percent(rate: float) -> str:
    """Return a rate in per cent, with the digits that `show` gives it with three.

    Examples
    --------
    >>> percent(198 / 260), percent(0.8125), show(0.8125, Column("accuracy", 3))
    ('76.2 %', '81.2 %', '0.812')
    """
    return f"{100 * round(rate, 3):.1f} %"
