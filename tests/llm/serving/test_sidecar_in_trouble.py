"""The sidecar among clients that are slow or leave, and before an upstream that fails."""

import errno
import gzip
import json
import logging
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from cases import cases
from processes import wait_for
from sidecars import OPENAI, SYSTEM_ONE, ask, message, numbers, reply, serving

aiohttp = pytest.importorskip("aiohttp")

HEAD = b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture(autouse=True)
def _warnings(caplog):
    caplog.set_level(logging.WARNING)


def fits(*options):
    return {"type": "choice", "criteria": dict.fromkeys(options)}


# --- questions that do not fit ---
@cases(
    ({"topic": fits("a", "c")}, False),
    ({"topic": fits("a")}, False),
    ({"topic": {"type": "noul"}}, False),
    ({"topic": {"type": "score", "criteria": ["low", "mid", "high"]}}, False),
    ([{"type": "choice", "name": "topic", "choices": [{"value": "a"}, {"value": "z"}]}], False),
    ([{"type": "score", "name": "topic", "levels": [{"label": "x"}, {"label": "y"}]}], False),
    ({"topic": fits("b", "a"), "tone": {"type": "noul"}}, True),
    ([{"type": "choice", "name": "topic", "choices": [{"value": "b"}, {"value": "a"}]}], True),
    ({"topic": {"type": "score", "criteria": ["a", "b"]}}, True),
    ({"topic": {"type": "new", "criteria": 7}, "other": fits("x")}, True),
    ("nonsense", True),
)
def test_options_are_checked_before_a_request_is_sent_on(start, upstream, questions, sent_on):
    upstream.answer = reply(SYSTEM_ONE)
    body = json.dumps({"state": "x", "questions": questions}).encode()
    port = start()
    status, content, _ = ask(port, body=body)
    assert (status, len(upstream.requests)) == ((200, 1) if sent_on else (422, 0))
    if not sent_on:
        assert "the coefficients were fitted for a, b" in json.loads(content)["error"]["message"]
        assert numbers(port)['dnip_missed_total{question="topic",reason="options"}'] == 1


def test_a_refused_question_is_not_asked_again_and_leaves_one_line(start, upstream, caplog):
    openai = pytest.importorskip("openai")
    upstream.answer = reply(OPENAI)
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{start()}/v1", api_key="k", max_retries=3)
    question = {"type": "choice", "name": "topic", "choices": [{"value": "a"}, {"value": "c"}]}
    asked = [{**question, "instructions": "Which?"}]
    with pytest.raises(openai.UnprocessableEntityError, match="options a, c"):
        client.decisions.create(model="m", input="x", questions=asked)
    assert upstream.requests == []
    [line] = caplog.messages
    assert "question 'topic' has the options a, c" in line


def test_a_question_that_does_not_fit_passes_where_the_operator_says_so(start, upstream, caplog):
    other = {"type": "choice", "choice": "x", "probabilities": {"x": 0.6, "y": 0.4}}
    upstream.answer = reply({"answers": {**SYSTEM_ONE["answers"], "topic": other}})
    port = start(on_mismatch="pass")
    for body in (b'{"questions": {"topic": {"type": "noul"}}}', b"{}"):
        status, content, headers = ask(port, body=body)
        assert (status, json.loads(content)["answers"]["topic"]) == (200, other)
        assert "DNIP-Corrected-By" not in headers
    assert numbers(port)['dnip_missed_total{question="topic",reason="options"}'] == 2
    [line] = caplog.messages
    assert "question 'topic' has the options" in line


def test_a_confidence_of_no_known_definition_is_told_once(start, upstream, caplog):
    answer = {**SYSTEM_ONE["answers"]["topic"], "confidence": 0.77}
    upstream.answer = reply({"answers": {"topic": answer}})
    port = start()
    assert [ask(port)[0] for _ in range(3)] == [200] * 3
    assert numbers(port)['dnip_missed_total{question="topic",reason="confidence"}'] == 3
    [line] = caplog.messages
    assert "question 'topic': no known definition" in line


