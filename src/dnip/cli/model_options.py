"""Options that choose a language model, here or behind a server, as the command line has them.

An option that was not given is None, so that one for another kind of model can be told.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

HERE = "Model on this machine"
SERVER = "Server"
REASONING = "Chain of thought"
VOTES = "Votes of a server's sampled answers"


class EndpointName(StrEnum):
    """Endpoints of a server that ``--endpoint`` takes."""

    COMPLETIONS = "completions"
    CHAT = "chat"


# Suffixes of what a model's folder holds.
_OF_MODELS = (".json", ".safetensors", ".jinja", ".txt", ".model", ".py")


def model_files(*models: str | None) -> list[Path]:
    """Return the files of the models that are folders here, for `dnip.base.files.check_files`."""
    folders = [Path(model) for model in models if model is not None]
    return [
        path
        for folder in folders
        if os.path.isdir(folder)  # noqa: PTH112  # no error for a name that is too long
        for path in folder.iterdir()
        if path.suffix in _OF_MODELS and not path.name.endswith(".meta.json")  # a table's, beside
    ]


ModelName: TypeAlias = Annotated[
    str,
    typer.Option(
        help="A local folder or hub name for transformers; or the URL of an OpenAI-compatible "
        "server, such as http://127.0.0.1:8000/v1.",
        show_default=False,
    ),
]
Precision: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="float32, bfloat16, float16, or auto for the model's own.  [default: float32]",
        rich_help_panel=HERE,
        show_default=False,
    ),
]
Device: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="cpu, cuda, cuda:1, or auto for a GPU where there is one.  [default: auto]",
        rich_help_panel=HERE,
        show_default=False,
    ),
]
Chat: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--chat",
        help="Give each prompt as a turn of the user in the tokenizer's chat template.",
        rich_help_panel=HERE,
    ),
]
Revision: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Branch, tag or commit of a model on the hub.",
        rich_help_panel=HERE,
        show_default=False,
    ),
]
BatchTokens: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Most tokens of a batch.  [default: 768 on a CPU, 16384 on a GPU; 8192 and 65536 with "
        "--chain-of-thought]",
        rich_help_panel=HERE,
        show_default=False,
    ),
]
ServedModel: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The server's name of the model; needed.", rich_help_panel=SERVER, show_default=False
    ),
]
EndpointOption: TypeAlias = Annotated[
    EndpointName | None,
    typer.Option(
        help="completions continues the prompt; chat wraps it in the model's chat template.  "
        "[default: completions; chat with --votes]",
        rich_help_panel=SERVER,
        show_default=False,
    ),
]
TopLogprobs: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="How many of the likeliest tokens to ask for, up to 20.  [default: 20]",
        rich_help_panel=SERVER,
        show_default=False,
    ),
]
TokenizerName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The model's tokenizer, a folder or hub name: labels are asked for by token id, which "
        "vLLM reports exactly.",
        rich_help_panel=SERVER,
        show_default=False,
    ),
]
KeyVariable: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Environment variable that holds the key.  [default: OPENAI_API_KEY]",
        rich_help_panel=SERVER,
        show_default=False,
    ),
]
Concurrency: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Requests at a time.  [default: 8]", rich_help_panel=SERVER, show_default=False
    ),
]
Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Seconds for one request.  [default: 60]", rich_help_panel=SERVER, show_default=False
    ),
]
Retries: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Most retries of the whole run.  [default: one per request, at least 100]",
        rich_help_panel=SERVER,
        show_default=False,
    ),
]
ExtraBody: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="JSON",
        help="Further fields of every request; null takes a field out. They are recorded: no "
        "secrets.",
        rich_help_panel=SERVER,
        show_default=False,
    ),
]
ChainOfThought: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--chain-of-thought",
        help="Let the model reason before it answers, and score the last label in its answer.",
        rich_help_panel=REASONING,
    ),
]
MaxNewTokens: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Most tokens of an answer, reasoning included.  [default: 256]",
        rich_help_panel=REASONING,
        show_default=False,
    ),
]
Votes: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Sample so many answers to each prompt and count the labels that they end in; for "
        "models that tell no probabilities.",
        rich_help_panel=VOTES,
        show_default=False,
    ),
]
Temperature: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Of the sampling, above 0.  [default: 1]", rich_help_panel=VOTES, show_default=False
    ),
]
MaxTokens: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="The longest answer, thoughts included.  [default: 2048]",
        rich_help_panel=VOTES,
        show_default=False,
    ),
]
SamplingSeed: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Of the first sample, for servers that can repeat one.  [default: 0]",
        rich_help_panel=VOTES,
        show_default=False,
    ),
]
