"""``python -m reproduction prompt``: class probabilities of one model for every cell.

A cell is a task, a way of prompting, a seed and a split. Its rows are asked for in chunks, and each
chunk is kept as soon as it is done: a run that was killed goes on from there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dnip import InvalidInputError
from dnip.base.files import atomic_path, check_writable, make_folder, write_text
from dnip.base.typing import Integers
from dnip.llm.prompting.models import ModelOptions, open_model
from dnip.llm.prompting.plan import draw_demonstrations, parse_shots
from dnip.llm.prompting.prompt import PromptBuilder
from dnip.llm.prompting.task import load_task
from dnip.llm.prompting.texts import Texts, read_texts
from dnip.tables.columns import FALLBACK
from reproduction.judging import named
from reproduction.probabilities import BALANCED, COLUMNS, FIVE, KEY, ONE, REASONING, SPLITS, TASKS

SEEDS = (0, 1, 2)
#: Rows that are kept together.
CHUNK = 250
SETTINGS = "settings.json"
LIBRARIES = ("dnip", "transformers", "torch", "tokenizers", "numpy")


@dataclass(frozen=True)
class Stage:
    """One way of prompting for some tasks, and how many rows of each split at most."""

    shots: str
    opt: int
    test: int
    tasks: tuple[str, ...] = TASKS

    def rows(self, task: str, split: str) -> int:
        """Return the most rows of a split; abstracts are ten times as long as other texts."""
        most = self.opt if split == "opt" else self.test
        return min(most, 250) if task == "pubmedqa" and self.shots != ONE else most


#: In the order in which they are asked for: what more of the paper rests on comes first.
STAGES = (
    Stage(ONE, 1000, 1000),
    Stage(BALANCED, 500, 500),
    Stage(FIVE, 500, 500, ("agnews",)),
    Stage(ONE, 4000, 1000, ("agnews", "sst5", "trec")),
    Stage(FIVE, 500, 500),
    Stage(REASONING, 0, 200),
)


def prompt_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduction prompt",
        description="Class probabilities of a model for every cell of the experiments. Give the "
        "same command again after a stop: it goes on.",
    )
    parser.add_argument("--model", required=True, help="as for dnip prompt")
    told = "a folder for each task, with train and test"
    parser.add_argument("--data", type=Path, required=True, help=told)
    parser.add_argument("--out", type=Path, required=True, help="the Parquet file to make")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--rows", type=int, help="so many rows of each split at most")
    told = "prompt for nothing: make the file of the cells that are finished"
    parser.add_argument("--so-far", action="store_true", help=told)
    return parser


@dataclass(frozen=True)
class Task:
    """One task's data, and its demonstrations."""

    name: str
    folder: Path

    @cached_property
    def wording(self) -> Any:
        """What its prompts say."""
        return load_task(self.name)

    @cached_property
    def splits(self) -> dict[str, Texts]:
        """Rows to fit on and rows to score."""
        names = zip(SPLITS, ("train", "test"), strict=True)
        return {ours: read_texts(self._file(its), self.wording) for ours, its in names}

    def _file(self, split: str) -> Path:
        """Return the table of a split."""
        paths = [self.folder / f"{split}{suffix}" for suffix in (".jsonl", ".csv", ".parquet")]
        if not any(path.is_file() for path in paths):
            hint = f"Give --data a folder with {self.name}/{split}.jsonl (or .csv, .parquet)"
            raise InvalidInputError(f"there is no {paths[0]}", hint=hint)
        return next(path for path in paths if path.is_file())

    @cache  # noqa: B019 - seven tasks in a run
    def shown(self, shots: str, seed: int) -> list[int]:
        """Return the training rows that are shown."""
        number = parse_shots(ONE if shots == REASONING else shots)
        classes = self.wording.n_classes
        return draw_demonstrations(self.splits["opt"], number, n_classes=classes, seed=seed)

    def order(self, shots: str, seed: int, split: str) -> Integers:
        """Return row numbers in the order in which they are asked for: a draw, without the shown.

        A cell of fewer rows is the beginning of one of more.
        """
        order = np.random.default_rng(0).permutation(len(self.splits[split]))
        return order[~np.isin(order, self.shown(shots, seed))] if split == "opt" else order

    def settings(self) -> dict[str, Any]:
        """Return what its rows depend on, as plain JSON."""
        files = sorted(path for path in self.folder.iterdir() if path.stem in ("train", "test"))
        data = {path.name: _sha256([path]) for path in files}
        found: dict[str, Any] = json.loads(json.dumps({**asdict(self.wording), "data": data}))
        return found


