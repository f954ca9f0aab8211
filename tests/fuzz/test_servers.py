"""Servers that answer with anything but what was asked for."""

import gzip
import json
import time

import pytest
from hypothesis import given, strategies as st

from failing_server import FAULTS, FailingServer
from fakes import happy
from fuzzing import fuzzed, run, workshop
from mutations import TEXTS, damaged, damaged_json
from test_extreme_options import ROWS
from test_prompt import TASK

JOB = ["test.csv", "--task", "mood.toml", "--served-model", "m", "--timeout", "1"]
LINES = [
    ["prompt", *JOB, "--out", "o.csv"],
    ["prompt", *JOB, "--out", "o.csv", "--endpoint", "chat"],
    ["prompt", *JOB, "--out", "o.csv", "--votes", "2"],
    ["prompt", *JOB, "--check"],
]
SOUND = st.sampled_from([happy({}), happy({"messages": []})])
PACKED = {"Content-Encoding": "gzip"}
BODIES = [
    "<html><body>502 Bad Gateway</body></html>", "", "null", "[]", "3", "[" * 5000, "9" * 5000,
    '{"choices": []}', '{"error": {"message": "\\u001b[2J"}}', "NaN", "\ufeff{}", "x" * 10**6,
]  # fmt: skip
HEADERS = [
    {}, PACKED, {"Content-Encoding": "deflate"}, {"Content-Encoding": "unknown"},
    {"Retry-After": "0"}, {"Retry-After": "-1"}, {"Retry-After": "soon"}, {"Retry-After": "1e400"},
    {"Location": "/v1/completions"}, {"Location": "http://\x7f/"}, {"Content-Type": "x; charset=y"},
    {"Content-Length": "99999999999"}, {"Content-Length": "3"}, {"Transfer-Encoding": "chunked"},
]  # fmt: skip
STATUS = [200, 200, 200, 201, 204, 301, 302, 307, 400, 401, 403, 404, 408, 413, 429, 500, 503, 599]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.0)
    monkeypatch.setattr("dnip.llm.prompting.engines.servers._PATIENCE", 0.0)


def ask(line, answer, fault=lambda _: None):
    files = {"mood.toml": TASK, "train.csv": ROWS, "test.csv": ROWS}
    with workshop(files), FailingServer(answer, fault, hang=0.5) as server:
        run(*line, "--model", server.url, outputs=("o.csv.",))


lines = st.sampled_from(LINES)


changed_values = SOUND.flatmap(damaged_json).map(json.dumps)
changed_bytes = SOUND.map(lambda content: json.dumps(content).encode()).flatmap(damaged)


@fuzzed(9)
@given(lines, changed_values | changed_bytes)
def test_changed_answers(line, answer):
    ask(line, lambda _: (200, {}, answer))


@fuzzed(8)
@given(
    lines,
    st.sampled_from(STATUS),
    st.sampled_from(HEADERS),
    st.sampled_from(BODIES) | st.sampled_from(TEXTS) | SOUND.map(json.dumps),
)
def test_any_status_headers_and_body(line, status, headers, body):
    ask(line, lambda _: (status, headers, body))


@fuzzed(2)
@given(lines, st.lists(st.sampled_from([*FAULTS, None]), min_size=1, max_size=6))
def test_faults_in_any_order(line, faults):
    ask(line, happy, lambda number: faults[number % len(faults)])


@fuzzed(1)
@given(lines, st.sampled_from([b"0", b"[", b'{"a":']), st.sampled_from([10**7, 10**8]))
def test_little_that_becomes_much(line, content, size):
    packed = gzip.compress(content * (size // len(content)), 1)
    ask(line, lambda _: (200, PACKED, packed))


@fuzzed(1)
@given(lines)
def test_slow_answers(line):
    def slow(body):
        time.sleep(0.3)
        return happy(body)

    ask([*line, "--timeout", "0.1"], slow)
