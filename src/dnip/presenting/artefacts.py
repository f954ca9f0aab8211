"""Tables and figures, not yet rendered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias


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

    def to_dict(self) -> dict[str, float]:
        """Return plain JSON values."""
        return dict(self._asdict())


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


@dataclass(frozen=True)
class Table:
    """A table, filled with what was measured.

    Attributes
    ----------
    name : str
        Of the files: ``<name>.md``, ``<name>.tex``, ``<name>.csv``.
    title : str
    columns : sequence of Column
    rows : sequence of Row
    caption : str
    notes : tuple of str
        Lines below the caption.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    caption: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A figure, drawn when it is rendered.

    Attributes
    ----------
    name : str
        Of the file: ``<name>.png``.
    title : str
        Stands above all panels; empty for none.
    draw : callable
        Receives an empty ``matplotlib.figure.Figure`` and draws into it.
    size : tuple of float
        Width and height in inches.
    """

    name: str
    title: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (8.0, 4.5)
