"""``dnip import``: from saved answers to a probability table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from dnip.base.option import Option
from dnip.cli import options
from dnip.cli.command import Argument
from dnip.cli.console import complain, finish, live_progress
from dnip.tables.fill import Fill


def import_(
    files: Annotated[
        list[Path], Argument("Answers of one model: .json, .jsonl, .csv or .parquet; or a folder.")
    ],
    out: Annotated[Path, Option("The probability table to write.", metavar="TABLE")],
    classes: Annotated[
        str | None, Option("Class names in order, which a folder knows.", metavar="A,B,C")
    ] = None,
    from_: Annotated[
        str | None,
        Option(
            "Kind of the answers, such as decisions, logprobs or lm-eval; any other word lists "
            "them all.  [default: recognised by content]",
            metavar="SOURCE",
        ),
    ] = None,
    question: Annotated[
        str | None, Option("Which question of the answers to read.", metavar="NAME")
    ] = None,
    only: Annotated[
        str | None,
        Option(
            "Read the answers of this model only; or to the question with this fingerprint, of "
            "which the first letters do.",
            metavar="MODEL",
        ),
    ] = None,
    map_: Annotated[
        list[str] | None,
        Option(
            "What the answers call a class: an option, a label word or a column. May be given "
            "several times.",
            metavar="CLASS=NAME",
        ),
    ] = None,
    gold: Annotated[
        Path | None,
        Option("File with labels: .csv, .jsonl, .parquet.", metavar="FILE", also="labels"),
    ] = None,
    on: Annotated[
        str | None,
        Option(
            "Name of the ids, in the answers and in the gold file; row joins by order.  "
            "[default: id]",
            metavar="ID",
        ),
    ] = None,
    label: Annotated[
        str | None,
        Option(
            "Name of the labels, in the gold file or beside the answers.  [default: label]",
            metavar="LABEL",
        ),
    ] = None,
    fill: Annotated[
        Fill,
        Option(
            "The probability to take for a label that is not among the reported tokens: zero, "
            "ceiling (the most it can be) or half of that."
        ),
    ] = Fill.HALF,
    votes: Annotated[
        bool, Option("Count the answers to each row as votes for the classes that they name.")
    ] = False,
    json: options.AsJson = False,
) -> None:
    """Make a probability table of answers that you already have.

    Reads the answers of decision servers, saved log-probabilities and batch outputs of language
    models, samples of evaluation harnesses, and any file with a column for each class. Refusals
    and failed requests are counted and left out. Answers without probabilities need --votes, and
    several for each row. What was found is written to TABLE.meta.json.

    Examples
    --------
    dnip import answers.json --classes ham,spam --gold gold.csv --out opt.csv
    dnip import recorded/topic --labels labels.csv --out opt.csv
    """
    from dnip.base.files import check_files
    from dnip.presenting.prompting import describe_import, notes_on_import
    from dnip.prompting.answers import read_answers, write_import
    from dnip.prompting.run import check_table_path
    from dnip.tables.provenance import metadata_path

    check_table_path(out)
    check_files({"files": files, "gold": gold}, {"out": out, "metadata": metadata_path(out)})
    with live_progress("importing"):
        imported = read_answers(
            files,
            options.split_classes(classes),
            source=from_,
            question=question,
            names=dict(map(_pair, map_ or ())),
            gold=gold,
            on=on,
            label=label,
            fill=fill,
            votes=votes,
            only=only,
        )
        write_import(imported, out)
    summary = imported.summary
    for note in notes_on_import(summary):
        complain("note", note)
    finish({**summary.to_dict(), "out": str(out)}, describe_import(summary, out), json=json)


def _pair(text: str) -> tuple[str, str]:
    name, sign, other = text.partition("=")
    if not sign or not name.strip() or not other.strip():
        raise click.BadParameter(f"{text!r} is not CLASS=NAME", param_hint="--map")
    return name.strip(), other.strip()
