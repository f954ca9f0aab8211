"""The plan of a run: one small TOML file that names models, tasks, seeds and sizes."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError
from dnip.base.files import read_text
from dnip.prompting.demonstrations import BALANCED
from dnip.prompting.task import load_task

if TYPE_CHECKING:
    import os

    from dnip.studies.reproduction.experiment import Experiment

_SUFFIX = ".toml"

#: Where an opt pool may come from.
OPT_SPLITS = ("train", "test")


@dataclass(frozen=True)
class ModelPlan:
    """A model of a plan.

    Attributes
    ----------
    name : str
        As tables name it.
    model : str or None
        A folder, a name on the hub or a server's URL; None where the command line names it.
    shots : tuple of int or "balanced"
        Settings of this model.
    options : mapping
        Those of ``dnip prompt`` for models, such as ``dtype``.
    truncate : bool
        Whether to shorten prompts that do not fit into the model's context.
    memory, cost : str
        For people: what the model needs, and what prompting it costs.
    """

    name: str
    model: str | None
    shots: tuple[int | str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    truncate: bool = False
    memory: str = ""
    cost: str = ""


@dataclass(frozen=True)
class Grid:
    """Settings that the published method chooses from on the dev split."""

    beta: tuple[float, ...] = (2.7,)
    tau: tuple[float, ...] = (0.2,)
    scale: tuple[int, ...] = (30,)
    smoothing: tuple[float, ...] = (1.0,)


@dataclass(frozen=True)
class Plan:
    """What a run is to do.

    Attributes
    ----------
    name : str
    note : str
        A line for people.
    models : tuple of ModelPlan
    prompt_jobs : int or None
        How many processes may hold a model at a time; None for as many as there are.
    tasks : tuple of str
        Built-in names, or paths of task files.
    seeds : tuple of int
        Of the demonstrations.
    opt_split : {"train", "test"}
        Where the opt pool comes from. The paper's is the training split. ``"test"`` is for a model
        that was trained on the training split: test rows are cut in two by seed, an opt pool and
        the rows to score.
    opt_rows, test_rows : int or None
        The most rows to prompt for the opt pool and for the test table; None for all.
    rows_of : mapping of str to mapping
        The same by task.
    dev_share : float
        Share of the opt pool that settings are chosen on.
    grid : Grid
    options : mapping of str to mapping
        Of single experiments, by name.
    """

    name: str
    note: str = ""
    models: tuple[ModelPlan, ...] = ()
    tasks: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0,)
    prompt_jobs: int | None = None
    opt_split: str = "train"
    opt_rows: int | None = None
    test_rows: int | None = None
    rows_of: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    dev_share: float = 0.05
    grid: Grid = field(default_factory=Grid)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def of(self, experiment: Experiment) -> dict[str, Any]:
        """Return the options of an experiment: its defaults, and what the plan says."""
        return {**experiment.options, **self.options.get(experiment.name, {})}

    def limit(self, task: str, part: str) -> int | None:
        """Return the most rows of a task's part, ``"opt"`` or ``"test"``."""
        general = self.opt_rows if part == "opt" else self.test_rows
        return self.rows_of.get(task, {}).get(part, general)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return asdict(self)


def bundled_plans() -> tuple[str, ...]:
    """Return the names of the plans that come with the package.

    Examples
    --------
    >>> "small" in bundled_plans()
    True
    """
    folder = files("dnip.studies.reproduction") / "plans"
    return tuple(
        sorted(p.name.removesuffix(_SUFFIX) for p in folder.iterdir() if p.name.endswith(_SUFFIX))
    )


def load_plan(name: str | os.PathLike[str]) -> Plan:
    """Load a bundled plan by name, or a plan from a TOML file.

    Raises
    ------
    InvalidInputError
        If there is no such plan, or the file breaks the format; the message names the key.

    Examples
    --------
    >>> load_plan("small").seeds
    (0, 1, 2)
    """
    text = str(name)
    if text in bundled_plans():
        source = files("dnip.studies.reproduction") / "plans" / f"{text}{_SUFFIX}"
        return _parse(source.read_text(encoding="utf-8"), text)
    path = Path(text)
    if path.suffix != _SUFFIX:
        raise InvalidInputError(
            f"there is no bundled plan {text!r}",
            hint=f"Name one of {', '.join(bundled_plans())}, or a .toml file",
        )
    try:
        content = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InvalidInputError(f"{path}: the plan cannot be read: {reason}") from error
    return _parse(content, text)


