"""A table of results as Markdown, LaTeX, HTML and CSV."""

from __future__ import annotations

import csv
import io
import math
from itertools import groupby
from typing import TYPE_CHECKING

from dnip.presenting.artefacts import Spread
from dnip.presenting.escaping import html, latex, markdown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnip.presenting.artefacts import Column, Row, Table, Value

#: What stands for nothing, and before a number below 0.
DASH, MINUS = "–", "−"

# Columns from which on a table in LaTeX is scaled to the width of the text.
_WIDE = 9

# Characters beyond which words in a cell may break into lines.
_LONG = 40


def to_markdown(table: Table) -> str:
    """Return a table for GitHub and terminals, without its title and caption.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column, Row, Table
    >>> rows = [Row(("rte", Spread(0.663, 0.043)))]
    >>> table = Table("main", "Accuracy", [Column("task"), Column("raw", percent=True)], rows)
    >>> print(to_markdown(table))
    | task | raw |
    | --- | ---: |
    | rte | 66.3 ± 4.3 |
    """
    titles = [markdown(f"{column.group} {column.title}".strip()) for column in table.columns]
    marks = ["---:" if _is_numeric(table, c) else "---" for c in range(len(titles))]
    lines = [titles, marks]
    for row in table.rows:
        if row.heading:
            lines.append([f"*{markdown(row.heading)}*", *[""] * (len(titles) - 1)])
        else:
            lines.append(_cells(table, row, " ± {}", markdown, "**{}**"))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def to_latex(table: Table) -> str:
    r"""Return a table for booktabs: deviations as subscripts, headings as lines of their own.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column, Row, Table
    >>> rows = [Row(("R&D", Spread(0.663, 0.043)))]
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
    sides = "".join("r" if _is_numeric(table, c) else "l" for c in range(width))
    lines = [r"\begin{table}[ht]", r"\centering"]
    lines += [r"\resizebox{\textwidth}{!}{%"] if width > _WIDE else []
    lines += [rf"\begin{{tabular}}{{@{{}}{sides}@{{}}}}", r"\toprule"]
    if any(column.group for column in table.columns):
        lines += _latex_groups(table)
    titles = [latex(column.title) for column in table.columns]
    lines += [f"{' & '.join(titles)} \\\\", r"\midrule"]
    for place, row in enumerate(table.rows):
        if row.heading:
            rule = [] if place == 0 else [r"\midrule"]
            title = rf"\multicolumn{{{width}}}{{c}}{{\textit{{{latex(row.heading)}}}}} \\"
            lines += [*rule, title, r"\midrule"]
        else:
            cells = _cells(table, row, r"\textsubscript{{{}}}", latex, r"\textbf{{{}}}")
            lines.append(f"{' & '.join(cells)} \\\\")
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
    """Return a table element, its title as the caption."""
    sides = [_html_side(table, c) for c in range(len(table.columns))]
    lines = [f'<table id="{html(table.name)}">', f"<caption>{html(table.title)}</caption>"]
    lines.append("<thead>")
    if any(column.group for column in table.columns):
        cells = "".join(
            f'<th colspan="{span}" class="group">{html(title)}</th>'
            for title, span in _groups(table.columns)
        )
        lines.append(f"<tr>{cells}</tr>")
    head = zip(table.columns, sides, strict=True)
    lines.append(f"<tr>{''.join(f'<th{side}>{html(c.title)}</th>' for c, side in head)}</tr>")
    lines += ["</thead>", "<tbody>"]
    for row in table.rows:
        if row.heading:
            heading = html(row.heading)
            lines.append(f'<tr class="section"><th colspan="{len(sides)}">{heading}</th></tr>')
            continue
        texts = _cells(table, row, "<small> ± {}</small>", html, "<b>{}</b>")
        cells = "".join(f"<td{side}>{t}</td>" for t, side in zip(texts, sides, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"])


def to_csv(table: Table) -> str:
    """Return headings and rows with every number in full; deviations in columns of their own.

    A heading across the table becomes a first column, a group stands before the titles.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column, Row, Table
    >>> rows = [Row(("rte", Spread(0.66349, 0.043)))]
    >>> to_csv(Table("main", "", [Column("task"), Column("raw")], rows)).splitlines()
    ['task,raw,raw (standard deviation)', 'rte,0.66349,0.043']
    """
    has_headings = any(row.heading for row in table.rows)
    scattered = [
        any(not row.heading and isinstance(row.values[c], Spread) for row in table.rows)
        for c in range(len(table.columns))
    ]
    head: list[Value] = ["heading"] if has_headings else []
    for column, has_deviation in zip(table.columns, scattered, strict=True):
        title = f"{column.group} {column.title}".strip()
        head += [title, f"{title} (standard deviation)"] if has_deviation else [title]
    lines = [head]
    heading = ""
    for row in table.rows:
        if row.heading:
            heading = row.heading
            continue
        line: list[Value] = [heading] if has_headings else []
        for value, has_deviation in zip(row.values, scattered, strict=True):
            spread = value if isinstance(value, Spread) else None
            line.append(value if spread is None else spread.mean)
            if has_deviation:
                line.append(None if spread is None else spread.deviation)
        lines.append(line)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()


def show(value: Value, column: Column, deviation: str = " ± {}") -> str:
    """Return a value as a column prints it; `deviation` is the pattern of what scatters.

    Examples
    --------
    >>> from dnip.presenting.artefacts import Column
    >>> rate = Column("accuracy", percent=True)
    >>> [show(v, rate) for v in (0.5213, Spread(0.5, 0.025), 1234, "–", None)]
    ['52.1', '50.0 ± 2.5', '1,234', '–', '–']
    """
    if isinstance(value, Spread):
        shown = show(value.mean, column)
        if value.deviation is None:
            return shown
        return shown + deviation.format(show(value.deviation, column))
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return DASH
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}".replace("-", MINUS)
    rounded = round(100 * value if column.percent else value, column.digits)
    return f"{rounded + 0.0:,.{column.digits}f}".replace("-", MINUS)  # + 0.0: no minus before 0


def _cells(
    table: Table, row: Row, deviation: str, escaped: Callable[[str], str], bold: str
) -> list[str]:
    """Return the cells of a row; `deviation` and `bold` are patterns in the format's own marks."""
    cells = []
    for column, value in zip(table.columns, row.values, strict=True):
        if isinstance(value, Spread):  # the pattern of the deviation is markup, not to be escaped
            text = escaped(show(value.mean, column))
            if value.deviation is not None:
                text += deviation.format(escaped(show(value.deviation, column)))
        else:
            text = escaped(show(value, column))
        cells.append(bold.format(text) if row.strong and text else text)
    return cells


def _is_numeric(table: Table, column: int) -> bool:
    """Say whether a column is set to the right."""
    values = [row.values[column] for row in table.rows if not row.heading]
    filled = [value for value in values if value is not None]
    return bool(filled) and not any(isinstance(value, str) for value in filled)


def _html_side(table: Table, column: int) -> str:
    if _is_numeric(table, column):
        return ' class="number"'
    values = [row.values[column] for row in table.rows if not row.heading]
    is_long = any(isinstance(value, str) and len(value) > _LONG for value in values)
    return ' class="text"' if is_long else ""


def _groups(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Return the headings above neighbouring columns, and how many each spans."""
    return [(title, len(list(run))) for title, run in groupby(c.group for c in columns)]


def _latex_groups(table: Table) -> list[str]:
    """Return the line of group headings and the short rules below them."""
    titles, rules, end = [], [], 0
    for title, span in _groups(table.columns):
        begin, end = end + 1, end + span
        if title:
            titles.append(rf"\multicolumn{{{span}}}{{c}}{{{latex(title)}}}")
            rules.append(rf"\cmidrule(lr){{{begin}-{end}}}")
        else:
            titles.append(" & ".join([""] * span))
    return [f"{' & '.join(titles)} \\\\", " ".join(rules)]