# --- bodies that cannot be read ---
UNREADABLE = [
    (b"", "json", "it is not JSON: "),
    (b"{", "json", "it is not JSON: "),
    (b"[7]", "json", "it is not a JSON object"),
    (b'{"state": "\xff"}{', "encoding", "it is not UTF-8"),
    (gzip.compress(b"{}", mtime=0), "encoding", "it is not UTF-8"),
    (b'{"questions": {}, "questions": {"topic": {}}}', "twice", "a key is there twice"),
    (b'{"questions": {"topic": {"type": "choice", "criteria": {"a": 1, "a": 2}}}}', "twice", ""),
    (b'{"state": ' + b"9" * 5000 + b"}", "number", "it holds a number that JSON cannot"),
    (b'{"state": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested", "nested too deep"),
]


@pytest.mark.parametrize("path", ["/v1/systemone", "/v1/chat/completions"])
@cases(*UNREADABLE)
def test_a_body_that_cannot_be_read_is_counted_and_told_once_or_refused(
    start, upstream, coefficients, caplog, path, body, reason, told
):
    upstream.answer = reply(SYSTEM_ONE)
    name = "mood" if "chat" in path else "topic"
    chats = {"mood": coefficients} if "chat" in path else None
    counted = f'dnip_missed_total{{question="{name}",reason="{reason}"}}'
    port = start(chats=chats, on_mismatch="pass")
    for _ in range(3):
        status, content, found = ask(port, path, body=body, headers={"Content-Encoding": "gzip"})
        assert (status, json.loads(content)) == (200, SYSTEM_ONE)
        assert "DNIP-Corrected-By" not in found
    assert [sent for *_, sent in upstream.requests] == [body] * 3
    assert upstream.requests[0][1]["content-encoding"] == "gzip"
    assert numbers(port)[counted] == 3
    [line] = caplog.messages
    assert "cannot be read: " in line
    assert told in line
    port = start(chats=chats, on_mismatch="refuse")
    status, refused = message(ask(port, path, body=body))
    assert (status, len(upstream.requests)) == (422, 3)
    assert "the request cannot be read: " in refused
    assert told in refused
    assert numbers(port)[counted] == 1


def test_a_chat_with_a_number_that_json_cannot_hold_passes_as_it_is(start, upstream, coefficients):
    upstream.answer = reply(SYSTEM_ONE)
    body = b'{"messages": [], "temperature": 1e999}'
    port = start(chats={"mood": coefficients})
    assert ask(port, "/v1/chat/completions", body=body)[0] == 200
    assert upstream.requests[0][2] == body
    assert numbers(port)['dnip_missed_total{question="mood",reason="number"}'] == 1


def test_a_body_that_nothing_is_to_be_read_of_passes(start, upstream):
    upstream.answer = reply(SYSTEM_ONE)
    port = start(on_mismatch="refuse")  # which has no coefficients for chats
    assert ask(port, "/v1/chat/completions", body=b"{")[0] == 200
    assert numbers(port)['dnip_missed_total{question="chat",reason="coefficients"}'] == 1


# --- clients ---
def is_closed(client, seconds=200):
    """Whether the other side closes a connection; what it answers before does not matter."""
    client.settimeout(seconds)
    try:
        while client.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def is_given_up(client):
    """Whether the system of the other side keeps a connection no more, which it does not tell."""
    ends = (line.split()[2] for line in Path("/proc/net/tcp").read_text().splitlines())
    return all(not end.endswith(f":{client.getsockname()[1]:04X}") for end in ends)


@cases(HEAD + b"{", HEAD.replace(b"Content-Length: 100", b"Transfer-Encoding: chunked") + b"5\r\n{")
def test_slow_clients_are_closed_at_their_deadline(start, upstream, caplog, sent):
    upstream.answer = reply(SYSTEM_ONE)
    port = start(timeout=2)
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    for client in clients:
        client.sendall(sent)
    assert ask(port)[0] == 200
    assert all(map(is_closed, clients))
    [line] = caplog.messages
    assert "took more than 2 s to send" in line
    assert numbers(port)['dnip_failures_total{status="408"}'] == 20
    for client in clients:
        client.close()


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="the system cannot do it")
@pytest.mark.parametrize("path", ["/v1/large", "/v1/systemone"])
def test_a_client_that_does_not_read_is_closed(start, upstream, path):
    upstream.answer = reply({**SYSTEM_ONE, "more": "x" * 15_000_000})
    with socket.create_connection(("127.0.0.1", start(heads=0.5))) as client:
        client.sendall(
            b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}" % path.encode()
        )
        wait_for(lambda: is_given_up(client))
        assert is_closed(client)


