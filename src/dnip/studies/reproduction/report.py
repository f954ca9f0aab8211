"""Sections as files: tables, figures, statements and the page that holds all of them."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

from dnip.base.errors import MissingDependencyError
from dnip.base.files import atomic_path, make_folder
from dnip.base.optional import load_optional
from dnip.presenting.artefacts import Column, Figure, Row, Statement, Table, Text
from dnip.presenting.escaping import literal, markdown
from dnip.presenting.formats import to_csv, to_latex, to_markdown
from dnip.presenting.page import (
    Bullets,
    Code,
    Heading,
    Page,
    Paragraph,
    Picture,
)
from dnip.studies.reproduction.published import citation, is_published, published
from dnip.studies.reproduction.published.tables import paper_tables
from dnip.studies.reproduction.registry import EXPERIMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from dnip.presenting.artefacts import Section
    from dnip.presenting.page import Block

PAGE, WEB_PAGE, STATEMENTS = "report.md", "report.html", "statements.json"
TABLES, FIGURES = "tables", "figures"

_PARTS = ("opt", "test")
_VERDICTS = {True: "confirmed", False: "not confirmed", None: "not tested"}


def write_report(
    folder: Path,
    sections: Sequence[Section],
    manifest: dict[str, Any],
) -> list[Path]:
    """Write what experiments present, and return the paths.

    Tables stand as Markdown, LaTeX and CSV in ``tables``, figures as PNG in ``figures``, which is
    left out where matplotlib is not installed. ``report.md`` holds everything, beside the paper's
    own numbers; ``report.html`` is the same as one file.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    written: list[Path] = []
    statements = [(s, one) for s in sections for one in s.artefacts if isinstance(one, Statement)]
    blocks: list[Block] = list(_opening(manifest, statements))
    absent = [name for name in EXPERIMENTS if name not in {section.name for section in sections}]
    if absent:
        blocks.append(Paragraph(f"Not part of this run: {', '.join(absent)}."))
    for section in sections:
        blocks += _paper_part(section)
        for artefact in section.artefacts:
            blocks += _present(folder, artefact, written)
        if section.failures:
            blocks.append(Paragraph("**Failed**, and left out of the means above:"))
            blocks.append(Bullets(_told(section.failures)))
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
    for path, text in (
        (folder / STATEMENTS, json.dumps(judged, indent=1, ensure_ascii=False) + "\n"),
        (folder / PAGE, page.to_markdown(folder)),
        (folder / WEB_PAGE, page.to_html()),
    ):
        written.append(_write(path, text))
    return written


def _opening(
    manifest: dict[str, Any], statements: Sequence[tuple[Section, Statement]]
) -> Iterator[Block]:
    inputs = manifest["inputs"]
    yield Heading("The paper's experiments, reproduced", 1)
    yield Paragraph(
        f"The paper is {citation()}. {_measured(inputs)} "
        "All scores are of test rows, which no fit and no choice of settings has seen; ± is the "
        "standard deviation over seeds. “DNIP as published” is the paper's annealing, “DNIP, ours” "
        "what `dnip fit` does by default."
    )
    if inputs["saved_tables"] is None:
        yield Paragraph(_protocol(inputs["plan"]))
    if manifest["runs"]:
        command = shlex.join(["dnip", *manifest["runs"][-1]["command"][1:]])
        yield Code(command)
    if manifest.get("missing"):
        yield Paragraph("Left out, for want of data:")
        yield Bullets(_told(manifest["missing"]))
    if statements:
        yield Heading("What the paper says, and what these runs say")
        counts = [
            f"{sum(one.confirmed is verdict for _, one in statements)} {word}"
            for verdict, word in _VERDICTS.items()
        ]
        yield Paragraph(
            f"Of {len(statements)} statements: {', '.join(counts)}. A statement is judged on means "
            "over all tasks, of the published method where it speaks of DNIP. Of two variants one "
            "is lower where the mean difference over tasks exceeds its standard error; the others "
            "are judged as they stand."
        )
        yield _statement_table(statements)


