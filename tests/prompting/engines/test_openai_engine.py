"""The engine against a real server on this machine, healthy and failing."""

import asyncio
import gzip
import hashlib
import json
import logging
import math
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from dnip.base.errors import BackendError, InvalidInputError, MissingDependencyError
from dnip.prompting.engines.base import Scoring
from dnip.prompting.engines.openai_client import Server
from dnip.prompting.engines.openai_engine import OpenAIEngine
from dnip.prompting.engines.openai_failures import RetryPolicy
from dnip.prompting.engines.openai_votes import VotingEngine
from dnip.prompting.prompt import Prompt
from dnip.prompting.task import Task
from failing_server import FAULTS, FailingServer

pytest.importorskip("httpx2")

TASK = Task(
    name="mood",
    instruction="",
    fields=("text",),
    template="{{ text }}",
    classes=("good", "great", "bad"),
    label_words=("good", "great", "bad"),
)
KEY = "sk-SECRET-0123456789"
#: Retries that cost next to no time.
QUICK = RetryPolicy(per_request=20, base_delay=0.005, max_delay=0.05)


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    """A key, no proxy, and no thread left over."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    yield
    assert "dnip-requests" not in {thread.name for thread in threading.enumerate()}


def prompts(number):
    return [Prompt("Tell the mood.\n\n", f"message {row}\nMood:") for row in range(number)]


def expected(text):
    """Probabilities that depend on the prompt, so that no row can take another's place."""
    noise = hashlib.sha256(text.encode()).digest()[:3]
    return np.array([byte + 1 for byte in noise]) / 1000


def completion(body):
    p = expected(body["prompt"])
    top = {f" {word}": math.log(x) for word, x in zip(TASK.label_words, p, strict=True)}
    return {"choices": [{"text": " x", "logprobs": {"tokens": [" x"], "top_logprobs": [top]}}]}


def chat(body):
    p = expected(body["messages"][0]["content"])
    top = [
        {"token": word, "logprob": math.log(x), "bytes": None}
        for word, x in zip(TASK.label_words, p, strict=True)
    ]
    return {"choices": [{"logprobs": {"content": [top[0] | {"top_logprobs": top}]}}]}


def engine(url, *, kind=OpenAIEngine, concurrency=8, timeout=10, retries=QUICK, **settings):
    server = Server(url, concurrency=concurrency, timeout=timeout, retries=retries)
    return kind("small", server, **settings)


def score(url, number=1, **settings):
    return list(engine(url, **settings).score(prompts(number), TASK))


def check_all(rows, number):
    """Every row once, with its own probabilities."""
    assert sorted(row.row for row in rows) == list(range(number))
    texts = [prompt.text for prompt in prompts(number)]
    for row in rows:
        assert row.captured == pytest.approx(expected(texts[row.row]))


def everything_said(error):
    """All texts of an error and of those before it."""
    said = []
    while error is not None:
        said += [str(error), repr(error), repr(vars(error))]
        error = error.__cause__ or error.__context__
    return " ".join(said)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.parametrize(("endpoint", "answer"), [("completions", completion), ("chat", chat)])
def test_every_row_is_scored_once(endpoint, answer):
    with FailingServer(answer) as server:
        rows = score(server.url, 50, endpoint=endpoint, top_logprobs=5)
    check_all(rows, 50)
    assert all(row.ceiling is None and row.details == {} for row in rows)
    assert len(server.requests) == 50
    path = "completions" if endpoint == "completions" else "chat/completions"
    assert set(server.paths) == {f"/v1/{path}"}
    assert server.authorizations == {f"Bearer {KEY}"}


