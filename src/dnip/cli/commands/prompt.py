"""``dnip prompt``: class probabilities of texts from a language model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dnip.cli import options
from dnip.cli.console import finish, live_progress
from dnip.llm.answers.fill import Fill
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.models import ENDPOINTS, ModelOptions

if TYPE_CHECKING:
    from dnip.llm.prompting.engines import Engine
    from dnip.llm.prompting.plan import Plan

_TEXTS, _HERE, _SERVER = "Texts", "Model on this machine", "Server"
_THOUGHT = "Chain of thought"


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
@options.option(
    "--model",
    required=True,
    metavar="MODEL",
    help="A folder, a GGUF file, or a name on the Hugging Face hub, such as "
    "HuggingFaceTB/SmolLM2-135M-Instruct; or the URL of a server, such as "
    "http://127.0.0.1:8000/v1.",
)
@options.option(
    "--served-model", metavar="NAME", help="The server's name for the model. A server needs it."
)
@options.option(
    "--scoring",
    type=options.Words(Scoring),
    default="first",
    heading=_HERE,
    help="How to score a label word of several tokens. first: the first that no other label "
    "has. sum: the sum of their log-probabilities. per-token: that sum per token. mean: the "
    "mean of their probabilities.",
)
@options.option(
    "--dtype",
    metavar="TYPE",
    heading=_HERE,
    help="float32, bfloat16, float16, or auto for the model's own. [default: float32]",
)
@options.option(
    "--endpoint",
    type=options.Words(ENDPOINTS),
    heading="How to ask",
    help="How a prompt is asked. completions: as a text to continue. chat: as a user's message, in "
    "the chat template of a model on this machine. systemone, of transformers, vLLM, SGLang and "
    "Ollama, or decisions, of OpenAI: as a decision. [default: completions, or chat where a server "
    "has none; chat with --votes]",
)
@options.option(
    "--top-logprobs",
    type=int,
    metavar="N",
    heading=_SERVER,
    help="How many of the likeliest tokens to ask for, up to 20. [default: 20]",
)
@options.option(
    "--tokenizer",
    metavar="MODEL",
    heading=_SERVER,
    help="The model's tokenizer, a folder or a name on the hub, to ask for labels by token id, "
    "which vLLM answers exactly.",
)
@options.option(
    "--concurrency",
    type=int,
    metavar="N",
    heading=_SERVER,
    help="Requests at the same time. [default: 8]",
)
@options.option(
    "--timeout",
    type=float,
    metavar="SECONDS",
    heading=_SERVER,
    help="Seconds without a sign of the server. [default: 60]",
)
@options.option(
    "--extra-body",
    metavar="JSON",
    heading=_SERVER,
    help="More fields for every request; null removes one. They are written to the metadata, "
    "so give no secrets.",
)
@options.option(
    "--votes",
    type=int,
    metavar="N",
    heading=_SERVER,
    help="Sample this many answers to each prompt and count their labels, for models that "
    "report no probabilities.",
)
@options.flag(
    "--chain-of-thought",
    heading=_THOUGHT,
    help="Let the model reason before it answers, and score the last label in its answer.",
)
@options.option(
    "--max-new-tokens",
    type=int,
    metavar="N",
    heading=_THOUGHT,
    help="Tokens of an answer, reasoning included, at most; a server's answer of more than one "
    "is read where it states its label. [default: 1; 256 for JSON and for reasoning; 2048 with "
    "--votes]",
)
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
    heading=_HERE,
    help="Shorten the longest field of prompts that exceed the model's context.",
)
@options.cluster
def prompt(
    texts: str,
    prompt: str | None,
    task: str | None,
    system: str | None,
    out: Path | None,
    check: bool,
    shots: str,
    demonstrations: str | None,
    truncate: bool,
    cluster: options.ClusterOptions,
    json: bool,
    **settings: Any,  # noqa: ANN401
) -> None:
    from functools import partial

    from dnip.base.files import check_files
    from dnip.llm.prompting.models import open_engines
    from dnip.llm.prompting.plan import parse_shots, plan_texts
    from dnip.llm.prompting.run import check_table_path, files_of_run, run_plan
    from dnip.llm.prompting.texts import texts_files

    named = ModelOptions.names() & settings.keys()
    model = ModelOptions(**{name: settings.pop(name) for name in named})
    model.check(truncate=truncate)
    if out is not None:
        check_table_path(out)
        reads = {
            "texts": texts_files(texts),
            "prompt": prompt,
            "system": system,
            "task": options.named_file(task, ".toml"),
            "demonstrations": texts_files(demonstrations or ""),
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
    with cluster.connect(gpus=not model.is_server) as workers, live_progress("prompting") as show:
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
            fill=Fill.HALF,
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
