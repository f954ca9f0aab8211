"""``dnip import``: from saved answers to a probability table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dnip.cli import options
from dnip.cli.console import finish, live_progress


@options.command(
    "import",
    """
    Make a probability table of answers that you already have.

    Reads answers of decision servers, saved log-probabilities and batch outputs of language models,
    samples of evaluation harnesses, and any file with a column for each class. Refusals and failed
    requests are counted and left out. Answers without probabilities need --votes, and several for
    each row. What was found is in TABLE.meta.json.
    """,
    examples=[
        "dnip import answers.json --classes ham,spam --gold gold.csv --out opt.csv",
        "dnip import recorded/topic --labels labels.csv --out opt.csv",
    ],
)
@options.argument(
    "files",
    type=options.path,
    nargs=-1,
    required=True,
    help="Answers of one model: .json, .jsonl, .csv or .parquet; or a folder.",
)
@options.option(
    "--out",
    type=options.path,
    required=True,
    metavar="TABLE",
    help="The probability table to write.",
)
@options.option(
    "--classes",
    type=options.names,
    metavar="A,B,C",
    help="Class names in order. A folder of records knows them.",
)
@options.option("--question", metavar="NAME", help="Which question of the answers to read.")
@options.option(
    "--map",
    "map_",
    type=options.pair("CLASS=NAME"),
    multiple=True,
    metavar="CLASS=NAME",
    help="What the answers or the labels call a class: an option, a label word or a column. May be "
    "given several times.",
)
@options.option(
    "--gold",
    "--labels",
    "gold",
    type=options.path,
    metavar="FILE",
    help="File with labels: .csv, .jsonl, .parquet.",
)
@options.option(
    "--on",
    metavar="ID",
    help="Name of the ids, in the answers and in the file of labels, or A=B where these differ; "
    "row joins by order. [default: id]",
)
@options.option(
    "--label",
    metavar="LABEL",
    help="Name of the labels, next to the answers or in the file of labels. [default: label]",
)
@options.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    help="Carry a column into the table, such as the texts; `dnip apply` carries it on. May be "
    "given several times.",
)
@options.flag(
    "--votes", help="Count the answers to each row as votes for the classes that they name."
)
@options.json
@options.option(
    "--from",
    "source",
    metavar="SOURCE",
    heading="Details",
    help="Kind of the answers, such as decisions, logprobs or lm-eval; any other word lists them "
    "all. [default: recognised by content]",
)
@options.option(
    "--only",
    metavar="COLUMN=VALUE",
    multiple=True,
    heading="Details",
    help="Of mixed rows, read those with this value only; or the answers of a model, or to the "
    "question whose fingerprint begins so. May be given several times.",
)
@options.flag(
    "--last",
    heading="Details",
    help="Take the last label where the file of labels has several for an id.",
)
@options.option(
    "--key",
    metavar="NAME",
    heading="Details",
    help="Of answers in JSON, the key whose value is the label.",
)
@options.option(
    "--answer",
    type=options.Words(["stated", "last"]),
    default="stated",
    heading="Details",
    help="Which label is read: the one that is stated; or, where none is, the only one of the last "
    "sentence.",
)
@options.option(
    "--normalise",
    type=options.Words(["characters"]),
    heading="Details",
    help="Divide the log-likelihoods of choices by the lengths of their texts.",
)
def import_(
    files: tuple[Path, ...],
    out: Path,
    map_: tuple[tuple[str, str], ...],
    json: bool,
    **asked: Any,  # noqa: ANN401 - as in Python
) -> None:
    from dnip.base.files import check_files
    from dnip.llm.presenting import describe_import, notes_on_import
    from dnip.llm.prompting.run import check_table_path
    from dnip.llm.sources import read_answers, write_import
    from dnip.tables.origin import metadata_path

    check_table_path(out)
    reads = {"files": files, "gold": asked["gold"]}
    check_files(reads, {"out": out, "metadata": metadata_path(out)})
    with live_progress("importing"):
        imported = read_answers(files, names=options.by_name("--map", map_), **asked)
        write_import(imported, out)
    summary = imported.summary
    content = {**summary.to_dict(), "out": str(out)}
    finish(content, describe_import(summary, out), json=json, notes=notes_on_import(summary))
