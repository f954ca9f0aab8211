"""The plan of a run: one small TOML file that names models, tasks, seeds and sizes."""

from __future__ import annotations

import os
from dataclasses import fields
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PlainValidator,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from dnip.base.errors import InvalidInputError, listed
from dnip.base.toml_models import Several, TomlModel, built_in_names, check_table, load_toml
from dnip.fitting.settings import PAPER_SCALE
from dnip.method.objective import PUBLISHED_MU, Objective
from dnip.prompting.engines.base import Scoring
from dnip.prompting.models import ModelOptions
from dnip.prompting.plan import BALANCED
from dnip.prompting.task_files import load_task
from reproduction.hub_data import HubData, recipes_of

_FOLDER = files("reproduction") / "plans"
_Values = TypeVar("_Values", bound=tuple[Any, ...])


def _different(values: _Values) -> _Values:
    if len(set(values)) < len(values):
        raise ValueError("must not have a value twice")
    return values


def _known_task(name: str) -> str:
    load_task(name)
    return name


def _number_of_shots(value: object) -> int | str:
    if value == BALANCED:
        return BALANCED
    if type(value) is int and value >= 0:
        return value
    raise ValueError(f"must be 0, a number above it or {BALANCED!r}")


_Task = Annotated[str, AfterValidator(_known_task)]
_Seed = Annotated[int, Field(ge=0)]
_Shots = Annotated[int | str, PlainValidator(_number_of_shots)]
_Size = Annotated[int, Field(ge=1)]
_AtLeast0 = Annotated[float, Field(ge=0)]
_Above0 = Annotated[float, Field(gt=0)]
_Scale = Annotated[int, Field(ge=2)]

# The options of `dnip prompt` for models that a plan may set; the others come from experiments.
_OPTIONS = {
    option.name: option.default
    for option in fields(ModelOptions)
    if option.name not in ("model", "chain_of_thought", "max_new_tokens")
}
if TYPE_CHECKING:
    _WithModelOptions = TomlModel
else:
    _kinds = get_type_hints(ModelOptions)
    _WithModelOptions = create_model(
        "_WithModelOptions",
        __base__=TomlModel,
        **{name: (_kinds[name], default) for name, default in _OPTIONS.items()},
    )


class ModelPlan(_WithModelOptions):
    """A model of a plan. The options of ``dnip prompt`` for models, such as dtype, are keys too.

    Attributes
    ----------
    model : str or None
        A folder, a name on the hub or a server's URL; None where the command line names it.
    name : str
        The name in tables; by default the last part of `model`.
    shots : tuple of int or "balanced"
        Numbers of demonstrations for this model; by default those of the plan.
    truncate : bool
        Whether to shorten prompts that do not fit into the model's context.
    scoring : Scoring
        How a label word of several tokens is read; ``"mean"`` is the way of the authors' code.
    parameters : float or None
        How many numbers the model has, for the estimates of ``--dry-run``; those of a model in a
        folder are counted.
    """

    model: str | None = None
    name: str = Field(default_factory=lambda given: _name_of(given.get("model")))
    shots: Several[_Shots] = ()
    truncate: bool = False
    scoring: Annotated[Scoring, Field(strict=False)] = Scoring.FIRST
    parameters: _Above0 | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options for models that the plan sets."""
        values = {name: getattr(self, name) for name in _OPTIONS}
        return {name: value for name, value in values.items() if value != _OPTIONS[name]}

    def on(self, model: str) -> ModelPlan:
        """Return the same plan for another model; its name changes unless the plan gives one."""
        name = self.name if "name" in self.model_fields_set else _name_of(model)
        return self.model_copy(update={"model": model, "name": name})


def _name_of(model: str | None) -> str:
    return Path(model).name if model else "model"


class DevGrid(TomlModel):
    """Settings that both schedules of annealing choose from on dev; by default they are given."""

    beta: Several[_AtLeast0] = (Objective.published().beta,)
    tau: Several[_AtLeast0] = (Objective.published().tau,)
    scale: Several[_Scale] = (PAPER_SCALE,)
    smoothing: Several[_Above0] = (PUBLISHED_MU,)

    @property
    def in_words(self) -> str:
        """How annealing comes to its settings.

        Examples
        --------
        >>> DevGrid().in_words, DevGrid(smoothing=[1, 4000]).in_words
        ('β = 2.7, τ = 0.2, K = 30, μ = 4000', 'β, τ, K and μ chosen on dev')
        """
        values = [self.beta, self.tau, self.scale, self.smoothing]
        if any(len(several) > 1 for several in values):
            return "β, τ, K and μ chosen on dev"
        return ", ".join(
            f"{name} = {several[0]:g}" for name, several in zip("βτKμ", values, strict=True)
        )


class TaskRows(TomlModel):
    """The most rows to prompt for the opt pool and for the test table; None for all."""

    opt: _Size | None = None
    test: _Size | None = None


class Rows(TaskRows, extra="allow"):
    """The most rows of any task, and of single tasks under their names."""

    __pydantic_extra__: dict[str, TaskRows] = Field(init=False)

    def of(self, task: str, part: str) -> int | None:
        """Return the most rows of a task's part, ``"opt"`` or ``"test"``."""
        for limits in ((self.model_extra or {}).get(task), self):
            rows: int | None = getattr(limits, part, None)
            if rows is not None:
                return rows
        return None


