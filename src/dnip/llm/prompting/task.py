"""A task: instruction, template, classes and their label words; built in, or of a TOML file.

A prompt and its classes are a task, too.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

from dnip.base.errors import InvalidInputError, listed, load_optional
from dnip.base.files import read_named
from dnip.base.records import from_plain
from dnip.tables.labels import check_classes

#: Stands at the end of an example where the task has no wording of its own.
INVITATION = " Think step by step before answering."
#: The field of a training row that holds its own rationale.
RATIONALE = "rationale"

_SUFFIX = ".toml"
#: What the data sets of built-in tasks are called on the hub.
_HUB_NAMES = {
    "ag_news": "agnews",
    "dbpedia_14": "dbpedia",
    "pubmed_qa": "pubmedqa",
    "SetFit/sst5": "sst5",
    "CogComp/trec": "trec",
}


@dataclass(frozen=True)
class ChainOfThought:
    r"""The wording of a task under chain of thought, in place of its plain one.

    Parameters
    ----------
    template : str or None
        Jinja2 template of one example, up to where the reasoning begins; by default the task's own
        and the paper's "Think step by step before answering."
    demonstration : str
        Jinja2 template of a worked example, of ``prompt``, ``rationale`` and ``answer``. It begins
        with ``{{ prompt }}``, for the model goes on from there.
    rationales : tuple of (str or None)
        Per class, a sentence of reasoning that demonstrations of the class show; a training row
        with a field ``rationale`` shows that instead. Empty for none.

    Examples
    --------
    >>> wording = ChainOfThought(rationales=("They laugh.", None))
    >>> wording.rationale({"text": "ha ha"}, 0)
    'They laugh.'
    >>> wording.rationale({"text": "ha ha", "rationale": "Laughter is joy."}, 0)
    'Laughter is joy.'
    """

    template: str | None = None
    demonstration: str = "{{ prompt }} {{ rationale }} So the answer is{{ answer }}"
    rationales: tuple[str | None, ...] = ()

    def rationale(self, row: Mapping[str, Any], label: int) -> str | None:
        """Return the reasoning that a demonstration shows, None if there is none."""
        shown = row.get(RATIONALE)
        if shown not in (None, ""):
            return str(shown)
        return self.rationales[label] if label < len(self.rationales) else None


@dataclass(frozen=True)
class ChatWording:
    """The wording of a task as a chat.

    Parameters
    ----------
    system : str or None
        The system message, which stands in place of the instruction; by default there is none, and
        the instruction begins the first message of the user.
    turns : bool
        Whether demonstrations are turns of user and assistant; else they stand in one message.
    """

    system: str | None = None
    turns: bool = True


@dataclass(frozen=True)
class DecisionWording:
    """What an application asks a decision server, to be asked in the very same words.

    Parameters
    ----------
    instructions : str
    criteria : mapping of str to (str or None)
        The options in order, each with its description or None: the classes.
    name : str or None
        Of the question; by default that of the task.
    state : str or None
        Jinja2 template of the state that a row is in; None for the whole prompt.
    """

    instructions: str
    criteria: Mapping[str, str | None]
    name: str | None = None
    state: str | None = None


@dataclass(frozen=True)
class Task:
    r"""What is asked of the model, and how.

    A prompt is the instruction, the demonstrations and the example, joined by `separator`. The
    model continues it with `answer_prefix` and a label word: the space before an answer belongs to
    the answer, for tokenizers put it into the answer's first token.

    Parameters
    ----------
    name : str
    instruction : str
        The first paragraph of the prompt; may be empty.
    fields : tuple of str
        Fields of a row that the template uses.
    template : str
        Jinja2 template of one example, up to where the answer begins.
    classes : tuple of str
        Class names.
    label_words : tuple of str
        What the model is expected to say for each class.
    demonstration : str
        Jinja2 template of a worked example, of ``prompt`` and ``answer``.
    separator : str
        Stands between instruction, demonstrations and example.
    answer_prefix : str
        Stands between an example and its label word.
    chain_of_thought : ChainOfThought
        The wording where the model is to reason before it answers.
    chat : ChatWording
    question : DecisionWording or None
        What a decision server is asked in place of the prompt.

    Examples
    --------
    >>> task = Task(
    ...     name="mood",
    ...     instruction="Is the message happy or sad?",
    ...     fields=("text",),
    ...     template="Message: {{ text }}\nMood:",
    ...     classes=("happy", "sad"),
    ...     label_words=("happy", "sad"),
    ... )
    >>> task.answer(1)
    ' sad'
    """

    name: str
    instruction: str
    fields: tuple[str, ...]
    template: str
    classes: tuple[str, ...]
    label_words: tuple[str, ...]
    demonstration: str = "{{ prompt }}{{ answer }}"
    separator: str = "\n\n"
    answer_prefix: str = " "
    chain_of_thought: ChainOfThought = field(default_factory=ChainOfThought)
    chat: ChatWording = field(default_factory=ChatWording)
    question: DecisionWording | None = None

    def __post_init__(self) -> None:
        check_classes(self.classes)
        words = self.label_words
        if not len(self.classes) == len(words) == len({word for word in words if word.strip()}):
            raise InvalidInputError(
                f"task {self.name}: every class needs a label word of its own; got {words!r}"
            )
        if self.question is not None and sorted(self.question.criteria) != sorted(self.classes):
            raise InvalidInputError(
                f"task {self.name}: the criteria of the question are "
                f"{listed(tuple(self.question.criteria))}, but the classes are "
                f"{listed(self.classes)}",
                hint="Name every class once, in the order of the application",
            )

    @property
    def n_classes(self) -> int:
        """N."""
        return len(self.classes)

    @property
    def decision(self) -> DecisionWording:
        """What a decision server is asked: the task's question, or one made of its wording."""
        words = zip(self.classes, self.label_words, strict=True)
        described = {name: None if name == word else word for name, word in words}
        instructions = self.instruction or "Choose what comes next."
        return self.question or DecisionWording(instructions, described)

    def answer(self, label: int) -> str:
        """Return the continuation that stands for a class."""
        return self.answer_prefix + self.label_words[label]


