"""Sources that a plan asks for, made by prompting; and sources from a folder of saved tables."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError
from dnip.prompting.data import load_examples
from dnip.prompting.demonstrations import draw_demonstrations
from dnip.prompting.model_options import ModelOptions
from dnip.prompting.task import load_task
from dnip.studies.reproduction.cell import TableRef, content_key
from dnip.studies.reproduction.prompting import PromptRequest, hash_files, hash_model, request_table
from dnip.studies.reproduction.sources import ReasonedSource, Source, Sources
from dnip.tables import ProbabilityTable

if TYPE_CHECKING:
    from dnip.prompting.data import Examples
    from dnip.studies.reproduction.plan import ModelPlan, Plan

# Endings of table files, best first.
_ENDINGS = (".csv.gz", ".csv", ".parquet", ".npz", ".jsonl")
_PARTS = ("opt", "test")
_SPLITS = ("train", "test")


class _TaskData:
    """The data of one task."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.task = name, load_task(name)
        self.folder = folder / self.task.name
        self.splits: dict[str, Examples] = {
            split: load_examples(self.folder, split, self.task) for split in _SPLITS
        }
        found = sorted(self.folder.glob("*.jsonl")) + sorted(self.folder.glob("*.csv"))
        self.hash = hash_files([path for path in found if path.stem in self.splits])


def planned_sources(plan: Plan, data: Path, folder: Path) -> Sources:
    """Return the sources of a plan; a task whose data are missing is left out and named.

    Parameters
    ----------
    plan : Plan
        Every model of it named.
    data : Path
        A folder with one folder per task, named after it.
    folder : Path
        Where tables shall stand.

    Raises
    ------
    InvalidInputError
        If no task has data, a model has no name or its options do not go together.
    """
    if not data.is_dir():
        raise InvalidInputError(
            f"{data}: there is no such folder", hint="Give the folder with one folder per task"
        )
    tasks, missing = [], {}
    for name in plan.tasks:
        try:
            tasks.append(_TaskData(name, data))
        except InvalidInputError as error:
            missing[load_task(name).name] = str(error)
    if not tasks:
        raise InvalidInputError(
            f"{data}: no task of the plan has data there: {next(iter(missing.values()))}",
            hint="Give a folder with one folder per task, such as agnews/train.jsonl",
        )
    asked = _Asked(plan, folder)
    hashes = {f"data {of_task.task.name}": of_task.hash for of_task in tasks}
    rows, reasoned = [], []
    for model in plan.models:
        hashes[f"model {model.name}"] = asked.begin(model)
        for of_task in tasks:
            for shots in model.shots:
                rows += [asked.source(of_task, shots, seed) for seed in plan.seeds]
            if 1 in model.shots:
                plain = [
                    row
                    for row in rows
                    if (row.model, row.task, row.shots) == (model.name, of_task.task.name, 1)
                ]
                reasoned += [asked.reasoned(of_task, row) for row in plain]
    return Sources(tuple(rows), tuple(reasoned), missing, asked.requests, hashes)


