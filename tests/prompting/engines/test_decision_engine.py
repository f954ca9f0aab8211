"""What decision servers are asked, and what is read from their answers."""

import numpy as np
import pytest

from dnip.base.errors import BackendError
from dnip.prompting.engines.decision_engine import DecisionEngine
from dnip.prompting.engines.server import Server
from dnip.prompting.prompt import Prompt
from dnip.prompting.task import Task
from failing_server import FailingServer

pytest.importorskip("openai")

TASK = Task(
    name="mood",
    instruction="Tell the mood.",
    fields=("text",),
    template="{{ text }}",
    classes=("positive", "neutral", "negative"),
    label_words=("good", "neutral", "bad"),
)


def ask(answer, **settings):
    """The row that is read from an answer, and the request."""
    with FailingServer(lambda _: answer) as server:
        engine = DecisionEngine("small", Server(server.url), **settings)
        [row] = engine.score([Prompt("Tell. ", "It rains.")], TASK)
    return row, server.requests[0]


QUESTION = {"type": "choice", "instructions": "Tell the mood."}
SHARES = {"negative": 0.1, "neutral": 0.2, "positive": 0.7}


def test_system_one_is_asked_for_a_choice_among_the_classes():
    answer = {"type": "choice", "choice": "positive", "probabilities": SHARES}
    told = {"answers": {"mood": answer}, "diagnostics": {"mood": {"label_mass": 0.5}}}
    row, request = ask(told, extra_body={"cache_salt": "x"})
    described = {"positive": "good", "neutral": None, "negative": "bad"}
    asked = {"state": "Tell. It rains.", "questions": {"mood": QUESTION | {"criteria": described}}}
    assert request == {"model": "small", "cache_salt": "x"} | asked
    np.testing.assert_allclose(row.captured, [0.35, 0.1, 0.05])
    assert (row.ceiling, row.details) == (None, {})


def test_openai_is_asked_for_a_choice_among_the_classes():
    shares = [{"value": value, "probability": p} for value, p in SHARES.items()]
    answer = {"type": "choice", "name": "mood", "choice": "positive", "probabilities": shares}
    row, request = ask({"answers": [answer]}, endpoint="decisions")
    choices = [
        {"value": "positive", "description": "good"},
        {"value": "neutral"},
        {"value": "negative", "description": "bad"},
    ]
    question = QUESTION | {"name": "mood", "choices": choices}
    assert request == {"model": "small", "input": "Tell. It rains.", "questions": [question]}
    np.testing.assert_allclose(row.captured, [0.7, 0.2, 0.1])


def test_a_refusal_captures_nothing():
    row, _ = ask({"answers": [{"type": "refusal", "name": "mood"}]}, endpoint="decisions")
    assert row.captured.tolist() == [0, 0, 0]
    assert row.details == {"refused": True}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"choices": []}, "'answers'"),
        ({"answers": {"mood": {"type": "noul", "noul": 0.5}}}, "false, true"),
    ],
)
def test_an_answer_that_is_none_ends_the_run(answer, told):
    with pytest.raises(BackendError, match=f"prompt 0.*not understood.*{told}"):
        ask(answer)