def _measured(inputs: dict[str, Any]) -> str:
    """Say what was measured, and how far it can be compared with the paper."""
    differ = (
        "**The models differ, so the two sides' numbers do not have to agree**: what can be "
        "compared is the direction and the order of effects."
    )
    if inputs["saved_tables"] is not None:
        return (
            f"Measured here are saved probability tables ({markdown(inputs['saved_tables'])}), "
            f"from other models and mostly other tasks than the paper's. {differ}"
        )
    names = [model["name"] for model in inputs["plan"]["models"]]
    theirs = list(dict.fromkeys(row["model"] for row in published("main").numbers["rows"]))
    measured = f"Measured here: {markdown(', '.join(names))}."
    if names and set(names) <= set(theirs):
        return (
            f"{measured} The paper has models of the same name; weights, prompts and scores of "
            "labels may differ in what it leaves open."
        )
    return f"{measured} The paper's models are {', '.join(theirs)}. {differ}"


def _protocol(plan: dict[str, Any]) -> str:
    """Say what was prompted and where the labels come from."""
    limits = plan["rows"]
    rows = {part: f"up to {limits[part]:,}" if part in limits else "all" for part in _PARTS}
    if plan["opt_split"] == "train":
        where = "The opt pool is of the training split, as in the paper"
    else:
        where = (
            "The opt pool is cut off the test split by seed, for the model has seen the training "
            "split; the paper's is of the training split"
        )
    exceptions = "".join(
        f"; of {markdown(task)} " + ", ".join(f"{n:,} {part}" for part, n in sizes.items())
        for task, sizes in sorted(limits.items())
        if task not in _PARTS
    )
    return (
        f"Plan {markdown(plan['name'])}: tasks {markdown(', '.join(plan['tasks']))}; seeds "
        f"{', '.join(map(str, plan['seeds']))}. {where}: {rows['opt']} rows, of which "
        f"{plan['dev_share']:.0%} are the dev split; {rows['test']} test rows{exceptions}."
    )


def _told(reasons: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(markdown(f"{name}: {why}") for name, why in reasons.items())


def _statement_table(statements: Sequence[tuple[Section, Statement]]) -> Table:
    titles = ("Experiment", "The paper says", "Its figures", "Measured", "Verdict")
    rows = [
        Row((section.name, one.claim, one.paper, one.measured, _VERDICTS[one.confirmed]))
        for section, one in statements
    ]
    return Table("statements", "Statements of the paper", [Column(t) for t in titles], rows)


def _paper_part(section: Section) -> Iterator[Block]:
    yield Heading(f"{section.title} ({section.paper})" if section.paper else section.title)
    if not is_published(section.name):
        return
    found = published(section.name)
    yield Heading("The paper", 3)
    yield Paragraph(f"From {found.place}.")
    yield from paper_tables(section.name)
    if found.remarks:
        yield Bullets(found.remarks)
    yield Heading("Measured", 3)


def _present(
    folder: Path, artefact: Table | Figure | Text | Statement, written: list[Path]
) -> Iterator[Block]:
    match artefact:
        case Table():
            written += _write_table(make_folder(folder / TABLES), artefact)
            yield artefact
        case Figure():
            try:
                path = _draw(make_folder(folder / FIGURES), artefact)
            except MissingDependencyError as error:
                yield Paragraph(markdown(f"Not drawn: {artefact.title}. {error}."))
                return
            written.append(path)
            yield Picture(path, _titled(artefact), artefact.caption)
        case Text():
            yield Paragraph(artefact.markdown)
        case Statement():
            return  # all of them stand in one table


def _write_table(folder: Path, table: Table) -> list[Path]:
    return [
        _write(
            folder / f"{table.name}.md", f"**{markdown(_titled(table))}**\n\n{to_markdown(table)}\n"
        ),
        _write(folder / f"{table.name}.tex", to_latex(table) + "\n"),
        _write(folder / f"{table.name}.csv", to_csv(table)),
    ]


def _draw(folder: Path, figure: Figure) -> Path:
    module = load_optional("matplotlib.figure", purpose="draw pictures", extra="plot")
    drawn = module.Figure(figsize=figure.size, layout="constrained")
    figure.draw(drawn)
    drawn.suptitle(literal(figure.title), fontsize=11, x=0.01, ha="left")
    path = folder / f"{figure.name}.png"
    with atomic_path(path) as temporary:
        drawn.savefig(temporary, dpi=130)
    return path


def _titled(artefact: Table | Figure) -> str:
    return f"{artefact.title} ({artefact.paper})" if artefact.paper else artefact.title


def _write(path: Path, text: str) -> Path:
    with atomic_path(path) as temporary:
        # a file name may hold bytes that are no text
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    return path
