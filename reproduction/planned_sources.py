"""Sources that a plan asks for; prompting makes their tables when cells need them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dnip.base.errors import InvalidInputError
from dnip.prompting.data import SUFFIXES, load_examples
from dnip.prompting.models import ModelOptions
from dnip.prompting.plan import draw_demonstrations
from dnip.prompting.task import Task
from dnip.prompting.task_files import load_task
from reproduction.fingerprints import hash_files
from reproduction.hub_data import SPLITS, fetch
from reproduction.prompt_request import PromptRequest, hash_model
from reproduction.sources import ReasonedSource, Source, Sources

if TYPE_CHECKING:
    from pathlib import Path

    from dnip.prompting.data import Examples
    from reproduction.cell import TableRef
    from reproduction.plan import ModelPlan, ReproductionPlan


# A demonstration of reasoning as in the paper, with nothing of ours before the answer. Where labels
# are looked for, a full stop stands for the sentence.
_REASONED = "{{ prompt }} {{ rationale or '.' }}{{ answer }}"


def planned_sources(
    plan: ReproductionPlan, data: Path | None, folder: Path, fetched: Path
) -> Sources:
    """Return the sources of a plan; a task without data is left out and named.

    Parameters
    ----------
    plan : ReproductionPlan
        A plan that names every model.
    data : Path or None
        A folder with one folder per task, named after the task.
    folder : Path
        Where the tables will be.
    fetched : Path
        Where to put the texts of tasks that are not in `data`, but on the hub by the plan.

    Raises
    ------
    InvalidInputError
        If no task has data, a model has no name or its options do not go together.
    """
    if data is not None and not data.is_dir():
        raise InvalidInputError(
            f"{data}: there is no such folder", hint="Give the folder with one folder per task"
        )
    tasks, missing = [], {}
    for task in map(load_task, plan.tasks):
        try:
            tasks.append(_read_task(task, _texts_of(task, plan, data, fetched / task.name)))
        except InvalidInputError as error:
            missing[task.name] = str(error)
    if not tasks:
        raise InvalidInputError(
            f"{data or plan.name}: no task of the plan has data there: "
            f"{next(iter(missing.values()))}",
            hint="Give a folder with one folder per task, such as agnews/train.jsonl",
        )
    asked = _Asked(plan, tasks, folder)
    rows = tuple(
        asked.source(model, task, shots, seed)
        for model in plan.models
        for task in tasks
        for shots in model.shots
        for seed in plan.seeds
    )
    hashes = {f"data {one.task.name}": one.hash for one in tasks}
    hashes |= {f"model {model.name}": asked.models[model.name].hash for model in plan.models}
    return Sources(rows, missing, asked.requests, hashes, asked.reasoned)


@dataclass(frozen=True)
class _TaskData:
    """A task, its examples by split, and the hash of their files."""

    task: Task
    folder: Path
    splits: dict[str, Examples]
    hash: str


def _texts_of(task: Task, plan: ReproductionPlan, data: Path | None, fetched: Path) -> Path:
    """Return the folder of a task's texts; they are fetched if only the plan knows them."""
    if task.name in plan.data and (data is None or not (data / task.name).is_dir()):
        return fetch(task, plan.data[task.name], fetched)
    if data is None:
        raise InvalidInputError(
            "the plan does not say where its texts are", hint="Give a folder of it with --data"
        )
    return data / task.name


def _read_task(task: Task, folder: Path) -> _TaskData:
    splits = {split: load_examples(folder, split, task) for split in SPLITS}
    found = [path for suffix in SUFFIXES for path in sorted(folder.glob(f"*{suffix}"))]
    return _TaskData(task, folder, splits, hash_files(p for p in found if p.stem in splits))


@dataclass(frozen=True)
class _Model:
    """A model of the plan with checked options, and the hash of its files."""

    plan: ModelPlan
    options: ModelOptions
    hash: str


def _check_model(model: ModelPlan, plan: str) -> _Model:
    if model.model is None:
        raise InvalidInputError(f"the plan {plan} does not name its model", hint="Give --model")
    try:
        options = ModelOptions(model.model, **model.options)
    except InvalidInputError as error:
        raise InvalidInputError(
            f"model {model.name} of the plan {plan}: {error.message}",
            hint="Set the options of a model in the plan, under [[models]]: --served-model of "
            'dnip prompt is served_model = "…" there',
        ) from error
    return _Model(model, options, hash_model(options))


class _Asked:
    """The tables that the models of a plan are asked for."""

    def __init__(self, plan: ReproductionPlan, tasks: list[_TaskData], folder: Path) -> None:
        self._plan, self._folder = plan, folder
        self._tasks = {one.task.name: one for one in tasks}
        self.models = {model.name: _check_model(model, plan.name) for model in plan.models}
        self.requests: dict[str, PromptRequest] = {}

    def source(self, model: ModelPlan, task: _TaskData, shots: int | str, seed: int) -> Source:
        """Ask for the tables of one task under one prompt."""
        train = task.splits["train"]
        shown = []
        if shots != 0:
            classes = task.task.n_classes
            shown = draw_demonstrations(train, shots, n_classes=classes, seed=seed)
        opt, test = self._opt_and_test(self.models[model.name], task, shots, seed)
        return Source(
            model.name,
            task.task.name,
            shots,
            seed,
            opt=opt,
            test=test,
            shown=tuple(int(train.labels[number]) for number in shown),
        )

    def _opt_and_test(
        self, model: _Model, task: _TaskData, shots: int | str, seed: int
    ) -> tuple[TableRef, TableRef]:
        opt, test = (self._plan.rows.of(task.task.name, part) for part in ("opt", "test"))
        if self._plan.opt_split == "train":
            return (
                self._ask(model, task, "train", shots, seed, opt),
                self._ask(model, task, "test", shots, seed, test),
            )
        limit, share = None, 0.5
        if opt is not None and test is not None:
            limit, share = opt + test, opt / (opt + test)
        both = self._ask(model, task, "test", shots, seed, limit)
        return both.side("opt", share), both.side("test", share)

    def reasoned(self, plain: Source, rows: int, max_new_tokens: int) -> ReasonedSource:
        """Ask for answers with and without reasoning, on the same test rows."""
        assert plain.shots is not None
        assert plain.seed is not None
        model, task = self.models[plain.model], self._tasks[plain.task]
        limit = rows or self._plan.rows.of(plain.task, "test")
        options = replace(model.options, chain_of_thought=True, max_new_tokens=max_new_tokens)
        wording = replace(task.task.chain_of_thought, demonstration=_REASONED)
        reasoning = replace(task, task=replace(task.task, chain_of_thought=wording))
        after, before = (
            self._ask(way, asked, "test", plain.shots, plain.seed, limit)
            for way, asked in ((replace(model, options=options), reasoning), (model, task))
        )
        return ReasonedSource(plain, after, before)

    def _ask(
        self,
        model: _Model,
        task: _TaskData,
        split: str,
        shots: int | str,
        seed: int,
        limit: int | None,
    ) -> TableRef:
        n_rows = len(task.splits[split])
        request = PromptRequest(
            self._folder,
            task.task,
            task.folder,
            task.hash,
            split,
            shots,
            seed,
            limit,
            rows=n_rows if limit is None else min(limit, n_rows),
            options=model.options,
            model_hash=model.hash,
            truncate=model.plan.truncate,
        )
        self.requests[request.table.key] = request
        return request.table