def prompt(
    model: str, data: Path, out: Path, tasks: list[str], rows: int | None, *, so_far: bool
) -> None:
    """Ask a model for every cell, and write the file and what stands beside it."""
    if rows is not None and rows < 1:
        raise InvalidInputError(f"--rows must be 1 or more; got {rows}")
    if out.suffix != ".parquet":
        raise InvalidInputError(f"{out}: the file must end in .parquet")
    check_writable(out)
    known = {name: Task(name, data / name) for name in TASKS if name in tasks}
    for task in known.values():
        if not task.folder.is_dir():
            hint = "Give --data a folder with one for each task"
            raise InvalidInputError(f"there is no folder {task.folder}", hint=hint)
    parts = _parts_of(out)
    asked = {"model": _model(model), "tasks": {n: task.settings() for n, task in known.items()}}
    settings = _same_settings(parts / SETTINGS, asked)
    if not so_far:
        _ask(model, known, rows, parts)
    frame = _finished(known, rows, parts)
    there = [name for name in TASKS if name in set(frame.task)]
    about = {
        "model": settings["model"],
        "tasks": there,
        "prompts": {name: settings["tasks"][name] for name in there},
        "stages": [asdict(stage) for stage in STAGES],
        "versions": {name: version(name) for name in LIBRARIES if find_spec(name)},
    }
    with atomic_path(out) as path:
        frame.to_parquet(path, index=False, compression="zstd")
    text = json.dumps(about, indent=1, ensure_ascii=False)
    write_text(out.with_suffix(".json"), f"{text}\n")
    print(f"{out}: {len(frame):,} rows of {frame.groupby(KEY).ngroups} cells")


def cells(tasks: Sequence[str], most: int | None) -> Iterator[tuple[str, str, int, str, int]]:
    """Yield task, shots, seed, split and the number of rows of each cell, in order."""
    for stage in STAGES:
        for task in (name for name in tasks if name in stage.tasks):
            for seed in SEEDS:
                for split in SPLITS:
                    rows = stage.rows(task, split)
                    yield task, stage.shots, seed, split, rows if most is None else min(rows, most)


def _ask(model: str, tasks: dict[str, Task], most: int | None, parts: Path) -> None:
    """Ask for every row that no part holds yet."""

    @cache
    def engine(reasoning: bool) -> Any:
        return open_model(ModelOptions(model=model, chain_of_thought=reasoning))

    for name, shots, seed, split, rows in cells(list(tasks), most):
        task, began = tasks[name], time.monotonic()
        old = _parts(parts, name, shots, seed, split)
        done = set(pd.concat([pd.read_parquet(p, columns=["row"]) for p in old]).row) if old else ()
        wanted = [int(row) for row in task.order(shots, seed, split)[:rows] if row not in done]
        for number, first in enumerate(range(0, len(wanted), CHUNK), start=len(old)):
            chunk = wanted[first : first + CHUNK]
            frame = _chunk(engine(shots == REASONING), task, shots, seed, split, chunk)
            with atomic_path(parts / f"{name}_{shots}_{seed}_{split}_{number:03d}.parquet") as path:
                frame.to_parquet(path, index=False)
        if wanted:
            took = f"{len(wanted)} rows, {time.monotonic() - began:.0f} s"
            print(f"{name} {named(shots)} seed {seed} {split}: {took}", file=sys.stderr, flush=True)


