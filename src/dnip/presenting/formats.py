"""A table as Markdown, LaTeX, HTML and CSV; see ``terminal.py`` for text.

A further format is a function here, a line in :data:`FILE_FORMATS`, and a function in
``escaping.py`` that escapes text for it.
"""

from __future__ import annotations

import csv
import io
import math
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from dnip.base.escaping import html, latex, markdown
from dnip.presenting.artefacts import Estimate, Spread
from dnip.presenting.web import render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dnip.presenting.artefacts import Column, Table, Value

#: What stands for nothing, and before a number below 0.
DASH, MINUS = "–", "−"

# Columns from which on a table in LaTeX is scaled to the width of the text.
_WIDE = 9

# Characters beyond which words in a cell may break into lines.
_LONG = 40


class Marks(NamedTuple):
    """How a format writes cells."""

    text: Callable[[str], str] = str
    number: Callable[[str], str] = str
    deviation: str = " ± {}"


_PLAIN = Marks()
_MARKDOWN = Marks(markdown)
_LATEX = Marks(latex, latex, r"\textsubscript{{{}}}")
_HTML = Marks(html, html, "<small> ± {}</small>")


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


def to_latex(table: Table) -> str:
    r"""Return a table for booktabs: deviations as subscripts, headings as lines of their own.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column, Table
    >>> rows = [("R&D", Spread(0.663, 0.043))]
    >>> columns = [Column("task"), Column("raw", percent=True)]
    >>> print(to_latex(Table("main", "Accuracy (%)", columns, rows)))
    \begin{table}[ht]
    \centering
    \begin{tabular}{@{}lr@{}}
    \toprule
    task & raw \\
    \midrule
    R\&D & 66.3\textsubscript{4.3} \\
    \bottomrule
    \end{tabular}
    \caption{Accuracy (\%)}
    \label{tab:main}
    \end{table}
    """
    width = len(table.columns)
    sides = "".join("r" if is_right(table, c) else "l" for c in range(width))
    lines = [r"\begin{table}[ht]", r"\centering"]
    lines += [r"\resizebox{\textwidth}{!}{%"] if width > _WIDE else []
    lines += [rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}", r"\toprule"]
    if any(column.group for column in table.columns):
        lines += _latex_groups(table)
    titles = [latex(column.title) for column in table.columns]
    lines += [f"{' & '.join(titles)} \\\\", r"\midrule"]
    for place, row in enumerate(table.rows):
        if isinstance(row, str):
            rule = [] if place == 0 else [r"\midrule"]
            title = rf"\multicolumn{{{width}}}{{c}}{{\textit{{{latex(row)}}}}} \\"
            lines += [*rule, title, r"\midrule"]
        else:
            lines.append(f"{' & '.join(cells_of(table, row, _LATEX))} \\\\")
    caption = ". ".join(part.rstrip(".") for part in (table.title, table.caption) if part)
    return "\n".join(
        [
            *lines,
            r"\bottomrule",
            r"\end{tabular}" + ("}" if width > _WIDE else ""),
            rf"\caption{{{latex(caption)}}}",
            rf"\label{{tab:{table.name}}}",
            r"\end{table}",
        ]
    )


def to_html(table: Table) -> str:
    """Return a table element, its title as the caption.

    Raises
    ------
    MissingDependencyError
        If jinja2 or markdown-it-py is not installed.
    """
    cells = [None if isinstance(row, str) else cells_of(table, row, _HTML) for row in table.rows]
    sides = [_html_side(table, c) for c in range(len(table.columns))]
    groups = groups_of(table.columns)
    return render("table.html", table=table, groups=groups, sides=sides, cells=cells)


def to_csv(table: Table) -> str:
    """Return headings and rows with every number in full.

    Deviations and the ends of intervals have columns of their own. A heading across the table
    becomes a first column; a group stands before the titles.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column, Table
    >>> rows = [("rte", Spread(0.66349, 0.043))]
    >>> to_csv(Table("main", "", [Column("task"), Column("raw")], rows)).splitlines()
    ['task,raw,raw (standard deviation)', 'rte,0.66349,0.043']
    """
    has_headings = any(isinstance(row, str) for row in table.rows)
    parts = [_csv_parts(values) for values in _columns(table)]
    head: list[Value] = ["heading"] if has_headings else []
    for column, names in zip(table.columns, parts, strict=True):
        title = f"{column.group} {column.title}".strip()
        head += [title, *(f"{title} ({name})" for name in names)]
    lines = [head]
    heading = ""
    for row in table.rows:
        if isinstance(row, str):
            heading = row
            continue
        line: list[Value] = [heading] if has_headings else []
        for value, names in zip(row, parts, strict=True):
            numbers: Iterable[Value] = [value]
            if isinstance(value, Spread):
                numbers = value.mean, value.deviation
            elif isinstance(value, Estimate):
                numbers = value
            line += [*numbers, *[None] * len(names)][: 1 + len(names)]
        lines.append(line)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


#: What every table of a report is written as, by suffix.
FILE_FORMATS: dict[str, Callable[[Table], str]] = {
    "md": lambda table: with_title(table) + "\n",
    "tex": lambda table: to_latex(table) + "\n",
    "csv": to_csv,
}


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


def _columns(table: Table) -> list[list[Value]]:
    """Return the values by column."""
    rows = [row for row in table.rows if not isinstance(row, str)]
    return [[row[c] for row in rows] for c in range(len(table.columns))]


def is_right(table: Table, column: int) -> bool:
    """Say whether a column is set to the right: one of numbers is."""
    filled = [value for value in _columns(table)[column] if value is not None]
    is_numeric = bool(filled) and not any(isinstance(value, str) for value in filled)
    return is_numeric or table.columns[column].right


def groups_of(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Return the headings above neighbouring columns, and how many each spans."""
    return [(title, len(list(run))) for title, run in groupby(c.group for c in columns)]


def _latex_groups(table: Table) -> list[str]:
    """Return the line of group headings and the short rules below them."""
    titles, rules, end = [], [], 0
    for title, span in groups_of(table.columns):
        begin, end = end + 1, end + span
        if title:
            titles.append(rf"\multicolumn{{{span}}}{{c}}{{{latex(title)}}}")
            rules.append(rf"\cmidrule(lr){{{begin}-{end}}}")
        else:
            titles.append(" & ".join([""] * span))
    return [f"{' & '.join(titles)} \\\\", " ".join(rules)]


def _html_side(table: Table, column: int) -> str:
    """Return the class of a column's cells."""
    if is_right(table, column):
        return "number"
    values = _columns(table)[column]
    is_long = any(isinstance(value, str) and len(value) > _LONG for value in values)
    return "text" if is_long else ""


def _csv_parts(values: Sequence[Value]) -> tuple[str, ...]:
    """Return the further columns that a column of values needs."""
    if any(isinstance(value, Estimate) for value in values):
        return "low", "high"
    return ("standard deviation",) if any(isinstance(v, Spread) for v in values) else ()
