"""Texts of tasks from the Hugging Face hub: recipes, and the files that are made of them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

from dnip.base.errors import InvalidInputError
from dnip.base.files import atomic_path, make_folder
from dnip.base.toml_models import TomlModel, load_toml
from dnip.prompting.data import HUB, rows_of_hub
from reproduction.fingerprints import hash_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnip.prompting.task import Task

_FOLDER = files("reproduction") / "data"
#: The splits that a task needs.
SPLITS = ("train", "test")


def _on_hub(source: str) -> str:
    if not source.startswith(HUB):
        raise ValueError(f"must begin with {HUB}")
    return source


class Splits(TomlModel):
    """The names of a dataset's splits."""

    train: str = "train"
    test: str = "test"


class Sizes(TomlModel):
    """The rows of whole splits."""

    train: int | None = None
    test: int | None = None


class Hashes(TomlModel):
    """SHA-256 of the files that are made of splits."""

    train: str | None = None
    test: str | None = None


class HubData(TomlModel):
    """Where a task's texts are on the hub, and how its columns are read.

    Attributes
    ----------
    source : str
        ``hf:NAME``, ``hf:NAME:CONFIGURATION``, with ``@REVISION`` if a commit is to be pinned.
    splits : Splits
        By default ``train`` and ``test``.
    fields : dict of str to str
        The column of a field of the task, where it has another name.
    label : str
        The column of the label.
    classes : tuple of str
        The task's names of the labels 0, 1, …; by default they are in the task's order.
    rows : Sizes
        How many rows the splits must have.
    most : int or None
        Of a larger training split, so many rows are drawn (seed 0).
    sha256 : Hashes
    license : str
    """

    source: Annotated[str, AfterValidator(_on_hub)]
    splits: Splits = Splits()
    fields: dict[str, str] = Field(default_factory=dict)
    label: str = "label"
    classes: Annotated[tuple[str, ...], Field(strict=False)] = ()
    rows: Sizes = Sizes()
    most: Annotated[int, Field(ge=1)] | None = None
    sha256: Hashes = Hashes()
    license: str = ""


def recipes_of(value: object) -> Any:  # noqa: ANN401 - checked by the plan
    """Return the recipes of a file that a plan names, or what else stands there."""
    return load_toml(value, _FOLDER, kind="recipe of data")[0] if isinstance(value, str) else value


def fetch(task: Task, recipe: HubData, folder: Path) -> Path:
    """Write ``train.jsonl`` and ``test.jsonl`` of a task, unless they are there; return the folder.

    Raises
    ------
    InvalidInputError
        If the dataset cannot be loaded or is not as the recipe says.
    BackendError
        If the hub cannot be reached.
    """
    make_folder(folder)
    for split in SPLITS:
        path = folder / f"{split}.jsonl"
        if not path.is_file():
            with atomic_path(path) as new:
                lines = (json.dumps(row, ensure_ascii=False) for row in _rows(task, recipe, split))
                new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        expected, found = getattr(recipe.sha256, split), hash_file(path)
        if expected not in (None, found):
            raise InvalidInputError(
                f"{path}: its SHA-256 is {found}, but the recipe says {expected}",
                hint="Delete the file and try again, or correct the recipe",
            )
    return folder


def _rows(task: Task, recipe: HubData, split: str) -> Iterator[dict[str, Any]]:
    found = rows_of_hub(recipe.source, getattr(recipe.splits, split))
    size, expected = len(found), getattr(recipe.rows, split)
    if expected not in (None, size):
        raise InvalidInputError(
            f"{recipe.source}, {split}: {size:,} rows, but the recipe says {expected:,}",
            hint="The dataset has changed: name a revision of it, as in hf:NAME@REVISION",
        )
    kept = range(size)
    if split == "train" and recipe.most is not None and size > recipe.most:
        kept = np.sort(np.random.default_rng(0).choice(size, recipe.most, replace=False)).tolist()
    columns = {field: recipe.fields.get(field, field) for field in task.fields}
    for number in kept:
        row = found[number]
        missing = [name for name in (*columns.values(), recipe.label) if name not in row]
        if missing:
            raise InvalidInputError(
                f"{recipe.source}, {split}: there is no column {', '.join(missing)}; it has "
                f"{', '.join(row)}",
                hint="Name the columns in the recipe, under fields and label",
            )
        label = row[recipe.label]
        if recipe.classes and label in range(len(recipe.classes)):
            label = recipe.classes[label]
        yield {
            "id": f"{split}-{number}",
            **{field: row[column] for field, column in columns.items()},
            "label": label,
        }
