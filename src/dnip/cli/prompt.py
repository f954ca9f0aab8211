"""``dnip prompt``: class probabilities from a language model."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dnip.cli.console import complain, live_progress, print_json
from dnip.cli.options import AsJson

if TYPE_CHECKING:
    from dnip.prompting.engines.base import Engine
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


class EndpointName(StrEnum):
    """Endpoints of a server that ``--endpoint`` takes."""

    COMPLETIONS = "completions"
    CHAT = "chat"


TaskName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help="agnews, dbpedia, ddi, pubmedqa, rte, sst5, trec, or a .toml file.",
        show_default=False,
    ),
]
ModelName: TypeAlias = Annotated[
    str,
    typer.Option(
        help="A local folder or hub name for transformers; or the URL of an OpenAI-compatible "
        "server, such as http://127.0.0.1:8000/v1.",
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
Precision: TypeAlias = Annotated[
    str, typer.Option(help="float32, bfloat16, float16 or auto (transformers).")
]


def prompt(
    task: TaskName,
    data: DataSource,
    model: ModelName,
    out: Annotated[Path, typer.Option(help="The probability table to write.", show_default=False)],
    shots: Shots = "1",
    seed: Annotated[int, typer.Option(help="Seed of the demonstrations.")] = 0,
    split: Annotated[str, typer.Option(help="The split to score.")] = "test",
    limit: Annotated[
        int | None,
        typer.Option(
            help="Score this many rows, drawn at random, the same for every seed.",
            show_default=False,
        ),
    ] = None,
    scoring: Annotated[
        ScoringName,
        typer.Option(
            help="Label words of several tokens: their first distinguishing token, the sum of "
            "their log-probabilities, that per token, or the mean of the tokens' probabilities."
        ),
    ] = ScoringName.FIRST,
    truncate: Annotated[
        bool,
        typer.Option("--truncate", help="Shorten the longest field of prompts that do not fit."),
    ] = False,
    dtype: Precision = "float32",
    device: Annotated[str, typer.Option(help="cpu, cuda or auto (transformers).")] = "auto",
    served_model: Annotated[
        str | None,
        typer.Option(help="The server's name of the model (server).", show_default=False),
    ] = None,
    endpoint: Annotated[
        EndpointName, typer.Option(help="Which endpoint to ask (server).")
    ] = EndpointName.COMPLETIONS,
    fill: Annotated[
        FillName,
        typer.Option(help="What stands for labels that the server did not report (server)."),
    ] = FillName.HALF,
    concurrency: Annotated[int, typer.Option(help="Requests at a time (server).")] = 8,
    json: AsJson = False,
) -> None:
    """Ask a language model for class probabilities.

    Writes one row per example of the split, with the probability that the model put on all labels
    together (mass); the metadata stand in OUT.meta.json. Killed at any moment and started again
    with the same command, it goes on. A server's key is read from OPENAI_API_KEY.
    """
    from dnip.files import check_writable
    from dnip.prompting.engines.base import Scoring
    from dnip.prompting.fill import Fill
    from dnip.prompting.plan import make_plan
    from dnip.prompting.run import run_plan
    from dnip.prompting.task import load_task

    check_writable(out)
    plan = make_plan(
        load_task(task), data, split=split, shots=parse_shots(shots), seed=seed, limit=limit
    )
    engine = make_engine(
        model,
        dtype=dtype,
        device=device,
        served_model=served_model,
        endpoint=endpoint.value,
        concurrency=concurrency,
    )
    if truncate and hasattr(engine, "too_long"):
        plan = plan.shortened(engine.too_long)
    with live_progress("prompting") as show:
        summary = run_plan(
            plan,
            engine,
            scoring=Scoring(scoring.value),
            out=out,
            fill=Fill(fill.value),
            progress=lambda done, total: show(f"{done:,} of {total:,} rows"),
        )
    if summary.n_open:
        complain(
            "note",
            f"rows whose decision depends on labels that the server did not report: "
            f"{summary.n_open:,}",
        )
    if json:
        print_json({**summary.to_dict(), "out": str(out)})
    else:
        typer.echo(
            f"{summary.n:,} rows written to {out} ({summary.n_resumed:,} from an earlier run); "
            f"captured mass {summary.mean_mass:.3f} on average, {summary.least_mass:.3g} at least"
        )


def parse_shots(shots: str) -> int | str:
    """Return a number of demonstrations, or the word balanced."""
    from dnip.errors import InvalidInputError
    from dnip.prompting.demonstrations import BALANCED

    if shots == BALANCED:
        return BALANCED
    if not shots.isdecimal():
        raise InvalidInputError(f"shots must be a number or {BALANCED}; got {shots!r}")
    return int(shots)


def load_model(model: str, *, dtype: str, device: str) -> TransformersEngine:
    """Load a model; without the bars that its library draws where no one watches."""
    from dnip.optional import load_optional
    from dnip.prompting.engines.transformers_engine import TransformersEngine

    if not sys.stderr.isatty():
        library = load_optional(
            "transformers.utils.logging", purpose="run a language model", extra="transformers"
        )
        library.disable_progress_bar()
    return TransformersEngine(model, dtype=dtype, device=device)


def make_engine(
    model: str,
    *,
    dtype: str,
    device: str,
    served_model: str | None,
    endpoint: str,
    concurrency: int,
) -> Engine:
    """Return the engine that a model's path, name or URL asks for."""
    if not model.startswith(("http://", "https://")):
        return load_model(model, dtype=dtype, device=device)

    from dnip.errors import InvalidInputError
    from dnip.prompting.engines.openai_client import Server
    from dnip.prompting.engines.openai_engine import OpenAIEngine

    if served_model is None:
        raise InvalidInputError(
            f"{model} is a server, and a server needs the name of its model",
            hint="Give --served-model",
        )
    return OpenAIEngine(served_model, Server(model, concurrency=concurrency), endpoint=endpoint)