class _Asked:
    """What is asked of one model after the other."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        from dnip.studies.reproduction.registry import load_experiments  # noqa: PLC0415

        self._plan, self._folder = plan, folder
        (cot,) = load_experiments("cot")
        self._cot = plan.of(cot)
        self.requests: dict[str, PromptRequest] = {}

    def begin(self, model: ModelPlan) -> str:
        """Turn to a model, and return its hash."""
        if model.model is None:
            raise InvalidInputError(
                f"the plan {self._plan.name} leaves the model open", hint="Give --model"
            )
        self._model = model
        try:
            self._options = ModelOptions(model.model, **model.options)
        except InvalidInputError as error:
            raise InvalidInputError(
                f"model {model.name} of the plan {self._plan.name}: {error.message}",
                hint="Options of a model stand in the plan, under [[models]]: --served-model of "
                'dnip prompt is served_model = "…" there',
            ) from error
        self._hash = hash_model(self._options)
        return self._hash

    def source(self, of_task: _TaskData, shots: int | str, seed: int) -> Source:
        """Ask for the tables of one task under one prompt."""
        train = of_task.splits["train"]
        shown = (
            draw_demonstrations(train, shots, n_classes=of_task.task.n_classes, seed=seed)
            if shots != 0
            else []
        )
        opt, test = self._opt_and_test(of_task, shots, seed)
        return Source(
            self._model.name,
            of_task.task.name,
            shots,
            seed,
            opt=opt,
            test=test,
            shown=tuple(int(train.labels[number]) for number in shown),
        )

    def _opt_and_test(
        self, of_task: _TaskData, shots: int | str, seed: int
    ) -> tuple[TableRef, TableRef]:
        opt, test = (self._plan.limit(of_task.name, part) for part in ("opt", "test"))
        if self._plan.opt_split == "train":
            return (
                self._ask(of_task, "train", shots, seed, opt),
                self._ask(of_task, "test", shots, seed, test),
            )
        if opt is None or test is None:
            both = self._ask(of_task, "test", shots, seed, None)
            share = 0.5
        else:
            both = self._ask(of_task, "test", shots, seed, opt + test)
            share = opt / (opt + test)
        return both.side("opt", share), both.side("test", share)

    def reasoned(self, of_task: _TaskData, plain: Source) -> ReasonedSource:
        """Ask for answers with and without reasoning, on the same test rows."""
        assert plain.shots is not None
        assert plain.seed is not None
        limit = self._cot["rows"] or self._plan.limit(of_task.name, "test")
        options = replace(
            self._options, chain_of_thought=True, max_new_tokens=self._cot["max_new_tokens"]
        )
        ask = (of_task, "test", plain.shots, plain.seed, limit)
        return ReasonedSource(plain, self._ask(*ask, options=options), self._ask(*ask))

    def _ask(
        self,
        of_task: _TaskData,
        split: str,
        shots: int | str,
        seed: int,
        limit: int | None,
        options: ModelOptions | None = None,
    ) -> TableRef:
        n_rows = len(of_task.splits[split])
        reference, request = request_table(
            self._folder,
            task=of_task.name,
            data=of_task.folder,
            data_hash=of_task.hash,
            split=split,
            shots=shots,
            seed=seed,
            limit=limit,
            rows=n_rows if limit is None else min(limit, n_rows),
            options=options or self._options,
            model_hash=self._hash,
            truncate=self._model.truncate,
        )
        self.requests[reference.key] = request
        return reference


def saved_sources(folder: Path) -> Sources:
    """Return a source for each folder with an opt and a test table.

    ``meta.json`` beside them may name ``model``, ``task`` and ``class_names``; the folder's own
    name stands for the task otherwise.

    Raises
    ------
    InvalidInputError
        If there is none.
    """
    if not folder.is_dir():
        raise InvalidInputError(
            f"{folder}: there is no such folder", hint="Give the folder of saved tables"
        )
    rows, missing = [], {}
    for place in sorted(path for path in folder.iterdir() if path.is_dir()):
        try:
            rows.append(_saved(place))
        except InvalidInputError as error:
            missing[place.name] = str(error)
    if not rows:
        reason = f": {next(iter(missing.values()))}" if missing else ""
        raise InvalidInputError(
            f"{folder}: no folder in it holds an opt and a test table{reason}",
            hint="Give a folder of folders such as NAME/opt.csv.gz and NAME/test.csv.gz",
        )
    return Sources(tuple(rows), missing=missing)


def _saved(place: Path) -> Source:
    tables = {part: _find(place, part) for part in _PARTS}
    meta = _meta(place / "meta.json")
    read = {part: _read(path, meta.get("class_names")) for part, path in tables.items()}
    opt, test = read["opt"], read["test"]
    if opt.n_classes != test.n_classes:
        raise InvalidInputError(
            f"{place}: opt has {opt.n_classes} classes, but test has {test.n_classes}"
        )
    for part, table in read.items():
        if table.labels is None:
            raise InvalidInputError(f"{tables[part]}: there are no labels")
    references = {
        part: TableRef(
            f"{place.name}/{part}",
            content_key({"table": table.data_hash, "classes": list(table.classes)}),
            str(tables[part]),
            len(table),
            table.classes,
        )
        for part, table in read.items()
    }
    return Source(
        model=str(meta.get("model") or "saved table"),
        task=place.name,
        shots=None,
        seed=None,
        opt=references["opt"],
        test=references["test"],
    )


def _read(path: Path, names: object) -> ProbabilityTable:
    """Read a table with the class names that stand beside it, if they are for it."""
    if isinstance(names, list):
        with suppress(InvalidInputError):
            return ProbabilityTable.read(path, [str(name) for name in names])
    return ProbabilityTable.read(path)


def _find(place: Path, part: str) -> Path:
    for ending in _ENDINGS:
        path = place / f"{part}{ending}"
        if path.is_file():
            return path
    raise InvalidInputError(f"{place}: there is no {part} table", hint=f"Add {part}.csv.gz")


def _meta(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
