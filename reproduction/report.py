"""Sections as files: tables, figures, statements and the page that holds all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnip.base.errors import MissingDependencyError
from dnip.base.escaping import markdown
from dnip.base.files import make_folder
from dnip.presenting.drawing import save_figure
from dnip.presenting.results import write_json, write_text
from reproduction.artefacts import Figure, Statement, Table, Text
from reproduction.formats import FILE_FORMATS
from reproduction.page import Bullets, Heading, Page, Picture
from reproduction.published import paper_table, published
from reproduction.registry import EXPERIMENTS
from reproduction.summary import SHOWN_FIRST, VERDICTS, opening, reasons, verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from reproduction.artefacts import Section
    from reproduction.page import Block

PAGE, WEB_PAGE, STATEMENTS = "report.md", "report.html", "statements.json"
TABLES, FIGURES = "tables", "figures"


def write_report(
    folder: Path,
    sections: Sequence[Section],
    manifest: dict[str, Any],
) -> list[Path]:
    """Write what experiments present, and return the paths.

    Tables stand as Markdown, LaTeX and CSV in ``tables``, figures as PNG in ``figures``, which is
    left out where matplotlib is not installed. ``report.md`` holds everything, beside the paper's
    own numbers, and begins with a summary; ``report.html`` is the same as one file, left out where
    jinja2 is not installed.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    written: list[Path] = []
    statements = [(s, one) for s in sections for one in s.artefacts if isinstance(one, Statement)]
    blocks = [*opening(manifest, sections), *verdicts(statements)]
    absent = [name for name in EXPERIMENTS if name not in {section.name for section in sections}]
    if absent:
        blocks.append(Text(f"Not part of this run: {', '.join(absent)}."))
    for section in sections:
        blocks += _paper_part(section)
        for artefact in section.artefacts:
            blocks += _present(folder, artefact, written)
        if section.failures:
            blocks.append(Text("**Failed**, and left out of the means above:"))
            blocks.append(reasons(section.failures))
    page = Page(blocks)
    judged = [
        {
            "experiment": section.name,
            "by": "this project" if one.ours else "the paper",
            "claim": one.claim,
            "paper": one.paper,
            "measured": one.measured,
            "verdict": VERDICTS[one.confirmed],
            "details": one.details,
        }
        for section, one in statements
    ]
    written.append(write_json(folder / STATEMENTS, judged))
    try:
        written.append(write_text(folder / WEB_PAGE, page.to_html()))
    except MissingDependencyError as error:
        page.blocks.append(Text(markdown(f"Not written: {WEB_PAGE}. {error}.")))
    written.append(write_text(folder / PAGE, page.to_markdown(folder)))
    return written


def _paper_part(section: Section) -> Iterator[Block]:
    found, table = published(section.name), paper_table(section.name)
    yield Heading(f"{section.title} ({section.paper})")
    yield Heading("The paper", 3)
    yield Text(f"From {found.place}.")
    if table is not None:
        yield table
    if found.remarks:
        yield Bullets(found.remarks)
    yield Heading("Measured", 3)


def _present(
    folder: Path, artefact: Table | Figure | Text | Statement, written: list[Path]
) -> Iterator[Block]:
    match artefact:
        case Table():
            target = make_folder(folder / TABLES)
            for suffix, rendered in FILE_FORMATS.items():
                written.append(write_text(target / f"{artefact.name}.{suffix}", rendered(artefact)))
            if artefact.name not in SHOWN_FIRST:
                yield artefact
        case Figure():
            try:
                path = save_figure(artefact, make_folder(folder / FIGURES) / f"{artefact.name}.png")
            except MissingDependencyError as error:
                yield Text(markdown(f"Not drawn: {artefact.title}. {error}."))
                return
            written.append(path)
            yield Picture(path, artefact.title, artefact.caption)
        case Text():
            yield artefact
        case Statement():
            return  # all of them stand in one table
