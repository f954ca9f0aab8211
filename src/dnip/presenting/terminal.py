"""Tables and sentences as text for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from rich.cells import cell_len, set_cell_size

from dnip.base.escaping import printable
from dnip.presenting.artefacts import Table
from dnip.presenting.formats import show

#: Columns of a terminal.
WIDTH = 80

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
    """Return a text on one line, cut to so many letters.

    Examples
    --------
    >>> shorten("neither here nor there", 12)
    'neither her…'
    """
    line = printable(" ".join(text[: 10 * most].split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"


def to_text(table: Table) -> str:
    """Return a table for a terminal: aligned columns but the wide ones, no title, no caption.

    Where it is wider than a terminal, long texts are cut.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column, Table
    >>> rows = [("yes", 9, 0.5), ("no", 10, None)]
    >>> print(to_text(Table("", "", [Column("class"), Column("rows"), Column("rate", 3)], rows)))
    class  rows   rate
    yes       9  0.500
    no       10      -
    """
    table = _narrow(table)
    titles = [_on_one_line(column.title) for column in table.columns]
    lines = [
        None
        if isinstance(row, str)
        else [
            _on_one_line(show(value, column))
            for column, value in zip(table.columns, row, strict=True)
        ]
        for row in table.rows
    ]
    right = [_is_right(table, c) for c in range(len(titles))]
    cells = [titles, *(line for line in lines if line is not None)]
    widths = _fitting([max(map(cell_len, column)) for column in zip(*cells, strict=True)], right)
    printed = [] if not any(c.group for c in table.columns) else [_groups_above(table, widths)]
    printed.append(_in_columns(titles, right, widths))
    for row, line in zip(table.rows, lines, strict=True):
        printed.append(_on_one_line(str(row)) if line is None else _in_columns(line, right, widths))
    return "\n".join(printed)


def _is_right(table: Table, column: int) -> bool:
    """Say whether a column is set to the right: one of numbers is."""
    cells = [row[column] for row in table.rows if not isinstance(row, str)]
    filled = [value for value in cells if value is not None]
    is_numeric = bool(filled) and not any(isinstance(value, str) for value in filled)
    return is_numeric or table.columns[column].right


def _narrow(table: Table) -> Table:
    """Return a table without its wide columns."""
    kept = [c for c, column in enumerate(table.columns) if not column.wide]
    rows = [row if isinstance(row, str) else [row[c] for c in kept] for row in table.rows]
    return replace(table, columns=[table.columns[c] for c in kept], rows=rows)


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
        if cell_len(cell) > width:
            padded.append(f"{set_cell_size(cell, width - 1)}…")
        else:
            space = " " * (width - cell_len(cell))
            padded.append(space + cell if is_number else cell + space)
    return "  ".join(padded).rstrip()


def _groups_above(table: Table, widths: Sequence[int]) -> str:
    """Return the line of group headings, each in the middle of its columns."""
    parts, end = [], 0
    for title, columns in groupby(column.group for column in table.columns):
        span = len(list(columns))
        begin, end = end, end + span
        parts.append(f"{_on_one_line(title):^{sum(widths[begin:end]) + 2 * (span - 1)}}")
    return "  ".join(parts).rstrip()
