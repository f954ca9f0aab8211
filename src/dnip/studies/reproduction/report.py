"""Sections as files: tables, figures, statements and the page that holds all of them."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from dnip.base.errors import MissingDependencyError
from dnip.base.escaping import markdown
from dnip.base.files import make_folder
from dnip.presenting.artefacts import Column, Figure, Statement, Table, Text
from dnip.presenting.drawing import save_figure
from dnip.presenting.formats import FILE_FORMATS
from dnip.presenting.page import (
    Bullets,
    Code,
    Heading,
    Page,
    Picture,
)
from dnip.presenting.results import write_json, write_text
from dnip.studies.reproduction.published import citation, paper_table, published
from dnip.studies.reproduction.registry import EXPERIMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dnip.presenting.artefacts import Section
    from dnip.presenting.page import Block

PAGE, WEB_PAGE, STATEMENTS = "report.md", "report.html", "statements.json"
TABLES, FIGURES = "tables", "figures"

_VERDICTS = {True: "confirmed", False: "not confirmed", None: "not tested"}


def write_report(
    folder: Path,
    sections: Sequence[Section],
    manifest: dict[str, Any],
) -> list[Path]:
    """Write what experiments present, and return the paths.

    Tables stand as Markdown, LaTeX and CSV in ``tables``, figures as PNG in ``figures``, which is
    left out where matplotlib is not installed. ``report.md`` holds everything, beside the paper's
    own numbers; ``report.html`` is the same as one file, left out where jinja2 is not installed.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    written: list[Path] = []
    statements = [(s, one) for s in sections for one in s.artefacts if isinstance(one, Statement)]
    blocks = [*_opening(manifest), *_verdicts(statements)]
    absent = [name for name in EXPERIMENTS if name not in {section.name for section in sections}]
    if absent:
        blocks.append(Text(f"Not part of this run: {', '.join(absent)}."))
    for section in sections:
        blocks += _paper_part(section)
        for artefact in section.artefacts:
            blocks += _present(folder, artefact, written)
        if section.failures:
            blocks.append(Text("**Failed**, and left out of the means above:"))
            blocks.append(_reasons(section.failures))
    page = Page(blocks)
    judged = [
        {
            "experiment": section.name,
            "claim": one.claim,
            "paper": one.paper,
            "measured": one.measured,
            "verdict": _VERDICTS[one.confirmed],
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


def _opening(manifest: dict[str, Any]) -> Iterator[Block]:
    yield Heading("The paper's experiments, reproduced", 1)
    yield Text(
        f"The paper is {citation()}. {_measured(manifest['inputs'])} "
        "All scores are of test rows, which no fit and no choice of settings has seen; ± is the "
        "standard deviation over seeds. “DNIP as published” is the paper's annealing, “DNIP, ours” "
        "what `dnip fit` does by default."
    )
    if manifest["runs"]:
        yield Code(shlex.join(["dnip", *manifest["runs"][-1]["command"][1:]]))
    if manifest.get("missing"):
        yield Text("Left out, for want of data:")
        yield _reasons(manifest["missing"])


def _measured(inputs: dict[str, Any]) -> str:
    """Say what was measured, and how far it can be compared with the paper."""
    plan = inputs["plan"]
    names = [model["name"] for model in plan["models"]]
    theirs = list(dict.fromkeys(row["model"] for row in published("main").numbers["rows"]))
    if inputs["saved_tables"] is not None:
        names = []
        measured = f"Measured here are saved probability tables ({inputs['saved_tables']})."
    else:
        measured = (
            f"Measured here: {', '.join(names)}, by the plan {plan['name']}: tasks "
            f"{', '.join(plan['tasks'])}; seeds {', '.join(map(str, plan['seeds']))}; the opt pool "
            f"is of the {plan['opt_split']} split, and {plan['dev_share']:.0%} of it is the dev "
            "split. The manifest has the numbers of rows."
        )
    if names and set(names) <= set(theirs):
        differ = (
            "The paper has models of the same name; weights, prompts and scores of labels may "
            "differ in what it leaves open."
        )
    else:
        differ = (
            f"The paper's models are {', '.join(theirs)}. **The models differ, so the two sides' "
            "numbers do not have to agree**: what can be compared is the direction and the order "
            "of effects."
        )
    return f"{markdown(measured)} {differ}"


def _verdicts(statements: Sequence[tuple[Section, Statement]]) -> Iterator[Block]:
    if not statements:
        return
    counts = [
        f"{sum(one.confirmed is verdict for _, one in statements)} {word}"
        for verdict, word in _VERDICTS.items()
    ]
    yield Heading("What the paper says, and what these runs say")
    yield Text(
        f"Of {len(statements)} statements: {', '.join(counts)}. A statement is judged on means "
        "over all tasks, of the published method where it speaks of DNIP. Of two variants one is "
        "lower where the mean difference over tasks exceeds its standard error; the others are "
        "judged as they stand."
    )
    titles = ("Experiment", "The paper says", "Its figures", "Measured", "Verdict")
    rows = [
        (section.name, one.claim, one.paper, one.measured, _VERDICTS[one.confirmed])
        for section, one in statements
    ]
    yield Table("statements", "Statements of the paper", [Column(t) for t in titles], rows)


def _reasons(reasons: Mapping[str, str]) -> Bullets:
    return Bullets(tuple(markdown(f"{name}: {why}") for name, why in reasons.items()))


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