def test_no_row_is_lost_on_a_server_that_fails_one_request_in_five():
    def fault(number):
        return FAULTS[number // 5 % len(FAULTS)] if number % 5 == 4 else None

    with FailingServer(completion, fault) as server:
        rows = score(server.url, 500, concurrency=32, timeout=1.0)
    check_all(rows, 500)
    assert 600 <= len(server.requests) <= 750
    assert server.most_under_way > 8


@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_that_unpacks_without_end_is_given_up(monkeypatch, status):
    monkeypatch.setattr("dnip.prompting.engines.openai_client._MOST_BYTES", 10**6)
    packed = gzip.compress(b" " * 10**8)

    class Bomb(FailingServer):
        def reply(self, handler, answer):
            handler.send_response(status)
            handler.send_header("Content-Encoding", "gzip")
            handler.send_header("Content-Length", str(len(packed)))
            handler.end_headers()
            handler.wfile.write(packed)

    with Bomb(completion) as server, pytest.raises(BackendError, match="longer than 1,000,000"):
        score(server.url, 1)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_way_of_failing_is_asked_again(fault):
    with FailingServer(completion, lambda number: fault if number == 0 else None) as server:
        check_all(score(server.url, 3, timeout=1), 3)
    assert len(server.requests) == 4


def test_rows_that_are_done_are_not_asked_for():
    done = frozenset(range(0, 20, 2))
    with FailingServer(completion) as server:
        rows = list(engine(server.url).score(prompts(20), TASK, done=done))
        assert not list(engine(server.url).score(prompts(3), TASK, done=frozenset(range(3))))
    assert sorted(row.row for row in rows) == list(range(1, 20, 2))
    texts = [prompt.text for prompt in prompts(20)]
    assert all(row.captured == pytest.approx(expected(texts[row.row])) for row in rows)
    assert len(server.requests) == 10


def test_rows_are_yielded_as_they_come():
    release = threading.Event()

    def answer(body):
        if "message 0\n" in body["prompt"]:
            release.wait(10)
        return completion(body)

    with FailingServer(answer) as server:
        rows = engine(server.url).score(prompts(20), TASK)
        first = [next(rows) for _ in range(19)]
        assert 0 not in {row.row for row in first}
        release.set()
        check_all([*first, *rows], 20)


def test_no_more_requests_at_a_time_than_asked_for():
    def answer(body):
        time.sleep(0.01)
        return completion(body)

    with FailingServer(answer) as server:
        check_all(score(server.url, 40, concurrency=3), 40)
    assert server.most_under_way == 3


def test_it_runs_inside_an_event_loop_too():
    async def inside():
        return score(server.url, 5)

    with FailingServer(completion) as server:
        check_all(asyncio.run(inside()), 5)


def test_no_prompts_need_no_server():
    assert list(engine("http://127.0.0.1:1/v1").score([], TASK)) == []


def test_labels_that_are_not_reported_are_bounded():
    def answer(body):
        top = {" good": math.log(0.5), " g": math.log(0.25), " the": math.log(0.125)}
        return {"choices": [{"logprobs": {"top_logprobs": [top], "tokens": [" good"]}}]}

    with FailingServer(answer) as server:
        (row,) = score(server.url)
    assert row.captured == pytest.approx([0.5, 0, 0])
    assert row.ceiling == pytest.approx([0.5, 0.125, 0.125])
    assert row.captured_mass == pytest.approx(0.5)
    assert row.details["ambiguous"] == pytest.approx(0.25)


def test_labels_are_asked_for_exactly_where_the_server_can():
    def answer(body):
        ids = body["logprob_token_ids"]
        top = {f"token_id:{token}": math.log(token / 100) for token in [*ids, 60]}
        return {"choices": [{"logprobs": {"top_logprobs": [top], "tokens": ["token_id:60"]}}]}

    with FailingServer(answer) as server:
        (row,) = score(server.url, label_token_ids=[3, 2, 1])
    assert row.captured == pytest.approx([0.03, 0.02, 0.01])
    assert row.ceiling is None


# --- asking again -------------------------------------------------------------------------------


def test_the_wait_that_a_server_asks_for_is_the_least():
    start = time.monotonic()
    first = {0: "429-seconds"}
    with FailingServer(completion, first.get, retry_after="1") as server:
        score(server.url)
    assert time.monotonic() - start >= 1.0


def test_a_wait_that_is_too_long_ends_the_run():
    with (
        FailingServer(completion, lambda _: "429-seconds", retry_after="86400") as server,
        pytest.raises(BackendError, match="asks to wait 86400 s, and 300 s are the most") as caught,
    ):
        score(server.url)
    assert caught.value.retryable


def test_retries_of_one_request_are_capped():
    policy = RetryPolicy(per_request=3, base_delay=0.001)
    with (
        FailingServer(completion, lambda _: "503") as server,
        pytest.raises(BackendError, match=r"prompt 0: status 503: overloaded \(tried 4 times\)"),
    ):
        score(server.url, retries=policy)
    assert len(server.requests) == 4


def test_retries_of_the_run_are_capped():
    policy = RetryPolicy(per_request=1000, total=30, base_delay=0.001, max_delay=0.001)
    with (
        FailingServer(completion, lambda number: "500" if number % 2 else None) as server,
        pytest.raises(BackendError, match="all 30 retries of this run are spent") as caught,
    ):
        score(server.url, 500, retries=policy)
    assert caught.value.retryable
    assert 60 <= len(server.requests) <= 80


# --- failing at once ----------------------------------------------------------------------------

PERMANENT = [
    (401, '{"error": {"message": "Incorrect API key provided: sk-SECRET-***"}}', "refuses access"),
    (403, "", "OPENAI_API_KEY was sent. Set OPENAI_API_KEY to a key"),
    (404, '{"error": {"message": "no model small"}}', "no model small.*Check the base URL and the"),
    (404, "<html>", "unknown model or address"),
    (400, '{"detail": "at most 5 logprobs"}', "at most 5 logprobs.*Lower top_logprobs"),
    (400, '{"message": "prompt of 9000 tokens"}', "prompt 0: .*refuses.*prompt of 9000 tokens"),
    (422, '{"detail": [{"msg": "missing"}]}', "refuses the request.*missing"),
    (429, '{"error": {"code": "insufficient_quota", "message": "pay"}}', "quota is used up.*pay"),
    (307, "", "redirected"),
    (501, "", "status 501"),
    (200, '{"choices": [{"text": " good"}]}', "no log-probabilities.*votes of repeated"),
    (400, '"' + "x" * 1000 + '"', "x{300}…"),
]


@pytest.mark.parametrize(("status", "text", "message"), PERMANENT)
def test_what_will_not_pass_fails_at_once(status, text, message):
    with (
        FailingServer(lambda body: (status, {}, text)) as server,
        pytest.raises(BackendError, match=message) as caught,
    ):
        score(server.url, 20, concurrency=1)
    assert len(server.requests) == 1
    assert not caught.value.retryable
    assert caught.value.hint


def test_a_missing_key_is_named(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with (
        FailingServer(lambda body: (401, {}, "")) as server,
        pytest.raises(BackendError, match="the key of OPENAI_API_KEY is not set"),
    ):
        score(server.url)
    assert server.authorizations == {None}


def test_the_key_may_have_another_name(monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-other")
    with FailingServer(completion) as server:
        list(
            OpenAIEngine("small", Server(server.url, key_variable="MY_KEY")).score(prompts(1), TASK)
        )
    assert server.authorizations == {"Bearer sk-other"}


def test_a_server_that_is_down_is_told():
    policy = RetryPolicy(per_request=2, base_delay=0.001)
    with pytest.raises(BackendError, match=r"no connection.*Is the server running") as caught:
        score(f"http://127.0.0.1:{free_port()}/v1", 5, retries=policy)
    assert caught.value.retryable


def test_rows_before_the_server_went_are_kept():
    policy = RetryPolicy(per_request=2, base_delay=0.001)
    rows = []
    with FailingServer(completion) as server:
        stream = engine(server.url, retries=policy, concurrency=2).score(prompts(3_000), TASK)
        rows += [next(stream) for _ in range(10)]
        server.stop()
        with pytest.raises(BackendError, match=r"no connection|connection was lost"):
            rows.extend(stream)
    assert 10 <= len(rows) < 3_000
    assert len({row.row for row in rows}) == len(rows)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://a..b/v1", "host's name is not valid|no connection"),
        (f"http://{'a' * 70}/v1", "host's name is not valid|no connection"),
    ],
)
def test_a_host_that_cannot_be_is_told(url, message):
    policy = RetryPolicy(per_request=1, base_delay=0.001)
    with pytest.raises(BackendError, match=message):
        score(url, retries=policy)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ALL_PROXY", "gopher://me:SECRET@host:1"),
        ("ALL_PROXY", "http://me:SECRET@host:port"),
        ("SSL_CERT_FILE", "/no/such/SECRET"),
    ],
)
def test_surroundings_that_cannot_be_used_are_told_unseen(name, value, monkeypatch):
    for unset in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(unset, raising=False)
    monkeypatch.setenv(name, value)
    policy = RetryPolicy(per_request=0)
    with pytest.raises(BackendError, match=r"proxy or certificates|no connection") as caught:
        score("https://127.0.0.1:1/v1", retries=policy)
    assert "SECRET" not in everything_said(caught.value)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'dnip\[openai\]'"):
        score("http://127.0.0.1:1/v1")


