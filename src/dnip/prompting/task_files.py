"""Tasks in TOML files, those of the package and the user's own."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable

from dnip.base.errors import InvalidInputError
from dnip.base.toml_models import Several, TomlModel, built_in_names, check_table, load_toml
from dnip.prompting.task import ChainOfThought, ChatWording, DecisionWording, Task

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
    table, source = load_toml(_HUB_NAMES.get(str(name), name), _folder(), kind="task")
    return check_table(_TaskTable, table, source).task()


def built_in_tasks() -> tuple[str, ...]:
    """Return the names of the built-in tasks.

    Examples
    --------
    >>> built_in_tasks()
    ('agnews', 'dbpedia', 'ddi', 'pubmedqa', 'rte', 'sst5', 'trec')
    """
    return built_in_names(_folder())


def _folder() -> Traversable:
    return files("dnip.prompting") / "tasks"


class _ClassTable(TomlModel):
    """One class of a task file."""

    name: str
    label_word: str | None = None
    rationale: str | None = None


class _WordingTable(TomlModel):
    """The wording of chain of thought in a task file."""

    template: str | None = None
    demonstration: str = ChainOfThought.demonstration


class _ChatTable(TomlModel):
    """The wording of a chat in a task file."""

    system: str | None = None
    turns: bool = ChatWording.turns


class _QuestionTable(TomlModel):
    """The question of a decision in a task file."""

    instructions: str
    criteria: dict[str, str] | None = None
    name: str | None = None


class _TaskTable(TomlModel):
    """A task file."""

    name: str
    instruction: str
    fields: Several[str]
    template: str
    classes: Several[_ClassTable]
    demonstration: str = Task.demonstration
    separator: str = Task.separator
    answer_prefix: str = Task.answer_prefix
    chain_of_thought: _WordingTable = _WordingTable()
    chat: _ChatTable = _ChatTable()
    state: str | None = None
    question: _QuestionTable | None = None

    def task(self) -> Task:
        wording = ChainOfThought(
            **vars(self.chain_of_thought), rationales=tuple(one.rationale for one in self.classes)
        )
        words = (one.name if one.label_word is None else one.label_word for one in self.classes)
        names = tuple(one.name for one in self.classes)
        own = vars(self) | {"classes": names, "label_words": tuple(words)}
        own |= {"chain_of_thought": wording, "chat": ChatWording(**vars(self.chat))}
        state, asked = own.pop("state"), self.question
        if asked is not None:
            criteria: Mapping[str, str | None] = asked.criteria or dict.fromkeys(names)
            state = self.template if state is None else state
            own["question"] = DecisionWording(asked.instructions, criteria, asked.name, state)
        elif state is not None:
            raise InvalidInputError(
                f"task {self.name}: there is a state, but no [question] that is asked of it",
                hint="Give the instructions of the question under [question]",
            )
        return Task(**own)
