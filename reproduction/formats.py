"""A table as LaTeX and CSV, beside the formats of the package.

A further format is a function here, and a line in :data:`FILE_FORMATS`.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from dnip.base.escaping import latex
from dnip.presenting.artefacts import Estimate, Spread
from dnip.presenting.formats import Marks, cells_of, columns_of, groups_of, is_right, with_title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dnip.presenting.artefacts import Table, Value

# Columns from which on a table in LaTeX is scaled to the width of the text.
_WIDE = 9

_LATEX = Marks(latex, latex, r"\textsubscript{{{}}}")


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
    parts = [_csv_parts(values) for values in columns_of(table)]
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


def _csv_parts(values: Sequence[Value]) -> tuple[str, ...]:
    """Return the further columns that a column of values needs."""
    if any(isinstance(value, Estimate) for value in values):
        return "low", "high"
    return ("standard deviation",) if any(isinstance(v, Spread) for v in values) else ()