def test_failures_that_are_repeated_are_a_line_and_a_number(
    upstream, coefficients, caplog, monkeypatch
):
    upstream.answer = reply(SYSTEM_ONE)
    with serving(upstream.url, coefficients) as (_, port):
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port)) as client:
                client.sendall(HEAD + b"{")
        wait_for(lambda: numbers(port).get('dnip_failures_total{status="499"}') == 20)
        ask(port, "/v1/..")
        monkeypatch.setattr("dnip.llm.serving.reports._SECONDS", 0.0)
        ask(port, "/v1/..")
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(HEAD + b"{")
        wait_for(lambda: len(caplog.messages) == 4)
    left, dots = "POST '/v1/systemone': the client left", "POST '/v1/..': the path of a request"
    told = [left, dots, dots, f"{left} (19 more since the last such line)"]
    for line, text in zip(caplog.messages, told, strict=True):
        assert line.startswith(text)
    assert not any(record.exc_info for record in caplog.records)


# --- half a header ---
HALF = b"POST /v1/systemone HTTP/1.1\r\nHost:"


@cases(b"", HALF, HEAD.replace(b"100", b"2") + b"{}" + HALF)
def test_a_head_that_does_not_come_is_waited_for_so_long(start, upstream, caplog, sent):
    upstream.answer = reply(SYSTEM_ONE)
    with socket.create_connection(("127.0.0.1", start(heads=0.5))) as client:
        client.sendall(sent)
        assert is_closed(client)
    assert caplog.messages == ["a client took more than 0.5 s to send a request"]


HEADER = b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nX: "
MANY = b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 30_000


@cases(
    HEADER + b"x" * 70_000,
    HEADER + b"x" * 300_000 + b"\r\n\r\n",
    MANY,
    b"POST /" + b"x" * 70_000,
    b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}" + MANY,
)
def test_a_head_that_is_too_long_is_refused(start, upstream, caplog, sent):
    upstream.answer = reply(SYSTEM_ONE)
    port = start()
    with socket.create_connection(("127.0.0.1", port)) as client:
        with suppress(ConnectionError):
            client.sendall(sent)
        client.settimeout(200)
        answer = b""
        with suppress(ConnectionError):
            while more := client.recv(65536):
                answer += more
    assert numbers(port)['dnip_failures_total{status="431"}'] == 1
    assert not answer or b"HTTP/1.1 431 " in answer
    assert "the head of a request has more than 65,536 bytes" in caplog.messages


def test_a_head_of_sixty_thousand_bytes_and_long_bodies_in_any_pieces_pass(start, upstream):
    upstream.answer = reply(SYSTEM_ONE)
    port = start()
    long = json.dumps({"state": "x" * 3_000_000}).encode()
    assert ask(port, body=long, headers={"X": "x" * 60_000})[0] == 200
    assert ask(port, body=iter([long[:7], long[7:100_000], long[100_000:]]))[0] == 200
    assert len(upstream.requests) == 2
    assert upstream.requests[0][2] == upstream.requests[1][2] == long


def test_clients_with_an_endless_header_or_trailer_slow_nobody_down(start, upstream):
    upstream.answer = reply(SYSTEM_ONE)
    port = start()
    chunked = HEAD.replace(b"Content-Length: 100", b"Transfer-Encoding: chunked")

    def endless(begin):
        with suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(begin)
            for _ in range(2_000):
                client.sendall(b"x" * 65_536)

    begins = [HEADER, HEADER, chunked + b"2\r\n{}\r\n0\r\nX: ", chunked + b"2;x="]
    with ThreadPoolExecutor(4) as pool:
        attacks = [pool.submit(endless, begin) for begin in begins]
        seconds = []
        while not all(attack.done() for attack in attacks):
            began = time.monotonic()
            assert ask(port)[0] == 200
            seconds.append(time.monotonic() - began)
    assert max(seconds, default=0) < 5
    assert numbers(port)['dnip_failures_total{status="431"}'] == 4


