"""Values, tables and sentences as text for a terminal of up to 80 columns."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len

from dnip.base.escaping import printable


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
    """

    title: str
    digits: int = 1
    group: str = ""
    signed: bool = False
    right: bool = False


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
        shown, low, high = (show(number, column) for number in value)
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


#: Columns of the terminal, 80 at most and where there is none.
WIDTH = min(max(shutil.get_terminal_size((80, 24)).columns, 40), 80)

# The narrowest that a column of text becomes where a table is too wide.
_LEAST = 12


def _on_one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def wrapped(text: str) -> str:
    """Return sentences in lines that fit; words that are longer than a line stay whole.

    Examples
    --------
    >>> print(wrapped("Some words. " * 8))
    Some words. Some words. Some words. Some words. Some words. Some words. Some
    words. Some words.
    """
    lines = (
        textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False) or [""]
        for line in text.split("\n")
    )
    return "\n".join("\n".join(parts) for parts in lines)


def shorten(text: str, most: int) -> str:
    """Return a text on one line, cut in the middle to so many letters: many differ at the end.

    Examples
    --------
    >>> shorten("neither here nor there", 12)
    'neithe…there'
    """
    ends = text if len(text) <= 20 * most else text[: 10 * most] + text[-10 * most :]
    line = printable(" ".join(ends.split()))
    tail = (most - 1) // 2
    return line if len(line) <= most else f"{line[: most - 1 - tail]}…{line[len(line) - tail :]}"


def to_text(columns: Sequence[Column], rows: Sequence[Row]) -> str:
    """Return a table for a terminal, its columns aligned.

    Where it is wider than a terminal, long texts are cut.

    Examples
    --------
    >>> rows = [("yes", 9, 0.5), ("no", 10, None)]
    >>> print(to_text([Column("class"), Column("rows"), Column("rate", 3)], rows))
    class  rows   rate
    yes       9  0.500
    no       10      -
    """
    values = [row for row in rows if not isinstance(row, str)]
    right = [_is_right(column, [row[c] for row in values]) for c, column in enumerate(columns)]
    shown = [[show(*pair) for pair in zip(row, columns, strict=True)] for row in values]
    lines = [[*map(_on_one_line, line)] for line in ([c.title for c in columns], *shown)]
    widths = _fitting([max(map(cell_len, cells)) for cells in zip(*lines, strict=True)], right)
    aligned = (_in_columns(line, right, widths) for line in lines)
    printed = [_groups_above(columns, widths)] if any(c.group for c in columns) else []
    printed.append(next(aligned))
    printed += [_on_one_line(row) if isinstance(row, str) else next(aligned) for row in rows]
    return "\n".join(printed)


def columns_to_text(
    columns: Mapping[Column, Sequence[Value]], optional: Sequence[Column] = ()
) -> str:
    """Return a table that is given by its columns.

    Where it is too wide, it goes without the optional ones, as many of them as it takes.
    """
    text = to_text([*columns], [*zip(*columns.values(), strict=True)])
    if not optional or max(map(cell_len, text.splitlines())) <= WIDTH:
        return text
    fewer = {column: values for column, values in columns.items() if column != optional[0]}
    return columns_to_text(fewer, optional[1:])


def _is_right(column: Column, values: Sequence[Value]) -> bool:
    """Say whether a column is set to the right: one of numbers is."""
    filled = [value for value in values if value is not None]
    is_numeric = bool(filled) and not any(isinstance(value, str) for value in filled)
    return is_numeric or column.right


def _fitting(widths: list[int], right: Sequence[bool]) -> list[int]:
    """Return widths that fit on a terminal, where cutting texts can do that; the widest first."""
    fitting = list(widths)
    texts = [c for c in range(len(widths)) if not right[c] and widths[c] > _LEAST]
    for _ in range(max(sum(widths) + 2 * (len(widths) - 1) - WIDTH, 0) if texts else 0):
        widest = max(texts, key=lambda c: fitting[c])
        if fitting[widest] == _LEAST:
            break
        fitting[widest] -= 1
    return fitting


def _in_columns(cells: Sequence[str], right: Sequence[bool], widths: Sequence[int]) -> str:
    padded = []
    for cell, is_number, width in zip(cells, right, widths, strict=True):
        most = len(cell) if cell_len(cell) <= width else width
        while cell_len(shown := shorten(cell, most)) > width:  # letters may be two columns wide
            most -= 1
        space = " " * (width - cell_len(shown))
        padded.append(space + shown if is_number else shown + space)
    return "  ".join(padded).rstrip()


def _groups_above(columns: Sequence[Column], widths: Sequence[int]) -> str:
    """Return the line of group headings, each in the middle of its columns."""
    parts, end = [], 0
    for title, group in groupby(column.group for column in columns):
        span = len(list(group))
        begin, end = end, end + span
        parts.append(f"{_on_one_line(title):^{sum(widths[begin:end]) + 2 * (span - 1)}}")
    return "  ".join(parts).rstrip()
