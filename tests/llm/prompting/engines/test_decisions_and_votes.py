"""What decision servers are asked, how votes are counted, and what is read from both."""

from dataclasses import replace

import numpy as np
import pytest

from cases import cases
from dnip.base.errors import BackendError
from dnip.llm.decisions import asked_question
from dnip.llm.prompting.engines.servers import DecisionEngine, Server, VotingEngine
from dnip.llm.prompting.prompt import Prompt, PromptBuilder
from dnip.llm.prompting.task import DecisionWording, Task
from failing_server import FailingServer
from fakes import TASK as HAPPY_OR_SAD

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


def test_the_question_of_an_application_is_sent_as_it_is():
    criteria = {"neutral": "so so", "negative": None, "positive": None}
    wording = DecisionWording("Which mood?", criteria, "tone", "{{ text }}!")
    task = replace(TASK, question=wording)
    answer = {"type": "choice", "choice": "positive", "probabilities": SHARES}
    prompt = PromptBuilder(task, [({"text": "shown"}, 0)]).prompt({"text": "It rains."})
    with FailingServer(lambda _: {"answers": {"tone": answer}}) as server:
        engine = DecisionEngine("small", Server(server.url))
        [row] = engine.score([prompt], task)
    content = {"type": "choice", "instructions": "Which mood?", "criteria": criteria}
    asked = {"model": "small", "state": "It rains.!", "questions": {"tone": content}}
    assert server.requests == [asked]
    np.testing.assert_allclose(row.captured, [0.7, 0.2, 0.1])
    found = engine.question([prompt], task)
    assert found == asked_question("small", content)
    assert found.options == ("neutral", "negative", "positive")


def test_a_refusal_captures_nothing():
    row, _ = ask({"answers": [{"type": "refusal", "name": "mood"}]}, endpoint="decisions")
    assert row.captured.tolist() == [0, 0, 0]
    assert row.details == {"refused": True}


@cases(
    ({"choices": []}, "'answers'"),
    ({"answers": {"mood": {"type": "noul", "noul": 0.5}}}, "false, true"),
)
def test_an_answer_that_is_none_ends_the_run(answer, told):
    with pytest.raises(BackendError, match=f"prompt 0.*not understood.*{told}"):
        ask(answer)


# --- votes ---
def spoken(body):
    """Of four samples: two happy, one sad, one cut."""
    kind = body["seed"] % 4
    text = ["sad? no. Mood: sad. Label: happy", "Happy.", "so the label is sad", "happy"][kind]
    reason = "length" if kind == 3 else "stop"
    message = {"message": {"content": text}} if "messages" in body else {"text": text}
    return {"choices": [{**message, "finish_reason": reason}]}


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_shares_are_of_all_samples(endpoint):
    with FailingServer(spoken) as server:
        voters = VotingEngine("m", Server(server.url), endpoint, samples=4)
        rows = list(voters.score([Prompt("", str(row)) for row in range(3)], HAPPY_OR_SAD))
    assert sorted(row.row for row in rows) == [0, 1, 2]
    for row in rows:
        assert row.captured == pytest.approx([0.75 * 2.5 / 4, 0.75 * 1.5 / 4])
        assert row.details == {"samples": 4, "unmatched": 1}
        assert row.ceiling is None
    assert {body.pop("seed") for body in server.requests} == {0, 1, 2, 3}
    asked = {"model": "m", "temperature": 1.0, "max_tokens": 2048}
    if endpoint == "completions":
        asked["stop"] = ["\n\n"]  # where the next example would begin
    for body in server.requests:
        assert body.pop("messages" if endpoint == "chat" else "prompt")
        assert body == asked
