"""A page of headings, paragraphs, tables and pictures as Markdown and as one HTML file."""

from __future__ import annotations

import base64
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from dnip.base.escaping import html, markdown, printable
from dnip.base.optional import load_optional
from dnip.presenting.artefacts import Table
from dnip.presenting.formats import with_title
from reproduction.artefacts import Text

_HTML = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
{body}</main>
</body>
</html>
"""


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the page's own."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Bullets:
    """A list of lines of Markdown, each as in a `Text`."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Lines of a terminal."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A PNG file, with its title and what it shows."""

    path: Path
    title: str
    caption: str = ""

    @property
    def data_uri(self) -> str:
        """The picture itself as an address."""
        return f"data:image/png;base64,{base64.b64encode(self.path.read_bytes()).decode('ascii')}"


#: What a page is made of.
Block: TypeAlias = Heading | Text | Bullets | Code | Table | Picture


@dataclass
class Page:
    """Blocks from top to bottom.

    Examples
    --------
    >>> page = Page([Heading("Results", 1), Text("COBias falls by **61 %**.")])
    >>> print(page.to_markdown(Path(".")), end="")
    # Results
    <BLANKLINE>
    COBias falls by **61 %**.
    """

    blocks: list[Block] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The first heading."""
        return next((b.text for b in self.blocks if isinstance(b, Heading)), "Results")

    def to_markdown(self, folder: Path | None) -> str:
        """Return the page as Markdown; pictures are linked relative to a folder, or part of it."""
        return "\n\n".join(_markdown(block, folder) for block in self.blocks) + "\n"

    def to_html(self) -> str:
        """Return the page as one file: pictures within it, nothing loaded from elsewhere.

        Raises
        ------
        MissingDependencyError
            If markdown-it-py is not installed.
        """
        library = load_optional("markdown_it", purpose="write HTML", extra="report")
        parser = library.MarkdownIt("commonmark", {"html": False}).enable("table")
        style = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
        body = parser.render(printable(self.to_markdown(None)))
        return _HTML.format(title=html(self.title), style=style, body=body)


def _markdown(block: Block, folder: Path | None) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {markdown(block.text)}"
        case Text():
            return block.markdown
        case Bullets():
            return "\n".join(f"- {line}" for line in block.lines)
        case Code():
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", block.text)), default=0))
            return f"{fence}text\n{printable(block.text)}\n{fence}"
        case Table():
            return with_title(block)
        case Picture():
            address = block.data_uri
            if folder is not None:
                address = Path(os.path.relpath(block.path, folder)).as_posix()
            picture = f"![{markdown(block.title)}]({address})"
            return f"{picture}\n\n*{markdown(block.caption)}*" if block.caption else picture
