"""Engines against a real HTTP server on this machine, healthy and failing."""

import asyncio
import json
import logging
import math
import pickle
import threading
import time

import numpy as np
import pytest

from cases import cases
from dnip import BackendError, InvalidInputError
from dnip.llm.prompting.engines.servers import DecisionEngine, OpenAIEngine, Server, VotingEngine
from dnip.llm.prompting.prompt import Prompt
from failing_server import FAULTS, FailingServer
from fakes import TASK, scores
from processes import free_port, wait_for

pytest.importorskip("openai")

KEY = "sk-SECRET-0123456789"


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """A key, no long waits between retries, and no thread left over."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr("dnip.llm.prompting.engines.servers._PATIENCE", 0.0)
    yield
    assert "dnip-requests" not in {thread.name for thread in threading.enumerate()}


def prompts(number):
    return [Prompt("Tell the mood.\n\n", f"message {row}\nMood:") for row in range(number)]


def completion(body):
    """Probabilities that depend on the prompt, so that no row can take another's place."""
    top = dict(zip((" happy", " sad"), np.log(scores(body["prompt"], 2)).tolist(), strict=True))
    return {"choices": [{"text": " x", "logprobs": {"tokens": [" happy"], "top_logprobs": [top]}}]}


def chat(body):
    logs = np.log(scores(body["messages"][0]["content"], 2)).tolist()
    top = [{"token": t, "logprob": log} for t, log in zip(TASK.label_words, logs, strict=True)]
    return {"choices": [{"logprobs": {"content": [top[0] | {"top_logprobs": top}]}}]}


def decision(body):
    """All mass on the options, of which the first has the share that it has in `scores`."""
    p = scores(body["state"], 2)
    shares = dict(zip(TASK.classes, (p / p.sum()).tolist(), strict=True))
    answer = {"type": "choice", "choice": max(shares, key=shares.get), "probabilities": shares}
    return {"answers": {"mood": answer}, "diagnostics": {"mood": {"label_mass": p.sum()}}}


