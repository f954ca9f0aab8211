"""Tasks in TOML files, those of the package and the user's own."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Any, TypeVar

from pydantic_core import ErrorDetails

from dnip.base.errors import InvalidInputError, MissingDependencyError, listed, shown
from dnip.base.files import read_named
from dnip.llm.prompting.task import ChainOfThought, ChatWording, DecisionWording, Task

try:
    from pydantic import BaseModel, ConfigDict, Field, ValidationError
except ImportError as error:
    raise MissingDependencyError("pydantic", purpose="read a task", extra="prompt") from error

_SUFFIX = ".toml"
_Value = TypeVar("_Value")
# A list of one or more values, kept as a tuple.
_Several = Annotated[tuple[_Value, ...], Field(strict=False, min_length=1)]

#: What the data sets of built-in tasks are called on the hub.
_HUB_NAMES = {
    "ag_news": "agnews",
    "dbpedia_14": "dbpedia",
    "pubmed_qa": "pubmedqa",
    "SetFit/sst5": "sst5",
    "CogComp/trec": "trec",
}


def load_task(name: str | os.PathLike[str]) -> Task:
    """Load a built-in task by name, or a task from a TOML file.

    Parameters
    ----------
    name : str or path-like
        One of `built_in_tasks`, its name on the hub, such as ``ag_news``, or the path of a
        ``.toml`` file.

    Raises
    ------
    InvalidInputError
        If there is no such task, or the file breaks the format.

    Examples
    --------
    >>> load_task("sst5").label_words
    ('terrible', 'bad', 'okay', 'good', 'great')
    """
    source = _HUB_NAMES.get(str(name), str(name))
    built_in = built_in_tasks()
    hint = f"Name one of {', '.join(built_in)}, or a .toml file"
    if source in built_in:
        text = (_folder() / f"{source}{_SUFFIX}").read_text(encoding="utf-8")
    elif source.endswith(_SUFFIX):
        text = read_named(source, hint)
    else:
        raise InvalidInputError(f"there is no built-in task {source!r}", hint=hint)
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers and nesting beyond all bounds
        raise InvalidInputError(f"{source}: not valid TOML: {error}") from error
    return check_task(table, source)


def check_task(table: dict[str, Any], source: str) -> Task:
    """Return the task that a TOML table tells.

    Raises
    ------
    InvalidInputError
        For the first key that is missing, unknown or of a wrong value.

    Examples
    --------
    >>> check_task({"nam": "mood"}, "mood.toml")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    dnip.InvalidInputError: mood.toml: unknown key nam. Keys here are name, instruction, ...
    """
    try:
        return _TaskTable.model_validate(table).task()
    except ValidationError as error:
        # an unknown key explains why another one is missing, so it comes first
        first = min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
        raise _worded(first, source) from error


def _worded(error: ErrorDetails, source: str) -> InvalidInputError:
    """Return an error of pydantic as ours: source, key, what is wrong, value, remedy."""
    keys = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in error["loc"])
    where = "".join(keys).removeprefix(".")
    if error["type"] in ("missing", "extra_forbidden"):
        text = f"{where} is missing" if error["type"] == "missing" else f"unknown key {where}"
        known = listed(list(_TaskTable.model_fields), most=40)
        hint = f"Keys here are {known}" if len(error["loc"]) == 1 else None
        return InvalidInputError(f"{source}: {text}", hint=hint)
    text = error["msg"]
    for theirs, ours in {"Input should": "must", "dictionary": "table", "tuple": "list"}.items():
        text = text.replace(theirs, ours)
    return InvalidInputError(f"{source}: {where} {text}; got {shown(error['input'])}")


def built_in_tasks() -> tuple[str, ...]:
    """Return the names of the built-in tasks.

    Examples
    --------
    >>> built_in_tasks()
    ('agnews', 'dbpedia', 'ddi', 'pubmedqa', 'rte', 'sst5', 'trec')
    """
    names = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)))


def _folder() -> Traversable:
    return files("dnip.llm.prompting") / "tasks"


class _Table(BaseModel):
    """A TOML table: strict types, finite numbers, no unknown keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class _ClassTable(_Table):
    """One class of a task file."""

    name: str
    label_word: str | None = None
    rationale: str | None = None


class _WordingTable(_Table):
    """The wording of chain of thought in a task file."""

    template: str | None = None
    demonstration: str = ChainOfThought.demonstration


class _ChatTable(_Table):
    """The wording of a chat in a task file."""

    system: str | None = None
    turns: bool = ChatWording.turns


class _QuestionTable(_Table):
    """The question of a decision in a task file."""

    instructions: str
    criteria: dict[str, str] | None = None
    name: str | None = None


class _TaskTable(_Table):
    """A task file."""

    name: str
    instruction: str
    fields: _Several[str]
    template: str
    classes: _Several[_ClassTable]
    demonstration: str = Task.demonstration
    separator: str = Task.separator
    answer_prefix: str = Task.answer_prefix
    chain_of_thought: _WordingTable = _WordingTable()
    chat: _ChatTable = _ChatTable()
    state: str | None = None
    question: _QuestionTable | None = None

    def task(self) -> Task:
        wording = ChainOfThought(
            **vars(self.chain_of_thought),
            rationales=tuple(entry.rationale for entry in self.classes),
        )
        words = (
            entry.name if entry.label_word is None else entry.label_word for entry in self.classes
        )
        names = tuple(entry.name for entry in self.classes)
        values = vars(self) | {"classes": names, "label_words": tuple(words)}
        values |= {"chain_of_thought": wording, "chat": ChatWording(**vars(self.chat))}
        state, asked = values.pop("state"), self.question
        if asked is not None:
            criteria: Mapping[str, str | None] = asked.criteria or dict.fromkeys(names)
            state = self.template if state is None else state
            values["question"] = DecisionWording(asked.instructions, criteria, asked.name, state)
        elif state is not None:
            raise InvalidInputError(
                f"task {self.name}: there is a state, but no [question] that is asked of it",
                hint="Give the instructions of the question under [question]",
            )
        return Task(**values)