def test_clients_with_half_a_header_silence_nobody(start, upstream, caplog):
    upstream.answer = reply(SYSTEM_ONE)
    port = start(most=20)
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
    for client in clients:
        client.sendall(HALF)
    for _ in range(3):
        assert ask(port, "/healthz", "GET", None)[0] == 200
        assert ask(port)[0] == 200
    assert all(map(is_closed, clients[:40]))
    assert not is_closed(clients[-1], 0.1)
    [line] = caplog.messages
    assert line.startswith("20 connections are open, as many as there are sockets for")
    for client in clients:
        client.close()


def test_an_upstream_for_which_no_socket_is_left_is_told():
    from dnip.llm.serving.upstream import FailedError, _failures

    none_left = aiohttp.ClientConnectorError(None, OSError(errno.EMFILE, "too many"))
    with pytest.raises(FailedError, match="no sockets left"), _failures(1):
        raise none_left


# --- paths ---
@cases("/v1/../admin", "/v1/%2e%2E/admin", "/v1/./systemone", "/v1/..%5cadmin", "/v1/x%2F..")
def test_paths_with_dots_are_refused(start, upstream, path):
    status, told = message(ask(start(), path))
    assert (status, told) == (400, "the path of a request must not hold . or ..")
    assert not upstream.requests


def test_the_first_answer_of_another_path_that_passes_is_told_and_all_are_counted(
    start, upstream, caplog
):
    upstream.answer = reply(SYSTEM_ONE)
    port = start()
    for path in ("/v1/responses", "/v1/responses", "/v1/systemone2", "/v1/chat/completions"):
        assert json.loads(ask(port, path)[1]) == SYSTEM_ONE
    upstream.answer = reply(b"data: 1\n\n", "200 OK", "Content-Type: text/event-stream")
    assert ask(port)[1] == b"data: 1\n\n"
    upstream.answer = reply({"answers": {"tone": SYSTEM_ONE["answers"]["tone"]}})
    assert ask(port)[0] == 200
    ask(port, "/v1/models", "GET", None)
    assert [line.partition(": ")[::2] for line in caplog.messages] == [
        ("POST '/v1/responses' passed on as it is",
         "only /systemone, /decisions, /chat/completions are corrected"),
        ("a chat passed on as it is", "no coefficients are for chats. Give --chat NAME=FILE"),
        ("an answer passed on as it is", "a stream of events is not corrected"),
        ("an answer passed on as it is", "no coefficients are for tone"),
    ]  # fmt: skip
    assert numbers(port)["dnip_uncorrected_total"] == 6


# --- the upstream ---
def test_what_was_never_sent_is_sent_again_once(start, upstream, monkeypatch):
    upstream.answer = reply(SYSTEM_ONE)
    port, real, failures = start(), aiohttp.ClientSession._request, []

    async def closed_once(*arguments, **settings):
        if len(failures) < 3:
            failures.append(1)
            raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")
        return await real(*arguments, **settings)

    monkeypatch.setattr(aiohttp.ClientSession, "_request", closed_once)
    assert [ask(port)[0], len(failures), len(upstream.requests)] == [502, 2, 0]
    assert [ask(port)[0], len(failures), len(upstream.requests)] == [200, 3, 1]


def test_readyz_tells_whether_the_upstream_takes_connections(start, upstream):
    port = start()
    assert ask(port, "/readyz", "GET", None)[0] == 200
    upstream.close()
    status, told = message(ask(port, "/readyz", "GET", None))
    assert (status, "cannot be reached" in told) == (503, True)
    assert ask(port, "/healthz", "GET", None)[0] == 200


def test_an_answer_without_a_body_may_tell_its_length(start, upstream, caplog):
    upstream.answer = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 12\r\nETag: a\r\n\r\n"
    status, content, headers = ask(start(), "/v1/models", "GET", None)
    assert (status, content, headers["ETag"]) == (304, b"", "a")
    assert not caplog.messages
