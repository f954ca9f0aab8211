"""Engine for decision servers, which answer a question with the probability of every option."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.errors import BackendError, InvalidInputError
from dnip.base.validation import check_choice
from dnip.deploying.decisions import read_decisions
from dnip.prompting.engines.base import ScoredRow, Scoring
from dnip.prompting.engines.openai_client import Server
from dnip.prompting.engines.openai_requests import check_extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dnip.prompting.prompt import Prompt
    from dnip.prompting.task import Task

#: The APIs, which are also the paths after the base URL.
APIS = ("systemone", "decisions")


@dataclass(frozen=True)
class DecisionEngine:
    """Scores classes by the probabilities that a decision server gives to the options.

    One request per prompt: a choice among the classes, named after the task. Label words that
    differ from their classes describe them. The server, not the engine, decides how the question
    is put to the model.

    Parameters
    ----------
    model : str
        The server's name of the model.
    server : Server
        Address, key, concurrency, timeout and retries.
    api : {"systemone", "decisions"}
        System One, as transformers, vLLM, SGLang and Ollama serve it, or OpenAI's decisions.
    extra_body : mapping, optional
        Further fields of every request; None takes a field out. No secrets: they are recorded.

    Examples
    --------
    >>> engine = DecisionEngine("small", Server("http://127.0.0.1:8000/v1"))
    >>> [engine.describe()[key] for key in ("engine", "model")]
    ['systemone', 'small']
    """

    model: str
    server: Server = field(default_factory=Server)
    api: str = "systemone"
    extra_body: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if not self.model:
            raise InvalidInputError("model must be the server's name of a model; got ''")
        check_choice("api", self.api, APIS)
        check_extra(self.extra_body)

    def describe(self) -> dict[str, Any]:
        """Return all that the probabilities depend on; never the key."""
        return {
            "engine": self.api,
            "base_url": self.server.base_url,
            "model": self.model,
            "extra_body": check_extra(self.extra_body),
        }

    def score(
        self,
        prompts: Sequence[Prompt],
        task: Task,
        scoring: Scoring = Scoring.FIRST,
        *,
        done: frozenset[int] = frozenset(),
    ) -> Iterator[ScoredRow]:
        """Yield the scores of every prompt but those `done`, once, in the order in which they come.

        Parameters
        ----------
        prompts : sequence of Prompt
        task : Task
        scoring : Scoring
            Without meaning here: the server reads the options in its own way.
        done : frozenset of int
            Rows that are not asked for.

        Yields
        ------
        ScoredRow
            Its captured mass is the label mass of the server, 1 where the server reports none. A
            refusal has mass 0 and ``details["refused"]``.

        Raises
        ------
        BackendError
            If a request fails for good.
        """
        del scoring
        rows = [row for row in range(len(prompts)) if row not in done]
        bodies = ((f"prompt {row}", self._body(prompts[row], task)) for row in rows)
        asking = self.server.ask(
            self.api, bodies, lambda answer: _read(answer, task), requests=len(rows)
        )
        with closing(asking) as answers:
            for number, captured in answers:
                refused = {} if captured.any() else {"refused": True}
                yield ScoredRow(rows[number], captured, details=refused)

    def _body(self, prompt: Prompt, task: Task) -> dict[str, Any]:
        """Return the request for a prompt; fields of None are left out."""
        words = zip(task.classes, task.label_words, strict=True)
        described = {name: None if name == word else word for name, word in words}
        question: dict[str, Any] = {
            "type": "choice",
            "instructions": task.instruction or "Choose what comes next.",
        }
        if self.api == "systemone":
            question["criteria"] = described
            content: dict[str, Any] = {"state": prompt.text, "questions": {task.name: question}}
        else:
            question["choices"] = [
                {"value": name} if word is None else {"value": name, "description": word}
                for name, word in described.items()
            ]
            content = {"input": prompt.text, "questions": [{"name": task.name, **question}]}
        body = {"model": self.model, **content, **check_extra(self.extra_body)}
        return {key: value for key, value in body.items() if value is not None}


def _read(answer: Any, task: Task) -> np.ndarray[Any, np.dtype[np.float64]]:  # noqa: ANN401 - JSON
    """Return the probability of each class; zeros for a refusal."""
    try:
        decisions = read_decisions(answer, {task.name})
        if len(decisions) != 1:
            raise InvalidInputError(f"it has {len(decisions)} answers to {task.name!r}")
        [decision] = decisions
        if decision.refused:
            return np.zeros(task.n_classes)
        captured = decision.probabilities[decision.ordered(task.classes)]
    except InvalidInputError as error:
        raise BackendError(
            f"the server's answer is not understood: {error.message}",
            hint="Does this server offer this API?",
            retryable=True,
        ) from error
    return captured if decision.mass is None else captured * min(decision.mass, 1.0)
