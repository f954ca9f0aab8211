"""Options of the commands that ask a language model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from dnip.base.option import Option
from dnip.prompting.engines.base import Scoring

# Suffixes of the files in a model's folder.
_OF_MODELS = (".json", ".safetensors", ".jinja", ".txt", ".model", ".py")


@dataclass(frozen=True)
class PromptOptions:
    """The task, and what a prompt shows."""

    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="agnews, dbpedia, ddi, pubmedqa, rte, sst5, trec, or a .toml file.",
        ),
    ]
    shots: Annotated[
        str, Option("Demonstrations: a number, or balanced for one of each class.")
    ] = "1"
    seed: Annotated[int, Option("Seed of the demonstrations.")] = 0
    scoring: Annotated[
        Scoring | None,
        Option(
            "How to score a label word of several tokens. first: the first token that no other "
            "label has. sum: the sum of the tokens' log-probabilities. per-token: that sum per "
            "token. mean: the mean of the tokens' probabilities.  [default: first]",
            "Scoring",
        ),
    ] = None


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
