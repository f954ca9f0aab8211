"""``dnip prompt``: class probabilities from a language model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias, cast

import typer

from dnip.cli.console import complain, live_progress, print_json, say
from dnip.cli.model_options import (
    HERE,
    SERVER,
    BatchTokens,
    ChainOfThought,
    Chat,
    Concurrency,
    Device,
    EndpointOption,
    ExtraBody,
    KeyVariable,
    MaxNewTokens,
    MaxTokens,
    ModelName,
    Precision,
    Retries,
    Revision,
    SamplingSeed,
    ServedModel,
    Temperature,
    Timeout,
    TokenizerName,
    TopLogprobs,
    Votes,
    model_files,
)
from dnip.cli.options import AsJson, named_file
from dnip.prompting.models import ModelOptions, open_model, refuse_options

if TYPE_CHECKING:
    from dnip.prompting.engines.base import Scoring
    from dnip.prompting.engines.transformers_engine import TransformersEngine


class ScoringName(StrEnum):
    """Ways to read a label word that ``--scoring`` takes."""

    FIRST = "first"
    SUM = "sum"
    PER_TOKEN = "per-token"
    MEAN = "mean"


class FillName(StrEnum):
    """Values for unreported labels that ``--fill`` takes."""

    ZERO = "zero"
    HALF = "half"
    CEILING = "ceiling"


# A number of demonstrations has no more.
_DIGITS = 9

TaskName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help="agnews, dbpedia, ddi, pubmedqa, rte, sst5, trec, or a .toml file.",
        show_default=False,
    ),
]
DataSource: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="DIR",
        help="Folder with train.jsonl and test.jsonl (or .csv): the task's fields and label; or "
        "hf:NAME, a data set of the Hugging Face hub.",
        show_default=False,
    ),
]
Shots: TypeAlias = Annotated[
    str, typer.Option(help="Demonstrations: a number, or balanced for one of each class.")
]
SCORING = "Scoring"
ScoringOption: TypeAlias = Annotated[
    ScoringName | None,
    typer.Option(
        help="Label words of several tokens: their first distinguishing token, the sum of their "
        "log-probabilities, that per token, or the mean of the tokens' probabilities.  "
        "[default: first]",
        rich_help_panel=SCORING,
        show_default=False,
    ),
]


def prompt(
    task: TaskName,
    data: DataSource,
    model: ModelName,
    out: Annotated[Path, typer.Option(help="The probability table to write.", show_default=False)],
    shots: Shots = "1",
    seed: Annotated[int, typer.Option(help="Seed of the demonstrations.")] = 0,
    split: Annotated[
        str,
        typer.Option(
            help="The split to score; content-free for three texts that say nothing, which "
            "`dnip compare` calibrates by."
        ),
    ] = "test",
    limit: Annotated[
        int | None,
        typer.Option(
            help="Score this many rows, drawn at random, the same for every seed.",
            show_default=False,
        ),
    ] = None,
    json: AsJson = False,
    scoring: ScoringOption = None,
    dtype: Precision = None,
    device: Device = None,
    chat: Chat = False,
    revision: Revision = None,
    batch_tokens: BatchTokens = None,
    truncate: Annotated[
        bool,
        typer.Option(
            "--truncate",
            help="Shorten the longest field of prompts that do not fit into the model's context.",
            rich_help_panel=HERE,
        ),
    ] = False,
    served_model: ServedModel = None,
    endpoint: EndpointOption = None,
    top_logprobs: TopLogprobs = None,
    tokenizer: TokenizerName = None,
    fill: Annotated[
        FillName | None,
        typer.Option(
            help="What stands for labels that the server did not report, within what they can be."
            "  [default: half]",
            rich_help_panel=SERVER,
            show_default=False,
        ),
    ] = None,
    key_variable: KeyVariable = None,
    concurrency: Concurrency = None,
    timeout: Timeout = None,
    retries: Retries = None,
    extra_body: ExtraBody = None,
    chain_of_thought: ChainOfThought = False,
    max_new_tokens: MaxNewTokens = None,
    votes: Votes = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    sampling_seed: SamplingSeed = None,
) -> None:
    """Ask a language model for class probabilities.

    Writes one row per example of the split, with the probability that the model put on all labels
    together (mass); the metadata stand in OUT.meta.json. Killed at any moment and started again
    with the same command, it goes on. A server's key is read from the environment.
    """
    from functools import partial

    from dnip.base.files import check_files
    from dnip.prompting.data import split_files
    from dnip.prompting.fill import Fill
    from dnip.prompting.plan import make_plan
    from dnip.prompting.run import check_table_path, files_of_run, run_plan
    from dnip.prompting.task import load_task

    options = ModelOptions(
        model,
        dtype=dtype,
        device=device,
        chat=chat,
        revision=revision,
        batch_tokens=batch_tokens,
        served_model=served_model,
        endpoint=endpoint,
        top_logprobs=top_logprobs,
        tokenizer=tokenizer,
        key_variable=key_variable,
        concurrency=concurrency,
        timeout=timeout,
        retries=retries,
        extra_body=extra_body,
        chain_of_thought=chain_of_thought,
        max_new_tokens=max_new_tokens,
        votes=votes,
        temperature=temperature,
        max_tokens=max_tokens,
        sampling_seed=sampling_seed,
    )
    how = check_scoring(options, scoring)
    _check_fit(options, truncate=truncate, fill=fill)
    check_table_path(out)
    reads = {
        "task": named_file(task, ".toml"),
        "data": split_files(data, split),
        "model": model_files(model, tokenizer),
    }
    check_files(reads, files_of_run(out))
    plan = make_plan(
        load_task(task),
        data,
        split=split,
        shots=parse_shots(shots),
        seed=seed,
        limit=limit,
        chain_of_thought=chain_of_thought,
    )
    engine = open_model(options, plan.task, plan.prompts, stop=plan.builder.stop).engine
    if truncate:
        local = cast("TransformersEngine", engine)
        room = local.answer_tokens(plan.prompts, plan.task, how)
        plan = plan.shortened(partial(local.too_long, answer_tokens=room))
    with live_progress("prompting") as show:
        summary = run_plan(
            plan,
            engine,
            scoring=how,
            out=out,
            fill=Fill(fill.value if fill else Fill.HALF),
            progress=lambda done, total: show(f"{done:,} of {total:,} rows"),
        )
    if summary.n_open:
        complain(
            "note",
            f"rows whose decision depends on labels that the server did not report: "
            f"{summary.n_open:,}",
        )
    if summary.details.get("fallback"):
        complain(
            "note",
            f"answers that hold no label, so that their last token stands for one: "
            f"{summary.details['fallback']:,} of {summary.n:,}; answers cut at their longest: "
            f"{summary.details['cut']:,}",
        )
    if summary.details.get("unmatched"):
        complain(
            "note",
            f"sampled answers that end in no label: {summary.details['unmatched']:,} "
            f"of {summary.details['samples']:,}",
        )
    if json:
        print_json({**summary.to_dict(), "out": str(out)})
    else:
        say(
            f"{summary.n:,} rows written to {out} ({summary.n_resumed:,} from an earlier run); "
            f"captured mass {summary.mean_mass:.3f} on average, {summary.least_mass:.3g} at least"
        )


def check_scoring(options: ModelOptions, scoring: ScoringName | None) -> Scoring:
    """Return the way to read label words, or refuse one that the model has no use for."""
    from dnip.prompting.engines.base import Scoring

    if options.votes is not None and scoring is not None:
        refuse_options(["scoring"], "for log-probabilities, which --votes does not read")
    how = Scoring(scoring.value) if scoring else Scoring.FIRST
    if options.is_server and how is not Scoring.FIRST:
        refuse_options(
            [f"scoring {how}"],
            "for a model on this machine; a server reports the first token only",
            hint="Use --scoring first",
        )
    return how


def _check_fit(options: ModelOptions, *, truncate: bool, fill: FillName | None) -> None:
    """Refuse options that the chosen model has no use for."""
    if options.is_server and truncate:
        refuse_options(
            ["truncate"],
            "for a model on this machine; what fits a server's model is not known here",
            hint="Cut the texts, or show fewer demonstrations",
        )
    if not options.is_server and fill is not None:
        refuse_options(["fill"], "for a server; a model on this machine tells every label")
    if options.votes is not None and fill is not None:
        refuse_options(["fill"], "for log-probabilities, which --votes does not read")


def parse_shots(shots: str) -> int | str:
    """Return a number of demonstrations, or the word balanced."""
    from dnip.base.errors import InvalidInputError
    from dnip.prompting.demonstrations import BALANCED
    from dnip.tables.place import shown

    if shots == BALANCED:
        return BALANCED
    if not shots.isdecimal() or len(shots) > _DIGITS:
        raise InvalidInputError(
            f"shots must be a number or {BALANCED}; got {shown(shots)}",
            hint=f"Give a number of at most {_DIGITS} digits",
        )
    return int(shots)