class _Reader:
    """Takes keys out of a TOML table one by one, and refuses what is left."""

    def __init__(self, table: Any, place: str, source: str) -> None:  # noqa: ANN401
        self._source, self._place = source, place
        if not isinstance(table, dict):
            raise self.refuse("", f"must be a table; got {table!r}")
        self._table = dict(table)
        self._known: list[str] = []

    def refuse(self, key: str, text: str, hint: str | None = None) -> InvalidInputError:
        where = ".".join(part for part in (self._place, key) if part)
        return InvalidInputError(f"{self._source}: {where} {text}", hint=hint)

    def take(self, key: str, default: Any = None) -> Any:  # noqa: ANN401
        self._known.append(key)
        return self._table.pop(key, default)

    def text(self, key: str, default: str | None = None) -> str | None:
        value = self.take(key, default)
        if value is not None and not isinstance(value, str):
            raise self.refuse(key, f"must be text; got {value!r}")
        return value

    def whole(self, key: str, *, at_least: int, default: int | None = None) -> int | None:
        value = self.take(key, default)
        if value is not None and not _is_whole(value, at_least):
            raise self.refuse(key, f"must be a whole number from {at_least}; got {value!r}")
        return value  # type: ignore[no-any-return]

    def share(self, key: str, default: float) -> float:
        value = self.take(key, default)
        if not _is_number(value) or not 0 < value < 1:
            raise self.refuse(key, f"must lie between 0 and 1; got {value!r}")
        return float(value)

    def several(self, key: str, default: list[Any]) -> list[Any]:
        value = self.take(key, default)
        if not isinstance(value, list) or not value:
            raise self.refuse(key, f"must be a list of one or more values; got {value!r}")
        return value

    def done(self) -> None:
        """Refuse keys that nobody asked for."""
        if self._table:
            raise self.refuse(
                next(iter(self._table)),
                "is no key of a plan",
                hint=f"Keys here are {', '.join(self._known)}",
            )


def _is_of(kind: str, value: object) -> bool:
    """Say whether a value is of a kind that is named as Python names types."""
    if kind == "float":
        return _is_number(value)
    if kind == "int":
        return _is_whole(value, 0)
    return isinstance(value, bool if kind == "bool" else str)


