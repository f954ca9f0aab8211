"""Saved class probabilities: one file for all tasks, ways of prompting and seeds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dnip.base.errors import InvalidInputError, listed
from dnip.base.typing import Floats, Integers
from dnip.llm.prompting.task import built_in_tasks, load_task
from dnip.tables import ProbabilityTable
from dnip.tables.labels import UNLABELLED

#: The paper's tasks, in the order of its tables.
TASKS = ("agnews", "dbpedia", "sst5", "trec", "rte", "ddi", "pubmedqa")
#: Ways of prompting: none, one, five, or a demonstration of each class (the paper's N-shot).
ZERO, ONE, FIVE, BALANCED, REASONING = "0", "1", "5", "balanced", "chain-of-thought"
KEY = ["task", "shots", "seed", "split"]
COLUMNS = (*KEY, "row", "label", "demonstrations", "mass", "logp", "answered")
SPLITS = ("opt", "test")
#: How the arrays of a file are named, once for probabilities (M, N) and once for labels (M,).
ARRAYS = f"TASK/SHOTS/SEED/{{{','.join(SPLITS)}}}/{{p,y}}"
#: The file that comes with a checkout.
COMMITTED = Path(__file__).with_name("probabilities.parquet")


class Rows(NamedTuple):
    """Class probabilities (M, N) of the rows of a split, labels (M,) and row numbers (M,)."""

    p: Floats
    y: Integers
    row: Integers
    answered: Integers


class Cell(NamedTuple):
    """One task, prompted in one way with the demonstrations of one seed."""

    task: str
    shots: str
    seed: int
    opt: Rows
    test: Rows
    demonstrations: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Probabilities:
    """What a file holds.

    Attributes
    ----------
    frame : DataFrame
        `COLUMNS`; ``logp`` holds natural logarithms of the probability of each label word.
    tasks : tuple of str
        The planned tasks: averages are over all of them.
    about : dict
        What stands beside the file: model, prompts, versions. Empty where nothing does.
    shots : str
        The way of prompting that most experiments read: 1-shot, or zero-shot in a file without.
    """

    frame: Any
    tasks: tuple[str, ...]
    about: dict[str, Any]
    shots: str = ONE

    @property
    def model(self) -> str:
        """The name of the model."""
        return str(self.about.get("model", {}).get("name", "a model without a name"))

    def classes(self, task: str) -> tuple[str, ...]:
        """Return the names of a task's classes."""
        wording = self.about.get("prompts", {}).get(task)
        if wording is not None:
            return tuple(wording["classes"])
        names = load_task(task).classes if task in built_in_tasks() else ()
        width = len(self.frame.logp[self.frame.task == task].iloc[0])
        return names if len(names) == width else tuple(map(str, range(width)))

    @cached_property
    def _parts(self) -> dict[tuple[Any, ...], Any]:
        return dict(iter(self.frame.groupby(KEY, sort=False)))

    def cells(self, shots: str | None = None, tasks: Sequence[str] | None = None) -> Iterator[Cell]:
        """Yield the cells of one way of prompting, task by task; those that are not there not."""
        shots = shots or self.shots
        for task in self.tasks if tasks is None else tasks:
            for seed in self.seeds(task, shots):
                parts: list[Any] = [self._parts.get((task, shots, seed, s)) for s in SPLITS]
                opt, test = map(_rows, parts)
                if len(test.y) and (len(opt.y) or shots == REASONING):
                    shown = parts[1].demonstrations.iloc[0].tolist()
                    yield Cell(task, shots, seed, opt, test, tuple(shown))

    def seeds(self, task: str, shots: str) -> list[int]:
        """Return the seeds of a task under one way of prompting."""
        return sorted({key[2] for key in self._parts if key[:2] == (task, shots)})


