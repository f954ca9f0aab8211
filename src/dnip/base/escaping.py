r"""Escaping of text that others wrote, such as class names and answers of servers.

There is one function per medium. CSV and JSON need none: programs read them back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

# Control and direction characters, marks without width, and halves of surrogate pairs. Line ends,
# tabs and the joiners of Persian, Hindi and emoji are not among them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff]"
)

# The longest text in a picture.
_PICTURED = 200

# Rows of a table in a notebook.
_MOST_ROWS = 30


def printable(text: str) -> str:
    r"""Return a text for a terminal, with control characters escaped.

    Examples
    --------
    >>> print(printable("café \x1b]0;title\x07\u202e"))
    café \x1b]0;title\x07\u202e
    """
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    r"""Return a text for one line of a terminal or a log.

    Examples
    --------
    >>> print(one_line("a\nb\x1b"))
    a\nb\x1b
    """
    return printable(text).replace("\n", r"\n").replace("\t", r"\t")


def literal(text: str) -> str:
    r"""Return a text for matplotlib, which reads $…$ as a formula.

    Examples
    --------
    >>> print(literal("$5 to $10"))
    \$5 to \$10
    """
    if len(text) > _PICTURED:
        text = f"{text[: _PICTURED - 1]}…"
    return printable(text).replace("$", r"\$")


def html(text: str) -> str:
    r"""Return a text for HTML, within an element or a quoted attribute.

    Examples
    --------
    >>> html("<b> & \x1b")
    '&lt;b&gt; &amp; \\x1b'
    """
    return escape(printable(text))


def html_table(title: str, headings: Sequence[str], rows: Sequence[Iterable[object]]) -> str:
    """Return a small HTML table of the first rows, everything escaped; numbers have 3 digits.

    Examples
    --------
    >>> html_table("weights", ["class", "weight"], [["<b>", 0.5]])
    '<table><caption>weights</caption><tr><th>class</th><th>weight</th></tr>\
<tr><td>&lt;b&gt;</td><td>0.500</td></tr></table>'
    """
    lines = [("th", headings), *(("td", row) for row in rows[:_MOST_ROWS])]
    if len(rows) > _MOST_ROWS:
        lines.append(("td", [f"and {len(rows) - _MOST_ROWS:,} more"]))
    body = "".join(
        f"<tr>{''.join(f'<{tag}>{_cell(cell)}</{tag}>' for cell in cells)}</tr>"
        for tag, cells in lines
    )
    return f"<table><caption>{html(title)}</caption>{body}</table>"


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else html(str(value))
