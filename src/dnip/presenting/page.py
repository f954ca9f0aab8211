"""A page of headings, paragraphs, tables and pictures as Markdown and as one HTML file."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from dnip.presenting.artefacts import Table
from dnip.presenting.escaping import html, markdown, printable
from dnip.presenting.formats import to_html, to_markdown


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the page's own."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, in which `code`, **stress** and what `markdown` has escaped may stand."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """A list of lines, each as a `Paragraph`."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Lines of a terminal."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A picture that lies in a PNG file, with what it shows."""

    path: Path
    title: str
    caption: str = ""


#: What a page is made of.
Block: TypeAlias = Heading | Paragraph | Bullets | Code | Table | Picture


@dataclass
class Page:
    """Blocks from top to bottom.

    Examples
    --------
    >>> page = Page([Heading("Results", 1), Paragraph("COBias falls by **61 %**.")])
    >>> print(page.to_markdown(Path(".")), end="")
    # Results
    <BLANKLINE>
    COBias falls by **61 %**.
    >>> "<p>COBias falls by <b>61 %</b>.</p>" in page.to_html()
    True
    """

    blocks: list[Block] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The first heading."""
        return next((b.text for b in self.blocks if isinstance(b, Heading)), "Results")

    def to_markdown(self, folder: Path) -> str:
        """Return the page as Markdown; pictures are linked relative to a folder."""
        return "\n\n".join(_markdown(block, folder) for block in self.blocks) + "\n"

    def to_html(self) -> str:
        """Return the page as one file: pictures within it, nothing loaded from elsewhere."""
        body = "\n".join(_html(block) for block in self.blocks)
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{html(self.title)}</title>\n<style>\n{_STYLE}</style>\n</head>\n"
            f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
        )


def _markdown(block: Block, folder: Path) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {markdown(block.text)}"
        case Paragraph():
            return block.text
        case Bullets():
            return "\n".join(f"- {line}" for line in block.lines)
        case Code():
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block.text)), default=0))
            return f"{fence}text\n{printable(block.text)}\n{fence}"
        case Table():
            parts = [
                f"**{markdown(_of_paper(block))}**",
                to_markdown(block),
                markdown(block.caption),
            ]
            return "\n\n".join(part for part in parts if part)
        case Picture():
            path = Path(os.path.relpath(block.path, folder)).as_posix()
            picture = f"![{markdown(block.title)}]({path})"
            return f"{picture}\n\n*{markdown(block.caption)}*" if block.caption else picture


def _html(block: Block) -> str:
    match block:
        case Heading():
            return f"<h{block.level}>{html(block.text)}</h{block.level}>"
        case Paragraph():
            return f"<p>{_inline(block.text)}</p>"
        case Bullets():
            return f"<ul>{''.join(f'<li>{_inline(line)}</li>' for line in block.lines)}</ul>"
        case Code():
            return f"<pre>{html(block.text)}</pre>"
        case Table():
            note = f'<p class="note">{html(block.caption)}</p>' if block.caption else ""
            return f'<div class="wide">{to_html(block)}</div>{note}'
        case Picture():
            data = base64.b64encode(block.path.read_bytes()).decode("ascii")
            title, caption = html(block.title), html(block.caption or block.title)
            return (
                f'<figure><img src="data:image/png;base64,{data}" alt="{title}">'
                f"<figcaption>{caption}</figcaption></figure>"
            )


def _of_paper(table: Table) -> str:
    return f"{table.title} ({table.paper})" if table.paper else table.title


def _inline(text: str) -> str:
    r"""Turn `code` and **stress** into elements, \-escapes and everything else into plain text."""
    parts = re.split(r"(\\.|`[^`]+`|\*\*[^*]+\*\*)", text)
    return "".join(map(_element, parts))


def _element(part: str) -> str:
    if part.startswith("`") and len(part) > 2:
        return f"<code>{html(part[1:-1])}</code>"
    if part.startswith("**") and len(part) > 4:
        return f"<b>{html(part[2:-2])}</b>"
    return html(part[1:] if part.startswith("\\") and len(part) == 2 else part)


_STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; color: #1f2933; background: #fff; margin: 0; }
main { max-width: 68rem; margin: 0 auto; padding: 1.5rem; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2.5rem; padding-top: 1rem; border-top: 1px solid #d9dee4; }
.wide { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.4rem; }
th, td { padding: 0.25rem 0.6rem; text-align: left; white-space: nowrap; }
thead tr:last-child th { border-bottom: 1px solid #52606d; }
th.group { text-align: center; border-bottom: 1px solid #cbd2d9; }
tbody tr:nth-child(even) { background: #f5f7fa; }
tr.section th { font-style: italic; border-top: 1px solid #9aa5b1; background: #fff; }
.number { text-align: right; }
td.text { white-space: normal; min-width: 14rem; }
.note { color: #52606d; font-size: 0.875rem; max-width: 60rem; }
small { color: #52606d; }
figure { margin: 1.5rem 0; }
img { max-width: 100%; height: auto; }
figcaption { color: #52606d; font-size: 0.875rem; }
pre, code { background: #f5f7fa; border-radius: 4px; }
pre { padding: 0.75rem; overflow-x: auto; }
code { padding: 0 0.2rem; }
"""
