"""The engine for decision servers against a real HTTP server, healthy and failing."""

import hashlib

import numpy as np
import pytest

from dnip.base.errors import BackendError, InvalidInputError
from dnip.prompting.engines.decision_engine import DecisionEngine
from dnip.prompting.engines.openai_client import Server
from dnip.prompting.engines.openai_failures import RetryPolicy
from dnip.prompting.prompt import Prompt
from dnip.prompting.task import Task
from failing_server import FAULTS, FailingServer

pytest.importorskip("httpx2")

TASK = Task(
    name="mood",
    instruction="Tell the mood.",
    fields=("text",),
    template="{{ text }}",
    classes=("positive", "neutral", "negative"),
    label_words=("good", "neutral", "bad"),
)
QUICK = RetryPolicy(per_request=20, base_delay=0.005, max_delay=0.05)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def prompts(number):
    return [Prompt("Tell the mood.\n\n", f"message {row}\nMood:") for row in range(number)]


def expected(text):
    """Probabilities that depend on the prompt, so that no row can take another's place."""
    noise = np.frombuffer(hashlib.sha256(text.encode()).digest()[:3], np.uint8) + 1.0
    return noise / noise.sum()


def system_one(body):
    """The options in another order than that of the classes."""
    p = dict(zip(TASK.classes, expected(body["state"]).tolist(), strict=True))
    turned = dict(reversed(p.items()))
    answer = {"type": "choice", "choice": max(p, key=p.get), "probabilities": turned}
    return {"answers": {"mood": answer}, "diagnostics": {"mood": {"label_mass": 0.5}}}


def openai(body):
    p = expected(body["input"]).tolist()
    entries = [{"value": n, "probability": x} for n, x in zip(TASK.classes, p, strict=True)]
    choice = TASK.classes[int(np.argmax(p))]
    answer = {"type": "choice", "name": "mood", "choice": choice, "probabilities": entries}
    return {"answers": [answer]}


def score(server, number=1, done=frozenset(), retries=QUICK, **settings):
    place = Server(server.url, timeout=1, retries=retries)
    rows = list(DecisionEngine("small", place, **settings).score(prompts(number), TASK, done=done))
    return {row.row: row for row in rows}


@pytest.mark.parametrize(
    ("api", "answer", "mass"), [("systemone", system_one, 0.5), ("decisions", openai, 1.0)]
)
def test_no_row_is_lost_on_a_server_that_fails_one_request_in_five(api, answer, mass):
    def fault(number):
        return FAULTS[number // 5 % len(FAULTS)] if number % 5 == 4 else None

    with FailingServer(answer, fault) as server:
        rows = score(server, 100, api=api, done=frozenset({3, 4}))
    assert sorted(rows) == [row for row in range(100) if row not in (3, 4)]
    for number, row in rows.items():
        p = expected(prompts(100)[number].text)
        np.testing.assert_allclose(row.captured, mass * p)
        assert (row.ceiling, row.details) == (None, {})
    assert set(server.paths) == {f"/v1/{api}"}


def test_a_request_asks_for_a_choice_among_the_classes():
    with FailingServer(system_one) as one, FailingServer(openai) as two:
        score(one, extra_body={"cache_salt": "x"})
        score(two, api="decisions")
    described = {"positive": "good", "neutral": None, "negative": "bad"}
    question = {"type": "choice", "instructions": "Tell the mood.", "criteria": described}
    text = "Tell the mood.\n\nmessage 0\nMood:"
    assert one.requests == [
        {"model": "small", "state": text, "questions": {"mood": question}, "cache_salt": "x"}
    ]
    choices = [
        {"value": "positive", "description": "good"},
        {"value": "neutral"},
        {"value": "negative", "description": "bad"},
    ]
    question = {
        "type": "choice",
        "name": "mood",
        "instructions": "Tell the mood.",
        "choices": choices,
    }
    assert two.requests == [{"model": "small", "input": text, "questions": [question]}]


def test_a_refusal_captures_nothing():
    with FailingServer(lambda _: {"answers": [{"type": "refusal", "name": "mood"}]}) as server:
        [row] = score(server, api="decisions").values()
    assert row.captured.tolist() == [0, 0, 0]
    assert row.details == {"refused": True}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"answers": {}}, "0 answers to 'mood'"),
        ({"choices": []}, "'answers'"),
        ({"answers": {"mood": {"type": "noul", "noul": 0.5}}}, "false, true"),
        ({"answers": {"mood": {"type": "choice", "choice": "good"}}}, "'probabilities' is None"),
    ],
)
def test_an_answer_that_is_none_ends_the_run(answer, told):
    with (
        FailingServer(lambda _: answer) as server,
        pytest.raises(BackendError, match=f"prompt 0.*not understood.*{told}"),
    ):
        score(server, retries=RetryPolicy(per_request=0))


def test_settings_are_checked():
    with pytest.raises(InvalidInputError, match="api must be"):
        DecisionEngine("m", api="chat")
    with pytest.raises(InvalidInputError, match="model must be"):
        DecisionEngine("")
