"""Engine for decision servers, which answer a question with the probability of every option."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dnip.base.errors import BackendError, InvalidInputError
from dnip.llm.decisions import read_decisions
from dnip.llm.decisions.answers import asked_question
from dnip.llm.prompting.engines.server import Read, ServerEngine
from dnip.llm.prompting.prompt import Prompt
from dnip.llm.prompting.task import Task
from dnip.tables.provenance import Question


@dataclass(frozen=True)
class DecisionEngine(ServerEngine):
    """Scores classes by the probabilities that a decision server gives to the options.

    One request per prompt: the task's own question, as an application asks it; or else a choice
    among the classes, named after the task, where label words that differ from their classes
    describe them. The server, not the engine, decides how the question
    is put to the model. The captured mass of a row is the label mass of the server, 1 where the
    server reports none; a refusal has mass 0 and ``details["refused"]``.

    Parameters
    ----------
    model, server, extra_body
        As for `ServerEngine`.
    endpoint : {"systemone", "decisions"}
        System One, as transformers, vLLM, SGLang and Ollama serve it, or OpenAI's decisions.

    Examples
    --------
    >>> from dnip.llm.prompting.engines.server import Server
    >>> engine = DecisionEngine("small", Server("http://127.0.0.1:8000/v1"))
    >>> [engine.describe()[key] for key in ("engine", "endpoint", "model")]
    ['decisions', 'systemone', 'small']
    """

    OPTIONS = (*ServerEngine.OPTIONS, "api")
    KIND = "a decision server"
    NAME = "decisions"
    ENDPOINTS: ClassVar[Mapping[str, str]] = {"systemone": "systemone", "decisions": "decisions"}

    endpoint: str = "systemone"

    def _prepare(
        self, prompts: Sequence[Prompt], task: Task
    ) -> tuple[Callable[[Prompt], dict[str, Any]], Callable[[Any], Read]]:
        name, content = self._content(task)

        def write(prompt: Prompt) -> dict[str, Any]:
            state = prompt.state or prompt.text
            if self.endpoint == "systemone":
                return {"state": state, "questions": {name: content}}
            return {"input": state, "questions": [{"name": name, **content}]}

        return write, lambda answer: _read(answer, name, task)

    def question(self, prompts: Sequence[Prompt], task: Task) -> Question:
        """Return what is the same for every row: the question, as a sidecar sees it."""
        asked = asked_question(self.model, self._content(task)[1])
        assert asked is not None  # it has options
        return asked

    def _content(self, task: Task) -> tuple[str, dict[str, Any]]:
        """Return the name of the question, and what is asked."""
        wording = task.decision
        content: dict[str, Any] = {"type": "choice", "instructions": wording.instructions}
        name = wording.name or task.name
        if self.endpoint == "systemone":
            return name, {**content, "criteria": dict(wording.criteria)}
        choices = [
            {"value": option} if text is None else {"value": option, "description": text}
            for option, text in wording.criteria.items()
        ]
        return name, {**content, "choices": choices}


def _read(answer: Mapping[str, Any], name: str, task: Task) -> Read:
    """Return the probability of each class; zeros for a refusal."""
    try:
        decisions = read_decisions(answer, {name})
        if len(decisions) != 1:
            raise InvalidInputError(f"it has {len(decisions)} answers to {name!r}")
        [decision] = decisions
        if decision.refused:
            return np.zeros(task.n_classes), None, {"refused": True}
        captured = decision.probabilities[decision.ordered(task.classes)]
    except InvalidInputError as error:
        raise BackendError(
            f"the server's answer is not understood: {error.message}",
            hint="Does this server offer this API?",
            retryable=True,
        ) from error
    mass = 1.0 if decision.mass is None else min(decision.mass, 1.0)
    return captured * mass, None, {} if mass else {"refused": True}
