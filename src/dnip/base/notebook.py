"""Small tables for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnip.base.escaping import html

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# Rows of a small table.
_MOST = 30


def html_table(title: str, headings: Sequence[str], rows: Sequence[Iterable[object]]) -> str:
    """Return an HTML table of the first rows, everything escaped; numbers have 3 digits.

    Examples
    --------
    >>> html_table("weights", ["class", "weight"], [["<b>", 0.5]])
    '<table><caption>weights</caption><tr><th>class</th><th>weight</th></tr>\
<tr><td>&lt;b&gt;</td><td>0.500</td></tr></table>'
    """
    lines = [("th", headings), *(("td", row) for row in rows[:_MOST])]
    if len(rows) > _MOST:
        lines.append(("td", [f"and {len(rows) - _MOST:,} more"]))
    body = "".join(
        f"<tr>{''.join(f'<{tag}>{_cell(cell)}</{tag}>' for cell in cells)}</tr>"
        for tag, cells in lines
    )
    return f"<table><caption>{html(title)}</caption>{body}</table>"


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else html(str(value))
