"""What an engine gives: for each prompt, the probability that the model puts on each label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dnip.base.typing import Floats
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task
from dnip.tables.provenance import Question, fixed_messages


@dataclass(frozen=True, eq=False)
class ScoredRow:
    """The answer to one prompt.

    Attributes
    ----------
    row : int
        Which of the prompts, counted from 0.
    captured : ndarray of shape (N,)
        Probability of each label, before normalising over labels; for a label that the engine did
        not report, 0.
    ceiling : ndarray of shape (N,) or None
        The most that each label's probability can be, where the engine did not report all of them.
    details : mapping
        What else is known of the row, such as the number of samples; plain JSON values.
    """

    row: int
    captured: Floats
    ceiling: Floats | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


def prompted(model: str, prompts: Sequence[Prompt], task: Task, *, chat: bool) -> Question:
    """Return the question that prompts ask, as they are or as a chat."""
    if chat:
        return Question.of(model, "chat", task.classes, fixed_messages(prompts[0].messages))
    fixed = [prompts[0].prefix, task.template, task.answer_prefix, *task.label_words]
    return Question.of(model, "plain", task.classes, fixed)


class Engine(Protocol):
    """A language model that scores labels."""

    @property
    def scoring(self) -> Scoring:
        """How the probability of a label word of several tokens is read."""

    def describe(self) -> dict[str, Any]:
        """Return model, precision and library versions, for the table's metadata."""

    def question(self, prompts: Sequence[Prompt], task: Task) -> Question:
        """Return what is the same for every row: model, form, options and fixed text."""

    def too_long(self, prompts: Sequence[Prompt], task: Task) -> list[int]:
        """Return the row numbers of prompts that leave the model no room for an answer.

        None for a server, which does not tell how much its model takes.
        """

    def score(
        self, prompts: Sequence[Prompt], task: Task, *, done: frozenset[int] = frozenset()
    ) -> Iterator[ScoredRow]:
        """Yield the scores of every prompt but those `done`, in any order, as they come.

        A row's scores must not depend on which rows are done: an engine that batches yields whole
        batches again rather than batch the rest in another way.
        """
