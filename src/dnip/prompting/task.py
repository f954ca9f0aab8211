"""A classification task as data: instruction, template, classes and their label words."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.base.errors import InvalidInputError
from dnip.base.files import read_text
from dnip.base.validation import check_classes
from dnip.prompting.chain_of_thought import RATIONALE, ChainOfThought, parse_chain_of_thought

if TYPE_CHECKING:
    import os

_REQUIRED = ("name", "instruction", "fields", "template", "classes")
_OPTIONAL = ("demonstration", "separator", "answer_prefix", "chain_of_thought")


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

    def __post_init__(self) -> None:
        check_classes(self.classes)
        if len(self.label_words) != len(self.classes) or not all(
            word.strip() for word in self.label_words
        ):
            raise InvalidInputError(
                f"task {self.name}: every class needs a label word; got {self.label_words!r}"
            )
        if len(set(self.label_words)) < len(self.label_words):
            raise InvalidInputError(
                f"task {self.name}: two classes have the same label word: {self.label_words!r}",
                hint="Give every class a word of its own",
            )

    @property
    def n_classes(self) -> int:
        """N."""
        return len(self.classes)

    def answer(self, label: int) -> str:
        """Return the continuation that stands for a class."""
        return self.answer_prefix + self.label_words[label]


def load_task(name: str | os.PathLike[str]) -> Task:
    """Load a built-in task by name, or a task from a TOML file.

    Parameters
    ----------
    name : str or path-like
        One of `builtin_tasks`, or the path of a ``.toml`` file.

    Raises
    ------
    InvalidInputError
        If there is no such task, or the file breaks the format.

    Examples
    --------
    >>> load_task("sst5").label_words
    ('terrible', 'bad', 'okay', 'good', 'great')
    """
    text = str(name)
    if text in builtin_tasks():
        source = files("dnip.prompting") / "tasks" / f"{text}.toml"
        return _parse(source.read_text(encoding="utf-8"), text)
    path = Path(text)
    if path.suffix != ".toml":
        raise InvalidInputError(
            f"there is no built-in task {text!r}",
            hint=f"Name one of {', '.join(builtin_tasks())}, or a .toml file",
        )
    try:
        content = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise InvalidInputError(f"{path}: the task cannot be read: {reason}") from error
    return _parse(content, text)


def builtin_tasks() -> tuple[str, ...]:
    """Return the names of the built-in tasks.

    Examples
    --------
    >>> builtin_tasks()
    ('agnews', 'dbpedia', 'ddi', 'pubmedqa', 'rte', 'sst5', 'trec')
    """
    folder = files("dnip.prompting") / "tasks"
    return tuple(sorted(p.name.removesuffix(".toml") for p in folder.iterdir()))


def _parse(content: str, source: str) -> Task:
    try:
        settings = tomllib.loads(content)
    except (ValueError, RecursionError) as error:  # of a number or nesting beyond bounds, too
        raise InvalidInputError(f"{source}: not valid TOML: {error}") from error
    missing = [key for key in _REQUIRED if key not in settings]
    if missing:
        raise InvalidInputError(
            f"{source}: {', '.join(missing)} missing",
            hint=f"A task has {', '.join(_REQUIRED)}, and may have {', '.join(_OPTIONAL)}",
        )
    unknown = [key for key in settings if key not in _REQUIRED + _OPTIONAL]
    if unknown:
        raise InvalidInputError(
            f"{source}: unknown key {', '.join(unknown)}",
            hint=f"A task has {', '.join(_REQUIRED)}, and may have {', '.join(_OPTIONAL)}",
        )
    for key, value in settings.items():
        if key not in ("fields", "classes", "chain_of_thought") and not isinstance(value, str):
            raise InvalidInputError(f"{source}: {key} must be text; got {value!r}")
    fields = settings["fields"]
    if not isinstance(fields, list) or not all(isinstance(field, str) for field in fields):
        raise InvalidInputError(f"{source}: fields must be a list of names; got {fields!r}")
    names, words, rationales = _parse_classes(settings["classes"], source)
    rest = {key: settings[key] for key in _OPTIONAL if key in settings}
    rest["chain_of_thought"] = parse_chain_of_thought(
        settings.get("chain_of_thought", {}), rationales, source
    )
    return Task(
        name=settings["name"],
        instruction=settings["instruction"],
        fields=tuple(fields),
        template=settings["template"],
        classes=names,
        label_words=words,
        **rest,
    )


def _parse_classes(
    entries: Any,  # noqa: ANN401
    source: str,
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str | None, ...]]:
    """Return class names, label words and rationales; the word is the name where none is given."""
    names, words, rationales = [], [], []
    for number, entry in enumerate(entries if isinstance(entries, list) else [None]):
        known = isinstance(entry, dict) and set(entry) <= {"name", "label_word", RATIONALE}
        if not known or not all(isinstance(value, str) for value in entry.values()):
            raise InvalidInputError(
                f"{source}: classes[{number}] must be a table with name, label_word and "
                f"{RATIONALE}; got {entry!r}"
            )
        if "name" not in entry:
            raise InvalidInputError(f"{source}: classes[{number}] has no name")
        names.append(entry["name"])
        words.append(entry.get("label_word", entry["name"]))
        rationales.append(entry.get(RATIONALE))
    return tuple(names), tuple(words), tuple(rationales)