def vote(body):
    """As many of ten samples are happy as its probability has tenths."""
    n_happy = int(10 * scores(body["messages"][0]["content"], 1)[0])
    text = "Label: happy" if body["seed"] < n_happy else "sad"
    return {"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}


def engine(url, *, kind=OpenAIEngine, concurrency=8, timeout=200, retries=6, **settings):
    return kind("small", Server(url, "OPENAI_API_KEY", concurrency, timeout, retries), **settings)


def score(url, number=1, **settings):
    return list(engine(url, **settings).score(prompts(number), TASK))


def everything_said(error):
    """All texts of an error and of those before it."""
    said = []
    while error is not None:
        said += [str(error), repr(error), repr(vars(error))]
        error = error.__cause__ or error.__context__
    return " ".join(said)


@cases(
    (OpenAIEngine, completion, {}, "completions"),
    (OpenAIEngine, chat, {"endpoint": "chat"}, "chat/completions"),
    (VotingEngine, vote, {"samples": 10}, "chat/completions"),
    (DecisionEngine, decision, {}, "systemone"),
)
def test_no_row_is_lost_on_a_server_that_fails_one_request_in_five(kind, answer, settings, path):
    def fault(number):
        return FAULTS[number // 5 % len(FAULTS)] if number % 5 == 4 else None

    with FailingServer(answer, fault) as server:
        # sound answers may take longer than a second, too, on a busy machine
        patient = {"timeout": 1, "retries": 100, "concurrency": 16}
        asked = engine(server.url, kind=kind, **patient, **settings)
        rows = list(asked.score(prompts(100), TASK))
    assert sorted(row.row for row in rows) == list(range(100))
    for row in rows:
        expected = scores(prompts(100)[row.row].text, 2)
        if kind is VotingEngine:
            n_happy = int(10 * expected[0])
            expected = np.array([n_happy + 0.5, 10.5 - n_happy]) / 11
        np.testing.assert_allclose(row.captured, expected)
        assert row.ceiling is None
    assert set(server.paths) == {f"/v1/{path}"}
    assert server.authorizations == {f"Bearer {KEY}"}


def test_no_more_requests_at_a_time_than_asked_for():
    three = threading.Barrier(3)

    def answer(body):
        if len(server.requests) > 1:  # the first one is sent alone
            three.wait(200)  # for one another
        return completion(body)

    with FailingServer(answer) as server:
        assert len(score(server.url, 40, concurrency=3, timeout=200)) == 40
    assert server.most_under_way == 3


def test_it_runs_inside_an_event_loop_too():
    async def inside():
        return score(server.url, 5)

    with FailingServer(completion) as server:
        assert len(asyncio.run(inside())) == 5


def test_any_text_can_be_sent():
    with FailingServer(lambda _: completion({"prompt": "x"})) as server:
        one = Prompt("", "\udc80 \u2028 🙂 \x00")
        assert len(list(engine(server.url).score([one], TASK))) == 1
    assert server.requests[0]["prompt"] == one.text


# --- asking again ---
def test_the_wait_that_a_server_asks_for_is_the_least():
    start = time.monotonic()
    with FailingServer(completion, {0: "429-seconds"}.get, retry_after="1") as server:
        score(server.url)
    assert time.monotonic() - start >= 1.0


@cases(
    ("429-seconds", "too many requests"),
    ("503", r"the server fails \(status 503: overloaded\)"),
    ("close", "no connection"),
    ("hang", "no answer within 0.3 s"),
)
def test_retries_of_a_request_are_capped(fault, told):
    with FailingServer(completion, lambda _: fault) as server:
        with pytest.raises(BackendError, match=f"/v1/completions, prompt 0: {told}") as caught:
            score(server.url, retries=2, timeout=0.3 if fault == "hang" else 200)
        wait_for(lambda: len(server.requests) == 3)  # it may read them after the client has left
    assert caught.value.retryable


# --- failing at once ---
@cases(
    (401, '{"error": {"message": "Incorrect API key provided: sk-SECRET-***"}}', "refuses access"),
    (403, "", "OPENAI_API_KEY was sent. Set OPENAI_API_KEY to a key"),
    (404, '{"error": {"message": "no model small"}}', "no model small.*Check the base URL and the"),
    (400, '{"detail": "at most 5 logprobs"}', "at most 5 logprobs.*Lower top_logprobs"),
    (400, '{"message": "context of 9000 tokens"}', "refuses.*context of 9000.*Cut the texts"),
    (422, '{"detail": [{"msg": "missing"}]}', "refuses the request.*missing"),
    (200, '{"choices": [{"text": " good"}]}', "no log-probabilities.*votes of repeated"),
    (200, '{"choices": [', "the answer is not JSON .13 bytes."),
    (200, "[" * 100_000, "the answer is not JSON"),
    (400, '"' + "x" * 1000 + '"', "x{300}…"),
)
def test_what_will_not_pass_fails_at_once(status, text, message):
    with (
        FailingServer(lambda body: (status, {}, text)) as server,
        pytest.raises(BackendError, match=message) as caught,
    ):
        score(server.url, 20, concurrency=1)
    assert len(server.requests) == 1
    assert caught.value.hint


def test_an_address_without_a_version_is_shown_with_it():
    with FailingServer(lambda body: (404, {}, "")) as server:
        root = server.url.removesuffix("/v1")
        for url in (root, f"{root}/"):
            with pytest.raises(BackendError, match=f"end in /v1: try {server.url}. Check"):
                score(url)
        with pytest.raises(BackendError, match=r"status 404.. Check the base URL"):
            score(server.url)


def test_no_redirect_is_followed():
    with FailingServer(completion) as other:
        moved = (307, {"Location": f"{other.url}/completions"}, "")
        with (
            FailingServer(lambda _: moved) as server,
            pytest.raises(BackendError, match=r"redirected \(status 307\)"),
        ):
            score(server.url)
    assert other.requests == []


def test_a_missing_key_is_named_and_no_other_is_sent(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-admin")
    with (
        FailingServer(lambda body: (401, {}, "")) as server,
        pytest.raises(BackendError, match="the key of OPENAI_API_KEY is not set"),
    ):
        score(server.url)
    assert server.authorizations == {None}


def test_a_server_that_cannot_be_reached_is_told():
    with pytest.raises(BackendError, match=r"no connection.*Is the server running") as caught:
        score(f"http://127.0.0.1:{free_port()}/v1", 5, retries=1)
    assert caught.value.retryable


@cases(
    ("ALL_PROXY", "gopher://me:SECRET@host:1"),
    ("ALL_PROXY", "http://me:SECRET@host:port"),
    ("SSL_CERT_FILE", "/no/such/SECRET"),
)
def test_surroundings_that_cannot_be_used_are_told_unseen(monkeypatch, name, value):
    for unset in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(unset, raising=False)
    monkeypatch.setenv(name, value)
    with pytest.raises(BackendError, match=r"no connection") as caught:
        score("https://127.0.0.1:1/v1", retries=0)
    assert "SECRET" not in everything_said(caught.value)


# --- ending early ---
def test_closing_ends_requests_under_way():
    faults = dict.fromkeys(range(4, 100), "hang")
    with FailingServer(completion, faults.get, hang=1000) as server:
        stream = engine(server.url, timeout=1000).score(prompts(100), TASK)
        for _ in range(4):
            next(stream)
        stream.close()  # else the test would wait for them until its own time is up
        assert len(server.requests) <= 12


# --- keys and settings ---
@pytest.mark.parametrize("status", [200, 400, 401, 404, 500])
def test_the_key_is_nowhere_to_be_seen(status, caplog, capfd):
    """Even where the server repeats it."""
    caplog.set_level(logging.DEBUG)
    answer = (status, {"X-Echo": "x"}, json.dumps({"error": {"message": f"bad key {KEY}"}, KEY: 1}))
    with FailingServer(lambda body: answer) as server:
        it = engine(server.url, retries=1)
        stream = it.score(prompts(2), TASK)
        with pytest.raises(BackendError) as caught:
            list(stream)
    seen = [everything_said(caught.value), caplog.text, *capfd.readouterr()]
    seen += map(repr, (it, stream, vars(it), vars(it.server), it.describe()))
    seen += [str(it), pickle.dumps(it).decode("latin-1")]
    assert "SECRET" not in "".join(seen)


@pytest.mark.parametrize("key", ["sk-two words", "sk-new\nline", "sk-schlüssel"])
def test_a_key_that_is_none_is_refused_unseen(key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(InvalidInputError, match="characters that no key has") as caught:
        score("http://127.0.0.1:1/v1")
    assert "sk-" not in everything_said(caught.value)


@cases(
    (Server, {"base_url": "host:8000"}, "base_url must begin with http"),
    (Server, {"base_url": "http://a..b/v1"}, "name a host"),
    (Server, {"base_url": "http://me:SECRET@host"}, "base_url"),
    (Server, {"base_url": "http://h?k=SECRET"}, "base_url"),
    (Server, {"base_url": "ftp://SECRET@h"}, "base_url"),
    (Server, {"retries": -1}, "retries"),
    (OpenAIEngine, {"model": ""}, "model must be"),
    (OpenAIEngine, {"endpoint": "embeddings"}, "endpoint must be one of completions, chat"),
    (OpenAIEngine, {"top_logprobs": 21}, "top_logprobs must be"),
    (OpenAIEngine, {"extra_body": {"a": math.nan}}, "extra_body must be"),
    (OpenAIEngine, {"extra_body": 3}, "extra_body must be"),
    (DecisionEngine, {"endpoint": "chat"}, "endpoint must be one of systemone, decisions"),
)
def test_settings_out_of_range_are_refused(kind, settings, message):
    needed = {} if kind is Server else {"model": "small"}
    with pytest.raises(InvalidInputError, match=message) as caught:
        kind(**needed | settings)
    assert "SECRET" not in everything_said(caught.value)
