r"""Text of others, such as class names and answers of servers, as it may stand in each medium."""

from __future__ import annotations

import re

# Control and direction characters, marks that take no place, halves of pairs; but for line ends,
# tabs and the joiners that Persian, Hindi and emoji are written with.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""Return a text for a terminal: what could steer it stands escaped.

    Examples
    --------
    >>> print(printable("café \x1b]0;title\x07\u202e"))
    café \x1b]0;title\x07\u202e
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def literal(text: str) -> str:
    r"""Return a text for a picture of matplotlib, which would take $…$ for a formula.

    Examples
    --------
    >>> print(literal("$5 to $10"))
    \$5 to \$10
    """
    return printable(text).replace("$", r"\$")
