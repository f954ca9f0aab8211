"""A classification task as data: instruction, template, classes and their label words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dnip.base.errors import InvalidInputError, listed
from dnip.tables.labels import check_classes

#: Stands at the end of an example where the task has no wording of its own.
INVITATION = " Think step by step before answering."
#: The field of a training row that holds its own rationale.
RATIONALE = "rationale"


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