def test_any_text_can_be_sent():
    with FailingServer(completion) as server:
        one = Prompt("", "\udc80 \u2028 🙂 \x00")
        with pytest.raises(UnicodeEncodeError):
            one.text.encode()
        server.answer = lambda body: completion({"prompt": "x"})
        assert len(list(engine(server.url).score([one], TASK))) == 1
    assert server.requests[0]["prompt"] == one.text


# --- ending early -------------------------------------------------------------------------------


def test_closing_ends_requests_under_way():
    with FailingServer(completion, lambda number: "hang" if number >= 4 else None) as server:
        stream = engine(server.url, timeout=60).score(prompts(100), TASK)
        for _ in range(4):
            next(stream)
        start = time.monotonic()
        stream.close()
        assert time.monotonic() - start < 30  # half the time that a request may take
        assert len(server.requests) <= 12


def test_an_unstarted_stream_asks_nothing():
    with FailingServer(completion) as server:
        stream = engine(server.url).score(prompts(5), TASK)
        stream.close()
    assert server.requests == []


def test_an_exception_in_a_prompt_reaches_the_caller():
    class Broken:
        @property
        def text(self):
            raise InvalidInputError("no such field")

    with FailingServer(completion) as server:
        stream = engine(server.url, concurrency=1).score([*prompts(2), Broken()], TASK)
        assert [next(stream).row, next(stream).row] == [0, 1]
        with pytest.raises(InvalidInputError, match="no such field"):
            next(stream)


