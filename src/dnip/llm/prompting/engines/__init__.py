"""What an engine gives: for each prompt, the probability that the model puts on each label.

There is one file for each way to reach a language model; it loads its library where it is used. The
workers of a cluster are one engine, too: each scores blocks of prompts with its own model.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Protocol

from dnip.base.cluster import Cluster
from dnip.base.errors import BackendError
from dnip.base.typing import Floats
from dnip.llm.prompting.labels import Scoring
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task
from dnip.llm.questions import Question, chat_question

#: Rows that are worked on at a time: rows of similar length are sought within them.
BLOCK_ROWS = 2048


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
    answer : str or None
        What the model said, where it is known.
    """

    row: int
    captured: Floats
    ceiling: Floats | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    answer: str | None = None


def prompted(
    model: str,
    prompts: Sequence[Prompt],
    task: Task,
    *,
    chat: bool,
    more: Mapping[str, Any] | None = None,
) -> Question:
    """Return the question that prompts ask, as they are or as a chat with more in its requests."""
    if chat:
        request = {**(more or {}), "messages": prompts[0].messages}
        return chat_question(request, task.classes, model)
    fixed = [prompts[0].prefix, task.template, task.answer_prefix, *task.label_words]
    return Question.of(model, "plain", task.classes, fixed)


class MissingEndpointError(BackendError):
    """A server that does not have the endpoint that it was asked at, or not the model."""


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

    def score(self, prompts: Sequence[Prompt], task: Task) -> Iterator[ScoredRow]:
        """Yield the scores of every prompt, in any order, as they come."""


def blocks(n: int, size: int = BLOCK_ROWS) -> list[tuple[int, int]]:
    """Divide rows into runs (first, last + 1), in which rows are batched by themselves.

    Examples
    --------
    >>> blocks(10, size=4)
    [(0, 4), (4, 8), (8, 10)]
    """
    return [(first, min(first + size, n)) for first in range(0, n, size)]


class ClusterEngine:
    """Scores labels with the same engine on every worker.

    Each block of prompts is a task. An engine on one machine scores block by block as well, so both
    give the same numbers.

    Parameters
    ----------
    cluster : Cluster
    engine : Engine
        One that has loaded no model yet: it is sent to the workers.
    """

    def __init__(self, cluster: Cluster, engine: Engine) -> None:
        self.scoring = engine.scoring
        self._cluster, self._engine = cluster, pickle.dumps(engine)

    def describe(self) -> dict[str, Any]:
        """Return model, precision and library versions, for the table's metadata."""
        return dict(self._ask("describe"))

    def question(self, prompts: Sequence[Prompt], task: Task) -> Question:
        """As the engine on one machine."""
        question: Question = self._ask("question", prompts[:1], task)
        return question

    def too_long(self, prompts: Sequence[Prompt], task: Task) -> list[int]:
        """As the engine on one machine."""
        return list(self._ask("too_long", prompts, task))

    def score(self, prompts: Sequence[Prompt], task: Task) -> Iterator[ScoredRow]:
        """Yield the scores of the prompts, in any order.

        Everything is checked before the first row.

        Raises
        ------
        DNIPError
            As the engine on one machine.
        """
        list(self._cluster.map(partial(_check, self._engine, task), [prompts]))
        parts = [(first, prompts[first:last]) for first, last in blocks(len(prompts))]
        yield from self._cluster.map(partial(_score, self._engine, task), parts)

    def _ask(self, name: str, *arguments: object) -> Any:  # noqa: ANN401
        return next(self._cluster.map(partial(_ask, self._engine, name), [arguments]))


@lru_cache(maxsize=1)
def _engine(pickled: bytes) -> Engine:
    """Return the engine of this process, which keeps its model for the next task."""
    engine: Engine = pickle.loads(pickled)
    return engine


def _ask(pickled: bytes, name: str, arguments: tuple[object, ...]) -> Iterator[Any]:
    yield getattr(_engine(pickled), name)(*arguments)


def _check(pickled: bytes, task: Task, prompts: Sequence[Prompt]) -> Iterator[ScoredRow]:
    _engine(pickled).score(prompts, task)  # nothing is scored before the first row is asked for
    return iter(())


def _score(pickled: bytes, task: Task, block: tuple[int, Sequence[Prompt]]) -> Iterator[ScoredRow]:
    first, prompts = block
    for row in _engine(pickled).score(prompts, task):
        yield replace(row, row=first + row.row)