class ReproductionPlan(TomlModel):
    """What a run is to do.

    Attributes
    ----------
    name : str
    note : str
        A line for people.
    tasks : tuple of str
        Built-in names, or paths of task files.
    data : dict of str to HubData
        Where texts are on the hub, by task; in the file also the name of a recipe, such as
        ``"seven"``, or of another TOML file. A folder of texts on the command line goes first.
    seeds : tuple of int
        Seeds of the demonstrations.
    shots : tuple of int or "balanced"
        Numbers of demonstrations.
    models : tuple of ModelPlan
    prompt_jobs : int or None
        How many processes may hold a model at a time; None for as many as there are.
    opt_split : {"train", "test"}
        Where the opt pool comes from. The paper's is the training split. ``"test"`` is for a model
        that was trained on the training split: test rows are divided by seed into an opt pool and
        the rows to score.
    rows : Rows
    dev_share : float
        Share of the opt pool on which settings are chosen.
    grid : DevGrid
    experiments : dict of str to dict
        Options of single experiments by name; each experiment checks its own.
    """

    name: str
    note: str = ""
    tasks: Annotated[Several[_Task], AfterValidator(_different)]
    data: Annotated[dict[str, HubData], BeforeValidator(recipes_of)] = Field(default_factory=dict)
    seeds: Annotated[Several[_Seed], AfterValidator(_different)] = (0,)
    shots: Several[_Shots] = (1,)
    models: Several[ModelPlan] = Field((ModelPlan(),), validate_default=True)
    prompt_jobs: _Size | None = None
    opt_split: Literal["train", "test"] = "train"
    rows: Rows = Rows()
    dev_share: float = Field(0.05, gt=0, lt=1)
    grid: DevGrid = DevGrid()
    experiments: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @field_validator("models")
    @classmethod
    def _complete(
        cls, models: tuple[ModelPlan, ...], info: ValidationInfo
    ) -> tuple[ModelPlan, ...]:
        """Give models the plan's shots where they have none of their own."""
        if len({model.name for model in models}) < len(models):
            raise InvalidInputError(
                "two models have the same name", hint="Give each model a name of its own"
            )
        of_plan = info.data.get("shots", ())
        shots = [tuple(dict.fromkeys(model.shots or of_plan)) for model in models]
        return tuple(
            model.model_copy(update={"shots": own})
            for model, own in zip(models, shots, strict=True)
        )

    @model_validator(mode="after")
    def _check_rows(self) -> ReproductionPlan:
        tasks = [load_task(task).name for task in self.tasks]
        for name in self.rows.model_extra or {}:
            if name not in tasks:
                raise InvalidInputError(
                    f"unknown key rows.{name}",
                    hint=f"Keys here are opt, test and the plan's tasks: {listed(tasks)}",
                )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, in the layout of the file."""
        return self.model_dump(mode="json", exclude_none=True)

    def with_model(self, model: str | None) -> ReproductionPlan:
        """Return the plan with the model that the command line names.

        Raises
        ------
        InvalidInputError
            If the plan has several models.
        """
        if model is None:
            return self
        if len(self.models) > 1:
            raise InvalidInputError(
                f"the plan {self.name} has {len(self.models)} models, and --model gives another",
                hint="Leave --model out, or take a plan of one model",
            )
        return self.model_copy(update={"models": (self.models[0].on(model),)})


def built_in_plans() -> tuple[str, ...]:
    """Return the names of the plans that come with the package.

    Examples
    --------
    >>> "small" in built_in_plans()
    True
    """
    return built_in_names(_FOLDER)


def load_plan(name: str | os.PathLike[str]) -> ReproductionPlan:
    """Load a built-in plan by name, or a plan from a TOML file.

    Raises
    ------
    InvalidInputError
        If there is no such plan, or the file breaks the format; the message names the key.

    Examples
    --------
    >>> load_plan("small").seeds
    (0, 1, 2)
    """
    table, source = load_toml(name, _FOLDER, kind="plan")
    return check_table(ReproductionPlan, {"name": Path(source).stem, **table}, source)