def task_of(
    prompt: str | os.PathLike[str],
    classes: Sequence[str],
    *,
    system: str | os.PathLike[str] | None = None,
) -> Task:
    """Return the task of a prompt and its classes.

    Parameters
    ----------
    prompt, system : str or path-like
        Prompt and system message, or files of them. The prompt is a template over the columns of
        a table, up to where the answer begins.
    classes : sequence of str
        What the model is expected to say.

    Raises
    ------
    InvalidInputError
        If the prompt names no column, or is no template.

    Examples
    --------
    >>> task_of("{{ text }} Good or bad?", ["good", "bad"]).fields
    ('text',)
    """
    load_optional("jinja2", purpose="fill prompt templates", extra="prompt")
    from dnip.llm.prompting.sandbox import names_in  # noqa: PLC0415 - it imports jinja2

    # An editor ends a file with a line break, which would stand between prompt and answer.
    template = _text_or_file(prompt).rstrip()
    try:
        names = tuple(names_in(template))
    except Exception as error:  # it may hold anything
        raise InvalidInputError(f"the prompt is no template: {error}") from error
    if not names:
        missing = "" if " " in template else f"; there is no file {template!r}"
        raise InvalidInputError(
            f"the prompt names no column, so that all rows would be asked the same{missing}",
            hint="Write {{ text }} where the text of the column text goes",
        )
    wording = ChatWording(system=None if system is None else _text_or_file(system).strip())
    words = tuple(classes)
    return Task("prompt", "", names, template, words, words, chat=wording)


def _text_or_file(value: str | os.PathLike[str]) -> str:
    is_text = isinstance(value, str) and not os.path.isfile(value)  # noqa: PTH113 - a text may be long
    return str(value) if is_text else read_named(value)


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
        text = read_named(source)
    else:
        raise InvalidInputError(f"there is no built-in task {source!r}", hint=hint)
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers and nesting beyond all bounds
        raise InvalidInputError(f"{source}: not valid TOML: {error}") from error
    return check_task(table, source)


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


@dataclass(frozen=True)
class _Class:
    """A class in a task file."""

    name: str
    label_word: str | None = None
    rationale: str | None = None


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
        return _task(table)
    except InvalidInputError:
        raise
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{source}: {error}") from error


def _task(table: dict[str, Any]) -> Task:
    """Return the task of a table, in which the words of the classes and a state have own places."""
    _check_keys("", table)
    thought, chat = table.get("chain_of_thought", {}), table.get("chat", {})
    _check_keys("chain_of_thought", thought)
    _check_keys("chat", chat)
    classes = table["classes"] if isinstance(table["classes"], list) else [table["classes"]]
    for number, entry in enumerate(classes):
        _check_keys("classes", entry, number)
    entries = [from_plain(_Class, entry) for entry in classes]
    names = [entry.name for entry in entries]
    own = {
        **table,
        "classes": names,
        "label_words": [
            entry.name if entry.label_word is None else entry.label_word for entry in entries
        ],
        "chain_of_thought": {**thought, "rationales": [entry.rationale for entry in entries]},
    }
    if not table["fields"]:
        raise ValueError("fields is empty")
    question, state = table.get("question"), table.get("state", table["template"])
    if question is not None:
        _check_keys("question", question)
        criteria = question.get("criteria") or dict.fromkeys(names)
        own["question"] = {**question, "criteria": criteria, "state": state}
    elif "state" in table:
        raise ValueError("there is a state, but no [question] that is asked of it")
    return from_plain(Task, own)


# The keys of each table: those that must be there, and those that may.
_KEYS: dict[str, tuple[list[str], list[str]]] = {
    "": (
        ["name", "instruction", "fields", "template", "classes"],
        [
            *("demonstration", "separator", "answer_prefix"),
            *("chain_of_thought", "chat", "state", "question"),
        ],
    ),
    "classes": (["name"], ["label_word", "rationale"]),
    "chain_of_thought": ([], ["template", "demonstration"]),
    "chat": ([], ["system", "turns"]),
    "question": (["instructions"], ["criteria", "name"]),
}


def _check_keys(name: str, table: object, number: int | None = None) -> None:
    """Refuse a table with a key that is unknown, or without one that must be there."""
    where = name if number is None else f"{name}[{number}]"
    if not isinstance(table, dict):
        raise TypeError(f"{where} is {table!r:.60}, not a table")
    needed, more = _KEYS[name]
    dot = where and f"{where}."
    for key in table:
        if key not in (*needed, *more):
            raise ValueError(f"unknown key {dot}{key}. Keys here are {', '.join(needed + more)}")
    for key in needed:
        if key not in table:
            raise ValueError(f"{dot}{key} is missing. Keys here are {', '.join(needed + more)}")
