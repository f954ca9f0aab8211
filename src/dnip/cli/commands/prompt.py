"""``dnip prompt``: class probabilities of texts from a language model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dnip.cli import models, options
from dnip.cli.console import finish, live_progress
from dnip.llm.answers.fill import Fill
from dnip.llm.prompting.models import ModelOptions

if TYPE_CHECKING:
    from dnip.llm.prompting.engines.base import Engine
    from dnip.llm.prompting.plan import Plan

_TEXTS = "Texts"


@options.command(
    "prompt",
    """
    Ask a language model for the class probabilities of texts.

    Writes one row for each text, with its captured mass: the probability of all labels together.
    What was asked is kept next to the table, in OUT.answers: the same command asks for new texts
    only, and writes labels, ids and kept columns as they are now. Settings and versions are in
    OUT.meta.json. A server's key is read from the environment.
    """,
    examples=[
        "dnip prompt t.csv --prompt p.txt --classes a,b --model m.gguf --out opt.csv",
        "dnip prompt t.csv --task sst5 --model URL --served-model M --check",
    ],
)
@options.argument(
    "texts",
    help="A table with a column of texts: .csv, .jsonl, .parquet, or its address in an object "
    "store; hf:NAME/SPLIT, a data set of the Hugging Face hub; or content-free, three texts "
    "without content by which `dnip compare` calibrates.",
)
@options.option(
    "--prompt",
    metavar="TEXT|FILE",
    help="The prompt, or a file of it: a template over the columns, as in {{ text }}.",
)
@options.option(
    "--classes",
    type=options.names,
    metavar="A,B,C",
    help="The classes, by the words that the model is to say.",
)
@options.option(
    "--task",
    metavar="NAME|FILE",
    help="In place of prompt and classes: agnews, dbpedia, ddi, pubmedqa, rte, sst5, trec, or a "
    ".toml file.",
)
@options.option(
    "--label", metavar="COLUMN", help="The column of labels, where there are any. [default: label]"
)
@options.option(
    "--id", metavar="COLUMN", help="The column of ids, where there are any. [default: id]"
)
@models.model_options
@options.option("--out", type=options.path, metavar="TABLE", help="The probability table to write.")
@options.flag(
    "--check",
    help="Ask ten prompts and show the answers, the tokens of the labels, the captured mass and "
    "what the whole table would cost. Nothing is written.",
)
@options.json
@options.option(
    "--system", metavar="TEXT|FILE", heading=_TEXTS, help="The system message of a chat."
)
@options.option(
    "--keep",
    multiple=True,
    metavar="COLUMN",
    heading=_TEXTS,
    help="Carry a column into the table. May be given several times.",
)
@options.option(
    "--limit",
    type=int,
    metavar="N",
    heading=_TEXTS,
    help="Ask for this many random rows, the same for every seed.",
)
@options.option(
    "--shots",
    default="0",
    metavar="N|balanced",
    heading=_TEXTS,
    help="Demonstrations: a number, or balanced for one of each class.",
)
@options.option(
    "--demonstrations",
    metavar="TABLE",
    heading=_TEXTS,
    help="Other texts with labels, from which demonstrations are drawn.",
)
@options.seed
@options.flag(
    "--truncate",
    heading=models.HERE,
    help="Shorten the longest field of prompts that exceed the model's context.",
)
@options.option(
    "--fill",
    type=options.Words(Fill),
    heading=models.SERVER,
    help="The probability of a label that the server did not report: zero, ceiling (the most it "
    "can be) or half of that. [default: half]",
)
@options.cluster
@options.option(
    "--gpus-per-worker",
    type=float,
    metavar="NUMBER",
    heading="Cluster",
    help="GPUs of each process of the cluster; 0.5 if two share one. [default: 0]",
)
def prompt(
    texts: str,
    prompt: str | None,
    task: str | None,
    system: str | None,
    model: ModelOptions,
    out: Path | None,
    check: bool,
    shots: str,
    demonstrations: str | None,
    truncate: bool,
    fill: Fill | None,
    cluster: options.ClusterOptions,
    gpus_per_worker: float | None,
    json: bool,
    **settings: Any,  # noqa: ANN401
) -> None:
    from functools import partial

    from dnip.base.files import check_files
    from dnip.llm.prompting.models import open_engines
    from dnip.llm.prompting.plan import parse_shots, plan_texts
    from dnip.llm.prompting.run import check_table_path, files_of_run, run_plan
    from dnip.llm.prompting.texts import texts_files

    model.check(fill=fill, truncate=truncate)
    if out is not None:
        check_table_path(out)
        reads = {
            "texts": texts_files(texts),
            "prompt": prompt,
            "system": system,
            "task": options.named_file(task, ".toml"),
            "demonstrations": texts_files(demonstrations or ""),
            "model": options.model_files(model.model, model.tokenizer),
        }
        check_files(reads, files_of_run(out))
    elif not check:
        raise click.UsageError("Missing option '--out'; --check needs none.")
    plan = plan_texts(
        texts,
        prompt=prompt,
        task=task,
        system=system,
        shots=parse_shots(shots),
        demonstrations=demonstrations,
        chain_of_thought=model.chain_of_thought,
        **settings,
    )
    with cluster.connect(gpus_per_worker) as workers, live_progress("prompting") as show:
        engines = open_engines(model, plan, workers)
        if truncate:
            plan = plan.shortened(partial(engines[0].too_long, task=plan.task))
        if check or out is None:
            _check(plan, engines, json=json)
            return
        summary = run_plan(
            plan,
            *engines,
            out=out,
            fill=fill or Fill.HALF,
            progress=lambda done, total: show(f"{done:,} of {total:,} prompts", done, total),
        )
    content = {**asdict(summary), "out": str(out)}
    finish(content, summary.sentence(out), json=json, notes=summary.notes())


def _check(plan: Plan, engines: list[Engine], *, json: bool) -> None:
    from dnip.base.errors import InvalidInputError
    from dnip.llm.presenting import describe_check
    from dnip.llm.prompting.check import check_prompts

    result = check_prompts(plan, *engines)
    content = {**asdict(result), "passed": result.passed}
    finish(content, describe_check(result), json=json, notes=result.notes)
    if not result.passed:
        raise InvalidInputError("; ".join(result.problems))
