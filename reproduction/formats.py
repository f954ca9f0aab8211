"""A table as CSV, with every number in full."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from dnip.presenting.artefacts import Estimate, Spread
from dnip.presenting.formats import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dnip.presenting.artefacts import Table, Value


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


def _csv_parts(values: Sequence[Value]) -> tuple[str, ...]:
    """Return the further columns that a column of values needs."""
    if any(isinstance(value, Estimate) for value in values):
        return "low", "high"
    return ("standard deviation",) if any(isinstance(v, Spread) for v in values) else ()
