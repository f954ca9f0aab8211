"""``dnip import``: from saved answers to a probability table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from dnip.cli import options
from dnip.cli.console import finish, live_progress
from dnip.llm.answers.fill import Fill


def import_(
    files: list[Path],
    /,
    out: Path,
    classes: options.Names = None,
    from_: str | None = None,
    question: str | None = None,
    only: str | None = None,
    map_: Annotated[list[tuple[str, str]] | None, options.parse_pair("CLASS=NAME")] = None,
    gold: Path | None = None,
    on: str | None = None,
    label: str | None = None,
    keep: list[str] | None = None,
    fill: Fill = Fill.HALF,
    votes: bool = False,
    normalise: Literal["characters"] | None = None,
    json: bool = False,
) -> None:
    """Make a probability table of answers that you already have.

    Reads answers of decision servers, saved log-probabilities and batch outputs of language models,
    samples of evaluation harnesses, and any file with a column for each class. Refusals and failed
    requests are counted and left out. Answers without probabilities need --votes, and several for
    each row. What was found stands in TABLE.meta.json.

    Parameters
    ----------
    files
        Answers of one model: .json, .jsonl, .csv or .parquet; or a folder.
    out : TABLE
        The probability table to write.
    classes : A,B,C
        Class names in order. A folder of records knows them.
    label : LABEL
        Name of the labels, beside the answers or in the file of labels. [default: label]
    gold, labels : FILE
        File with labels: .csv, .jsonl, .parquet.
    on : ID
        Name of the ids, in the answers and in the file of labels; row joins by order. [default: id]
    map_ : CLASS=NAME
        What the answers or the labels call a class: an option, a label word or a column. May be
        given several times.
    question : NAME
        Which question of the answers to read.
    votes
        Count the answers to each row as votes for the classes that they name.
    keep : COLUMN
        Carry a column into the table, such as the texts; `dnip apply` carries it on. May be given
        several times.

    Details
    -------
    from_ : SOURCE
        Kind of the answers, such as decisions, logprobs or lm-eval; any other word lists them all.
        [default: recognised by content]
    only : MODEL
        Of mixed answers, read those of this model only; or those to the question whose fingerprint
        begins so.
    fill
        The probability of a label that is not among the reported tokens: zero, ceiling (the most it
        can be) or half of that.
    normalise
        Divide the log-likelihoods of choices by the lengths of their texts.

    Examples
    --------
    dnip import answers.json --classes ham,spam --gold gold.csv --out opt.csv
    dnip import recorded/topic --labels labels.csv --out opt.csv
    """
    from dnip.base.files import check_files
    from dnip.llm.presenting import describe_import, notes_on_import
    from dnip.llm.prompting.run import check_table_path
    from dnip.llm.sources import read_answers, write_import
    from dnip.tables.origin import metadata_path

    check_table_path(out)
    check_files({"files": files, "gold": gold}, {"out": out, "metadata": metadata_path(out)})
    with live_progress("importing"):
        imported = read_answers(
            files,
            classes,
            source=from_,
            question=question,
            names=options.by_name("--map", map_),
            gold=gold,
            on=on,
            label=label,
            keep=tuple(keep or ()),
            fill=fill,
            votes=votes,
            only=only,
            normalise=normalise,
        )
        write_import(imported, out)
    summary = imported.summary
    content = {**summary.to_dict(), "out": str(out)}
    finish(content, describe_import(summary, out), json=json, notes=notes_on_import(summary))
