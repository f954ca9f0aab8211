r"""Text of others, such as class names and answers of servers, as it may stand in each medium.

CSV and JSON need nothing here: programs read them back, and get the very text.
"""

from __future__ import annotations

import re
from html import escape

# Control and direction characters, marks that take no place, halves of pairs; but for line ends,
# tabs and the joiners that Persian, Hindi and emoji are written with.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\ud800-\udfff]"
)

# What Markdown takes for markup: within a text (but not extras such as dnip[plot], nor snake_case),
# and at its beginning.
_MARKUP = re.compile(r"(\w\[\w+\](?![\[(:]))|[\\`*\[\]<>|#~&$]|(?<![^\W_])_|_(?![^\W_])")
_OPENING = re.compile(r"^(\d*)([-+=.)])(?=\2|\s|$)")

_LATEX = str.maketrans(
    {
        **{c: f"\\{c}" for c in "&%$#_{}"},
        **{c: f"{{{c}}}" for c in "[]*"},  # which a command before them may take for its own
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "–": "--",
        "−": "$-$",
        "…": r"\ldots{}",
        "×": r"$\times$",
        "·": r"$\cdot$",
        "±": r"$\pm$",
        "→": r"$\rightarrow$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "Δ": r"$\Delta$",
        "Σ": r"$\Sigma$",
        "α": r"$\alpha$",
        "β": r"$\beta$",
        "λ": r"$\lambda$",
        "μ": r"$\mu$",
        "ξ": r"$\xi$",
        "τ": r"$\tau$",
        "ω": r"$\omega$",
        "₁": r"\textsubscript{1}",
        "₂": r"\textsubscript{2}",
        "₃": r"\textsubscript{3}",
    }
)

# Characters of a text that a picture has room for.
_PICTURED = 200


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
    if len(text) > _PICTURED:
        text = f"{text[: _PICTURED - 1]}…"
    return printable(text).replace("$", r"\$")


def markdown(text: str) -> str:
    r"""Return a text for Markdown, on one line: within a sentence, a cell of a table or a heading.

    Examples
    --------
    >>> print(markdown("a|b\n# `ls` snake_case <i>"))
    a\|b \# \`ls\` snake_case \<i\>
    >>> print(markdown("1. one"))
    1\. one
    """
    line = printable(" ".join(text.split()))
    line = _MARKUP.sub(lambda found: found[1] or f"\\{found[0]}", line)
    return _OPENING.sub(r"\1\\\2", line)


def latex(text: str) -> str:
    r"""Return a text for LaTeX, on one line: within a cell of a table or an argument.

    Examples
    --------
    >>> print(latex(r"R&D \input{x} 5%"))
    R\&D \textbackslash{}input\{x\} 5\%
    """
    return printable(" ".join(text.split())).translate(_LATEX)


def html(text: str) -> str:
    r"""Return a text for HTML, within an element or a quoted attribute.

    Examples
    --------
    >>> html("<b> & \x1b")
    '&lt;b&gt; &amp; \\x1b'
    """
    return escape(printable(text))