def _chunk(engine: Any, task: Task, shots: str, seed: int, split: str, rows: list[int]) -> Any:
    """Ask for some rows and return them as a frame."""
    train, examples = task.splits["opt"], task.splits[split]
    shown = task.shown(shots, seed)
    demonstrations = [(train.rows[i], int(train.labels[i])) for i in shown]
    builder = PromptBuilder(task.wording, demonstrations, shots == REASONING)
    prompts = [builder.prompt(examples.rows[row]) for row in rows]
    found = []
    for scored in engine.score(prompts, task.wording):
        row = rows[scored.row]
        with np.errstate(divide="ignore"):
            logp = np.log(scored.captured).astype(np.float32)
        found.append(
            {
                **{"task": task.name, "shots": shots, "seed": seed, "split": split, "row": row},
                **{"label": int(examples.labels[row]), "mass": float(scored.captured.sum())},
                **{"demonstrations": [label for _, label in demonstrations], "logp": logp},
                "answered": scored.details.get(FALLBACK, 0) == 0 if shots == REASONING else None,
            }
        )
    return pd.DataFrame(found).astype({"answered": "boolean"})


def _finished(tasks: dict[str, Task], most: int | None, parts: Path) -> Any:
    """Return the rows of all cells that are whole, at the largest of their stages."""
    found: dict[tuple[str, str, int, str], Any] = {}
    for name, shots, seed, split, rows in cells(list(tasks), most):
        files = _parts(parts, name, shots, seed, split)
        asked = tasks[name].order(shots, seed, split)[:rows] if files else ()
        if len(asked):
            frame = pd.concat(map(pd.read_parquet, files)).drop_duplicates("row")
            frame = frame[frame.row.isin(asked)]
            found |= {(name, shots, seed, split): frame} if len(frame) == len(asked) else {}
    if not found:
        raise InvalidInputError(f"no cell is finished in {parts}", hint="Leave out --so-far")
    frame = pd.concat(found.values(), ignore_index=True)
    kinds = {"seed": "int8", "row": "int32", "label": "int16", "mass": "float32"}
    return frame[list(COLUMNS)].astype(kinds)


def _parts_of(out: Path) -> Path:
    """Return the folder of parts, which begins with the rows of a file that was made before."""
    parts, beside = out.with_suffix(".parts"), out.with_suffix(".json")
    if out.is_file() and beside.is_file() and not parts.exists():
        about = json.loads(beside.read_text(encoding="utf-8"))
        settings = {"model": about["model"], "tasks": about["prompts"]}
        write_text(make_folder(parts) / SETTINGS, json.dumps(settings))
        for key, cell in pd.read_parquet(out).groupby(KEY):
            cell.to_parquet(parts / f"{'_'.join(map(str, key))}_000.parquet", index=False)
    return make_folder(parts)


def _parts(parts: Path, task: str, shots: str, seed: int, split: str) -> list[Path]:
    return sorted(parts.glob(f"{task}_{shots}_{seed}_{split}_*.parquet"))


def _same_settings(path: Path, asked: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of all tasks so far; refuse those that differ from an earlier run's."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else asked
    before, now = known["model"], asked["model"]
    wrong = f"the model {before['name']}, not of {now['name']}" if before != now else ""
    for name, task in asked["tasks"].items():
        before_it = known["tasks"].get(name, task)
        # a setting that is newer than the file is at what it was then
        changed = [key for key in task if before_it.get(key, task[key]) != task[key]]
        wrong = wrong or (f"{name} with another {changed[0]}" if changed else "")
    if wrong:
        hint = "Give another --out, or what that run was given"
        raise InvalidInputError(f"{path.parent} holds rows of {wrong}", hint=hint)
    merged = {"model": now, "tasks": {**known["tasks"], **asked["tasks"]}}
    write_text(path, json.dumps(merged, indent=1, ensure_ascii=False))
    return merged


def _model(model: str) -> dict[str, str]:
    """Return name and hash of a model: of its files, or of the name of one that is elsewhere."""
    path = Path(model)
    if not path.exists():
        return {"name": model, "sha256": hashlib.sha256(model.encode()).hexdigest()}
    files = [path] if path.is_file() else sorted(one for one in path.iterdir() if one.is_file())
    return {"name": path.name, "sha256": _sha256(files)}


def _sha256(files: Sequence[Path]) -> str:
    """Return the SHA-256 of files, one after the other."""
    found = hashlib.sha256()
    for path in files:
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: found)
    return found.hexdigest()
