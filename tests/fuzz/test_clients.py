"""Clients of the sidecar that are slow, leave, or lie about lengths, beside an honest one."""

import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

pytest.importorskip("uvicorn")

from fuzzing import PATIENCE, fuzzed
from sidecars import FITTED, SYSTEM_ONE, Upstream, ask, reply, serving

ASKED = b'{"questions": {"topic": {"type": "choice", "criteria": {"a": 1, "b": 2}}}}'
TARGETS = [b"POST /v1/systemone", b"POST /v1/chat/completions", b"PUT /%ff", b"GET /x", b"HEAD /x"]
CHUNKED = b"Transfer-Encoding: chunked"
#: What a head says of the length of the body: the truth for one below at most.
LENGTHS = [
    *(b"Content-Length: %d" % n for n in (len(ASKED), 0, 3, len(ASKED) + 40, 10**8, 10**30, -1)),
    *(b"Content-Length: " + value for value in (b"", b"0x10", b"+5", b"5, 7", b"\xff", b"1e3")),
    *(b"Content-Length: 5\r\n" + more for more in (b"Content-Length: 7", CHUNKED)),
    *(b"X: y", CHUNKED, b"Transfer-Encoding: gzip, chunked", CHUNKED + b"\r\n" + CHUNKED),
    b"Expect: 100-continue\r\nContent-Length: 400",
]
BODIES = [
    *(b"", ASKED, ASKED * 2, b"%x\r\n%s\r\n0\r\n\r\n" % (len(ASKED), ASKED), b"0\r\n\r\n"),
    *(size + b"\r\n{}\r\n0\r\n\r\n" for size in (b"1", b"3", b"-1", b"z", b"", b"f" * 40, b"2;a")),
    *(b"2\r\n{}\r\n", b"\0" * 300, b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n" * 50),
]
ENDS = ["leave", "reset", "send no more", "wait"]
clients = st.tuples(
    st.builds(b"%b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%b\r\n\r\n%b".__mod__,
              st.tuples(*map(st.sampled_from, (TARGETS, LENGTHS, BODIES)))),
    *map(st.sampled_from, ([1, 1, 0.9, 0.5, 0.1, 0], [1, 2, 5], [0, 0, 0.01, 0.3], ENDS)),
)  # fmt: skip


def behave(address, request, part, pieces, pause, end):
    """Send part of a request in pieces, each with a pause after it; return the answer."""
    sent, answer = request[: int(len(request) * part)], b""
    step = len(sent) // pieces + 1
    with socket.create_connection(address, PATIENCE) as client, suppress(ConnectionError):
        for start in range(0, len(sent), step):
            client.sendall(sent[start : start + step])
            time.sleep(pause)
        if end == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif end == "send no more":
            with suppress(OSError):  # not connected any more
                client.shutdown(socket.SHUT_WR)
        stays = end == "send no more" or (end == "wait" and b"\r\n\r\n" in sent)
        while stays and (more := client.recv(65536)):
            answer += more
    return answer


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory):
    """The server, and its port."""
    coefficients = tmp_path_factory.mktemp("sidecar") / "topic.json"
    FITTED.save(coefficients)
    quick = {"grace": 1, "timeout": 2, "heads": 2}
    with serving(Upstream(reply(SYSTEM_ONE)).url, coefficients, **quick) as both:
        yield both


@fuzzed(4)
@given(st.lists(clients, min_size=1, max_size=6))
def test_an_honest_client_is_answered_among_all_others(sidecar, caplog, several):
    (server, port), until = sidecar, time.monotonic() + PATIENCE
    caplog.clear()
    with ThreadPoolExecutor(len(several)) as pool:
        others = [pool.submit(behave, ("127.0.0.1", port), *one) for one in several]
        honest = [ask(port, body=ASKED)]
        while not all(one.done() for one in others):
            honest.append(ask(port, body=ASKED))
    while server.server_state.connections and time.monotonic() < until:
        time.sleep(0.01)
    wrong = [one for one in honest if one[0] != 200 or b'"choice":"a"' not in one[1]]
    broken = [one.result() for one in others if one.result().startswith(b"HTTP/1.1 500")]
    tracebacks = [record.getMessage() for record in caplog.records if record.exc_info]
    assert (wrong, broken, tracebacks, server.server_state.connections) == ([], [], [], set())
    assert len(caplog.records) <= len(several), caplog.messages