CTRL_C = """
import threading
from dnip.prompting.engines.openai_client import Server
from dnip.prompting.engines.openai_engine import OpenAIEngine
from dnip.prompting.prompt import Prompt
from dnip.prompting.task import load_task

engine = OpenAIEngine("small", Server({url!r}))
try:
    print("begin", flush=True)
    list(engine.score([Prompt("", "x")] * 20, load_task("sst5")))
except KeyboardInterrupt:
    print("interrupted", [thread.name for thread in threading.enumerate()])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a child there")
def test_ctrl_c_ends_it_at_once_and_leaves_no_thread():
    with FailingServer(completion, lambda _: "hang", hang=60) as server:
        code = CTRL_C.format(url=server.url)
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + 30
        while not server.requests and time.monotonic() < deadline:
            time.sleep(0.02)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
        assert time.monotonic() - start < 5
    assert out.splitlines() == ["begin", "interrupted ['MainThread']"]
    assert err == ""


# --- keys ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 400, 401, 404, 500])
def test_the_key_is_nowhere_to_be_seen(status, caplog, capfd):
    """Even where the server repeats it."""
    caplog.set_level(logging.DEBUG)
    answer = (status, {"X-Echo": "x"}, json.dumps({"error": {"message": f"bad key {KEY}"}}))
    policy = RetryPolicy(per_request=1, base_delay=0.001)
    with FailingServer(lambda body: answer) as server:
        it = engine(server.url, retries=policy)
        stream = it.score(prompts(2), TASK)
        with pytest.raises(BackendError) as caught:
            list(stream)
    captured = capfd.readouterr()
    seen = [
        everything_said(caught.value),
        caplog.text,
        captured.out + captured.err,
        repr(it) + str(it) + repr(stream) + repr(vars(it)) + repr(vars(it.server)),
        json.dumps(it.describe()),
        pickle.dumps(it).decode("latin-1"),
    ]
    assert KEY not in "".join(seen)
    assert "SECRET" not in "".join(seen)


def test_the_key_is_not_told_where_an_answer_holds_it():
    policy = RetryPolicy(per_request=0)
    with (
        FailingServer(lambda body: {KEY: "?"}) as server,
        pytest.raises(BackendError, match=r"no choices, but \*\*\*") as caught,
    ):
        score(server.url, retries=policy)
    assert "SECRET" not in everything_said(caught.value)


@pytest.mark.parametrize("key", ["sk-two words", "sk-new\nline", "sk-schlüssel"])
def test_a_key_that_is_none_is_refused_unseen(key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(InvalidInputError, match="characters that no key has") as caught:
        score("http://127.0.0.1:1/v1")
    assert "sk-" not in everything_said(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://me:SECRET@host/v1",
        "http://SECRET@host/v1",
        "http://host/v1?key=SECRET",
        "http://host/v1#SECRET",
        "ftp://me:SECRET@host/v1",
        "http://me:SECRET@host:port/v1",
    ],
)
def test_a_url_with_secrets_is_refused_unseen(url):
    with pytest.raises(InvalidInputError, match="base_url") as caught:
        Server(url)
    assert "SECRET" not in everything_said(caught.value)


# --- settings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ""}, "model must be"),
        ({"endpoint": "embeddings"}, "endpoint must be one of completions, chat"),
        ({"top_logprobs": 21}, "top_logprobs must be"),
        ({"top_logprobs": 0}, "top_logprobs must be"),
        ({"extra_body": {"a": object()}}, "extra_body must be"),
        ({"extra_body": {"a": math.nan}}, "extra_body must be"),
        ({"extra_body": 3}, "extra_body must be"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        OpenAIEngine(**{"model": "small"} | settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_url": "host:8000"}, "base_url must begin with http"),
        ({"base_url": "http://"}, "base_url must begin with http"),
        ({"base_url": "http://a b/v1"}, "base_url must begin with http"),
        ({"base_url": "http://a/v1\n"}, "base_url must begin with http"),
        ({"concurrency": 0}, "concurrency"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_bad_servers_are_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        Server(**settings)


@pytest.mark.parametrize("scoring", [s for s in Scoring if s != Scoring.FIRST])
def test_other_scorings_are_refused_before_any_request(scoring):
    with pytest.raises(InvalidInputError, match="first token only"):
        engine("http://127.0.0.1:1/v1").score(prompts(1), TASK, scoring)


def test_the_description_says_what_the_probabilities_depend_on():
    description = engine("http://127.0.0.1:1/v1", concurrency=3).describe()
    assert description["base_url"] == "http://127.0.0.1:1/v1"
    assert "httpx2" in description["versions"]
    assert "concurrency" not in description
    assert json.loads(json.dumps(description)) == description


def test_importing_loads_no_http_client():
    code = (
        "import sys, dnip.prompting.engines.openai_engine, dnip.prompting.engines.openai_votes;"
        "assert not {'httpx2', 'anyio', 'jinja2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)


# --- votes --------------------------------------------------------------------------------------


def spoken(body):
    """Of four samples: two good, one bad, one cut."""
    kind = body["seed"] % 4
    text = ["bad? no: good", "Good.", "so it is bad", "good"][kind]
    reason = "length" if kind == 3 else "stop"
    return {"choices": [{"message": {"content": text}, "finish_reason": reason}]}


def test_votes_are_counted_per_prompt():
    fault = {3: "500", 5: "broken-json"}
    with FailingServer(spoken, fault.get) as server:
        rows = score(server.url, 5, kind=VotingEngine, samples=4, seed=8)
    assert sorted(row.row for row in rows) == list(range(5))
    for row in rows:
        assert row.captured == pytest.approx([0.5, 0, 0.25])
        assert row.details == {"samples": 4, "unmatched": 1}
        assert row.ceiling is None
    assert len(server.requests) == 22
    assert {body.pop("seed") for body in server.requests} == {8, 9, 10, 11}
    asked = {"model": "small", "temperature": 1.0, "max_tokens": 2048}
    assert all(asked == {k: body[k] for k in body if k != "messages"} for body in server.requests)


def test_rows_that_are_done_are_not_voted_on():
    with FailingServer(spoken) as server:
        voters = engine(server.url, kind=VotingEngine, samples=2)
        rows = list(voters.score(prompts(4), TASK, done=frozenset({0, 2})))
    assert sorted(row.row for row in rows) == [1, 3]
    assert len(server.requests) == 4


def test_a_failing_sample_is_named():
    with (
        FailingServer(lambda body: (400, {}, "{}")) as server,
        pytest.raises(BackendError, match="prompt 0, sample 0: "),
    ):
        score(server.url, kind=VotingEngine, concurrency=1)


def test_continuations_end_where_the_next_example_would_begin():
    def answer(body):
        return {"choices": [{"text": " bad", "finish_reason": "stop"}]}

    with FailingServer(answer) as server:
        (row,) = score(server.url, kind=VotingEngine, samples=1, endpoint="completions")
    assert row.captured.tolist() == [0, 0, 1]
    assert server.requests[0]["stop"] == ["\n\n"]


def test_the_voters_description_names_the_samples():
    description = engine("http://127.0.0.1:1/v1", kind=VotingEngine, samples=3).describe()
    assert description["samples"] == 3
    assert json.loads(json.dumps(description)) == description


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ""}, "model must be"),
        ({"samples": 0}, "samples"),
        ({"temperature": 0}, "temperature"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"seed": -1}, "seed"),
        ({"endpoint": "voice"}, "endpoint"),
    ],
)
def test_bad_voting_settings_are_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        VotingEngine(**{"model": "small"} | settings)