def read(path: Path, tasks: Sequence[str] | None = None) -> Probabilities:
    """Read a file of saved probabilities, and what stands beside it.

    Parameters
    ----------
    path : path
        A Parquet file of ``python -m reproduction prompt``, with a JSON file beside it that says of
        which model it is. Or arrays, ``.npz``, named as `ARRAYS` says.
    tasks : sequence of str, optional
        The tasks to look at, by default all that are planned; of arrays, all that are there.

    Raises
    ------
    InvalidInputError
        For a file that is missing or of neither kind, for arrays that make no sense, and for a file
        without the 1-shot rows of a task; the zero-shot rows, where no row is 1-shot.
    """
    make = "Make one with: python -m reproduction prompt --model MODEL --data DIR --out FILE"
    if not path.is_file():
        raise InvalidInputError(f"{path}: there is no such file of probabilities", hint=make)
    is_arrays = path.suffix == ".npz"
    frame = _read_arrays(path) if is_arrays else _read_parquet(path, make)
    beside = path.with_suffix(".json")
    about = json.loads(beside.read_text(encoding="utf-8")) if beside.is_file() else {}
    usual = ZERO if (frame.shots == ZERO).any() and not (frame.shots == ONE).any() else ONE
    first = frame[frame.shots == usual]
    found = set(first.task[first.split == "opt"]) & set(first.task[first.split == "test"])
    plan = dict.fromkeys(frame.task) if is_arrays else TASKS
    wanted = dict.fromkeys(tasks or about.get("tasks") or plan)
    planned = tuple(dict.fromkeys([*(task for task in TASKS if task in wanted), *wanted]))
    lacking = [task for task in planned if task not in found]
    if lacking:
        there = [task for task in planned if task in found] or sorted(found)
        named = f" --tasks {' '.join(there)}" if found else ""
        hint = f"Prompt for them, or name the tasks that you have:{named}" if named else make
        told = f"{path} has no {usual}-shot rows, opt and test, of {listed(lacking)}"
        raise InvalidInputError(f"{told}; averages are over all planned tasks", hint=hint)
    return Probabilities(frame, planned, about, usual)


def _read_parquet(path: Path, make: str) -> Any:
    try:
        return pd.read_parquet(path)
    except Exception as error:  # a damaged file fails in many ways
        hint = f"{make}, or give arrays, .npz"
        raise InvalidInputError(f"{path} is not a readable Parquet file", hint=hint) from error


def _read_arrays(path: Path) -> Any:
    """Return the rows of arrays as a frame; nothing is known of their demonstrations."""
    hint = f"Name arrays {ARRAYS}, such as sst5/0/0/opt/p: numpy.savez({path.name!r}, **arrays)"
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except Exception as error:  # a damaged file fails in many ways
        raise InvalidInputError(f"{path} holds no readable arrays", hint=hint) from error
    parts = []
    for name, values in arrays.items():
        parsed = re.fullmatch(rf"([\w-]+)/([\w-]+)/(\d{{1,9}})/({'|'.join(SPLITS)})/([py])", name)
        if parsed is None:
            raise InvalidInputError(f"{path}: an array is named {name!r}", hint=hint)
        *key, part = parsed.groups()
        task, shots, seed, split = key
        partner = "/".join([*key, "y" if part == "p" else "p"])
        if partner not in arrays:
            raise InvalidInputError(f"{path} has {name}, but no {partner}", hint=hint)
        if part == "y":
            continue
        try:
            table = ProbabilityTable(values, arrays[partner])
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}: {name}: {error.message}", hint=error.hint) from error
        assert table.labels is not None
        if (table.labels == UNLABELLED).any():
            raise InvalidInputError(f"{path}: {partner}: a row has no label", hint="Leave it out")
        with np.errstate(divide="ignore"):
            logp = np.log(table.probabilities)
        key_of_all = {"task": task, "shots": shots, "seed": int(seed), "split": split}
        rows = {"row": np.arange(len(table)), "label": table.labels, "mass": np.nan}
        unknown = [np.empty(0, int)] * len(table)
        parts.append(
            pd.DataFrame({**key_of_all, **rows, "demonstrations": unknown, "logp": [*logp]})
        )
    if not parts:
        raise InvalidInputError(f"{path} holds no array", hint=hint)
    return pd.concat(parts, ignore_index=True)


def _rows(part: Any) -> Rows:
    """Return normalised probabilities of a part of the frame; no rows of None."""
    if part is None:
        return Rows(np.empty((0, 2)), *(np.empty(0, int) for _ in range(3)))
    logp = np.vstack(list(part.logp)).astype(float)
    p = np.exp(logp - logp.max(axis=1, keepdims=True))
    answered = part.answered if "answered" in part else pd.Series(True, part.index)
    return Rows(
        p / p.sum(axis=1, keepdims=True),
        part.label.to_numpy(int),
        part.row.to_numpy(int),
        answered.fillna(True).to_numpy(int),
    )