def _is_whole(value: object, at_least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= at_least


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _parse(content: str, source: str) -> Plan:
    try:
        table = tomllib.loads(content)
    except (ValueError, RecursionError) as error:  # of a number or nesting beyond bounds, too
        raise InvalidInputError(f"{source}: not valid TOML: {error}") from error
    reader = _Reader(table, "", source)
    tasks = _tasks(reader)
    names = {load_task(task).name for task in tasks}
    shots = _shots(reader, [1])
    opt_rows, test_rows, rows_of = _rows(reader.take("rows", {}), names, source)
    plan = Plan(
        name=reader.text("name", Path(source).stem) or "",
        note=reader.text("note", "") or "",
        tasks=tasks,
        seeds=_seeds(reader),
        prompt_jobs=reader.whole("prompt_jobs", at_least=1),
        models=_models(reader.take("models", [{}]), shots, source),
        opt_split=_opt_split(reader),
        opt_rows=opt_rows,
        test_rows=test_rows,
        rows_of=rows_of,
        dev_share=reader.share("dev_share", 0.05),
        grid=_grid(reader.take("grid", {}), source),
        options=_options(reader.take("experiments", {}), source),
    )
    reader.done()
    return plan


def _tasks(reader: _Reader) -> tuple[str, ...]:
    tasks = reader.several("tasks", [])
    for task in tasks:
        if not isinstance(task, str):
            raise reader.refuse("tasks", f"must be names; got {task!r}")
        try:
            load_task(task)
        except InvalidInputError as error:
            raise reader.refuse("tasks", f"names {task!r}: {error.message}", error.hint) from error
    if len(set(tasks)) < len(tasks):
        raise reader.refuse("tasks", f"names a task twice: {', '.join(tasks)}")
    return tuple(tasks)


def _opt_split(reader: _Reader) -> str:
    split = reader.text("opt_split", OPT_SPLITS[0])
    if split not in OPT_SPLITS:
        raise reader.refuse("opt_split", f"must be one of {', '.join(OPT_SPLITS)}; got {split!r}")
    return split


def _seeds(reader: _Reader) -> tuple[int, ...]:
    seeds = reader.several("seeds", [0])
    if not all(_is_whole(seed, 0) for seed in seeds) or len(set(seeds)) < len(seeds):
        raise reader.refuse("seeds", f"must be different whole numbers from 0; got {seeds!r}")
    return tuple(seeds)


def _shots(reader: _Reader, default: list[Any]) -> tuple[int | str, ...]:
    shots = reader.several("shots", default)
    if not all(shot == BALANCED or _is_whole(shot, 0) for shot in shots):
        raise reader.refuse("shots", f"must be numbers from 0 or {BALANCED!r}; got {shots!r}")
    return tuple(dict.fromkeys(shots))


def _rows(
    table: Any,  # noqa: ANN401
    tasks: set[str],
    source: str,
) -> tuple[int | None, int | None, dict[str, dict[str, int]]]:
    reader = _Reader(table, "rows", source)
    opt, test = (reader.whole(part, at_least=1) for part in ("opt", "test"))
    rows_of: dict[str, dict[str, int]] = {}
    for task in tasks:
        given = reader.take(task)
        if given is not None:
            of_task = _Reader(given, f"rows.{task}", source)
            sizes = {part: of_task.whole(part, at_least=1) for part in ("opt", "test")}
            of_task.done()
            rows_of[task] = {part: size for part, size in sizes.items() if size is not None}
    reader.done()
    return opt, test, rows_of


def _models(
    entries: Any,  # noqa: ANN401
    shots: tuple[int | str, ...],
    source: str,
) -> tuple[ModelPlan, ...]:
    from dnip.prompting.models import OPTIONS  # noqa: PLC0415

    if not isinstance(entries, list) or not entries:
        raise InvalidInputError(f"{source}: models must be [[models]] tables; got {entries!r}")
    models = []
    for number, entry in enumerate(entries):
        reader = _Reader(entry, f"models[{number}]", source)
        model = reader.text("model")
        texts = {key: reader.text(key, "") or "" for key in ("memory", "cost")}
        own = _shots(reader, list(shots))
        name = reader.text("name") or (Path(model).name if model else "model")
        truncate = reader.take("truncate", False)
        if not isinstance(truncate, bool):
            raise reader.refuse("truncate", f"must be true or false; got {truncate!r}")
        options = {}
        for key, kind in OPTIONS.items():
            value = reader.take(key)
            if value is not None:
                if not _is_of(kind, value):
                    raise reader.refuse(key, f"must be of kind {kind}; got {value!r}")
                options[key] = value
        reader.done()
        models.append(ModelPlan(name, model, own, options, truncate, **texts))
    if len({model.name for model in models}) < len(models):
        raise InvalidInputError(
            f"{source}: two models have the same name", hint="Give each a name of its own"
        )
    return tuple(models)


_GRID_KINDS = {"scale": "whole numbers from 2", "smoothing": "numbers above 0"}


def _grid(table: Any, source: str) -> Grid:  # noqa: ANN401
    reader = _Reader(table, "grid", source)
    default = Grid()
    values: dict[str, tuple[Any, ...]] = {}
    for key in ("beta", "tau", "scale", "smoothing"):
        given = reader.several(key, list(getattr(default, key)))
        sound = all(
            _is_whole(value, 2)
            if key == "scale"
            else _is_number(value) and (value > 0 if key == "smoothing" else value >= 0)
            for value in given
        )
        if not sound:
            kind = _GRID_KINDS.get(key, "numbers from 0")
            raise reader.refuse(key, f"must be {kind}; got {given!r}")
        values[key] = tuple(given)
    reader.done()
    return Grid(**values)


def _options(table: Any, source: str) -> dict[str, dict[str, Any]]:  # noqa: ANN401
    from dnip.studies.reproduction.registry import EXPERIMENTS, load_experiments  # noqa: PLC0415

    experiments = _Reader(table, "experiments", source)
    options: dict[str, dict[str, Any]] = {}
    for name in EXPERIMENTS:
        given = experiments.take(name)
        if given is None:
            continue
        reader = _Reader(given, f"experiments.{name}", source)
        (experiment,) = load_experiments(name)
        values = {key: reader.take(key) for key in experiment.options}
        reader.done()
        options[name] = {key: value for key, value in values.items() if value is not None}
        for key, value in options[name].items():
            default = experiment.options[key]
            if not _is_like(value, default):
                raise reader.refuse(key, f"must be like {default!r}; got {value!r}")
    experiments.done()
    return options


def _is_like(value: object, default: object) -> bool:
    """Say whether a value is of the kind of a default; any kind will do for None."""
    if default is None:
        return True
    if isinstance(default, bool) or not isinstance(default, int | float):
        return isinstance(value, type(default))
    return _is_whole(value, 0) if isinstance(default, int) else _is_number(value)
