"""A table as Markdown; see ``terminal.py`` for text.

A further format is a function, and one in ``escaping.py`` that escapes text for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

from dnip.base.escaping import markdown
from dnip.presenting.artefacts import Column, Estimate, Spread, Table, Value

#: What stands for nothing, and before a number below 0.
DASH, MINUS = "–", "−"


class Marks(NamedTuple):
    """How a format writes cells."""

    text: Callable[[str], str] = str
    number: Callable[[str], str] = str
    deviation: str = " ± {}"


_PLAIN = Marks()
_MARKDOWN = Marks(markdown)


def to_markdown(table: Table) -> str:
    """Return a table for GitHub, without its title and caption.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column, Table
    >>> rows = [("rte", Spread(0.663, 0.043))]
    >>> table = Table("main", "Accuracy", [Column("task"), Column("raw", percent=True)], rows)
    >>> print(to_markdown(table))
    | task | raw |
    | --- | ---: |
    | rte | 66.3 ± 4.3 |
    """
    titles = [markdown(f"{column.group} {column.title}".strip()) for column in table.columns]
    marks = ["---:" if is_right(table, c) else "---" for c in range(len(titles))]
    lines = [titles, marks]
    for row in table.rows:
        if isinstance(row, str):
            lines.append([f"*{markdown(row)}*", *[""] * (len(titles) - 1)])
        else:
            lines.append(cells_of(table, row, _MARKDOWN))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def with_title(table: Table, title: str = "**{}**") -> str:
    """Return a table in Markdown with its title above, its caption and its notes below.

    Parameters
    ----------
    table : Table
    title : str
        Pattern of the title.
    """
    notes = "\n".join(markdown(note) for note in (table.caption, *table.notes) if note)
    parts = (title.format(markdown(table.title)), to_markdown(table), notes)
    return "\n\n".join(part for part in parts if part)


def show(value: Value, column: Column, marks: Marks = _PLAIN) -> str:
    """Return a value as a column prints it.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column
    >>> rate = Column("accuracy", percent=True)
    >>> [show(v, rate) for v in (0.5213, Spread(0.5, 0.025), 1234, "–", None)]
    ['52.1', '50.0 ± 2.5', '1,234', '–', '–']
    >>> show(Estimate(0.12, 0.1, 0.15), Column("change", 2, signed=True))
    '+0.12 [+0.10, +0.15]'
    """
    if isinstance(value, str):
        return marks.text(value)
    if isinstance(value, Spread):
        shown = show(value.mean, column, marks)
        if value.deviation is None:
            return shown
        return shown + marks.deviation.format(show(value.deviation, column, marks))
    if isinstance(value, Estimate):
        shown, low, high = (show(part, column, marks) for part in value)
        return f"{shown} [{low}, {high}]"
    return marks.number(_number(value, column))


def percent(rate: float) -> str:
    """Return a rate in per cent, with the digits that `show` gives it with three.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column
    >>> percent(198 / 260), percent(0.8125), show(0.8125, Column("accuracy", 3))
    ('76.2 %', '81.2 %', '0.812')
    """
    return f"{100 * round(rate, 3):.1f} %"


def seconds(value: float) -> str:
    """Return a time, in ms below a second.

    Examples
    --------
    >>> seconds(0.00123), seconds(0.123), seconds(2.5), seconds(float("inf"))
    ('1.2 ms', '123 ms', '2.5 s', '–')
    """
    if math.isinf(value):
        return DASH
    if value >= 1:
        return f"{value:.1f} s"
    return f"{value * 1e3:.1f} ms" if value < 0.01 else f"{value * 1e3:.0f} ms"


def _number(value: float | None, column: Column) -> str:
    if value is None or not math.isfinite(value):
        return DASH
    sign = "+" if column.signed else ""
    if isinstance(value, int):
        shown = f"{value:{sign},}"
    else:
        rounded = round(100 * value if column.percent else value, column.digits)
        shown = f"{rounded + 0.0:{sign},.{column.digits}f}"  # + 0.0: no minus before 0
    return shown.replace("-", MINUS)


def cells_of(table: Table, row: Sequence[Value], marks: Marks) -> list[str]:
    """Return the cells of a row in the marks of a format."""
    return [show(value, column, marks) for column, value in zip(table.columns, row, strict=True)]


def is_right(table: Table, column: int) -> bool:
    """Say whether a column is set to the right: one of numbers is."""
    cells = [row[column] for row in table.rows if not isinstance(row, str)]
    filled = [value for value in cells if value is not None]
    is_numeric = bool(filled) and not any(isinstance(value, str) for value in filled)
    return is_numeric or table.columns[column].right


def groups_of(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Return the headings above neighbouring columns, and how many each spans."""
    return [(title, len(list(run))) for title, run in groupby(c.group for c in columns)]
