"""``dnip serve``: what it refuses, and a process that is killed while it answers."""

import http.client
import json
import os
import signal
import socket
import threading

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients
from failing_server import FailingServer
from sidecars import decision, sidecar

for library in ("uvicorn", "starlette", "aiohttp"):
    pytest.importorskip(library)

FITTED = Coefficients(["a", "b"], [2, 1], 2)
KEY = "sk-SECRET-0123456789"
UP = ("serve", "--upstream", "http://127.0.0.1:9")


@cases(
    ((*UP, "--coefficients", "topic=half.json"), ["half.json", "not valid JSON"]),
    (("serve", "--upstream", "h", "--coefficients", "q=c.json"), ["upstream must begin with"]),
    ((*UP, "--coefficients", "q=c.json", "--timeout", "0"), ["timeout must be"]),
    ((*UP, "--coefficients", "q=c.json", "--max-body", "0"), ["max_body must be"]),
    ((*UP, "--coefficients", "q=c.json", "--grace", "-1"), ["grace must be"]),
    ((*UP, "--coefficients", "q=c.json", "--port", "70000"), ["cannot listen", "--port"]),
    ((*UP, "--coefficients", "q=c.json", "--host", "no.such.host.invalid"), ["cannot listen"]),
    (
        (*UP, "--coefficients", "q=c.json", "--record", "c.json"),
        ["c.json/q", "cannot make the folder"],
    ),
    ((*UP, "--coefficients", "../q=c.json", "--record", "r"), ["'../q'", "name of a folder"]),
    ((*UP, "--coefficients", "q=c.json", "--record", "r", "--record-size", "9MB"), ["10000000"]),
)
def test_bad_input_is_refused_before_it_listens(dnip, folder, options, told):
    FITTED.save("c.json")
    (folder / "half.json").write_text(FITTED.to_json()[:50])
    dnip(*options).assert_refused(*told)


def test_a_port_in_use_is_refused(dnip, folder):
    FITTED.save("c.json")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        dnip(*UP, "--coefficients", "q=c.json", "--port", port).assert_refused(f"port {port}")


def ask_until(stopped, port, answers):
    """Ask one after the other; note each whole answer, and nothing of one that breaks off."""
    number = 0
    while not stopped.is_set():
        number += 1
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            body = json.dumps({"state": number})
            connection.request("POST", "/v1/systemone", body, {"Authorization": f"Bearer {KEY}"})
            response = connection.getresponse()
            answers.append((number, response.status, response.read()))
        except (http.client.HTTPException, OSError):
            stopped.wait(0.01)
        finally:
            connection.close()


def test_told_to_stop_it_answers_what_is_under_way_or_says_that_it_cannot(folder):
    FITTED.save("c.json")
    waiting = threading.Event()

    def slowly(body):
        waiting.wait(body["state"])
        return decision(body)

    def ask(port, seconds, answers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/v1/systemone", json.dumps({"state": seconds}))
        response = connection.getresponse()
        answers[seconds] = response.status, json.loads(response.read())

    answers = {}
    with FailingServer(slowly) as upstream:
        with sidecar(upstream.url.removesuffix("/v1"), 0, "--grace", "2") as process:
            arguments = [(process.port, seconds, answers) for seconds in (1, 8)]
            askers = [threading.Thread(target=ask, args=each) for each in arguments]
            for asker in askers:
                asker.start()
            while upstream.under_way < 2:
                waiting.wait(0.01)
            process.terminate()
            for asker in askers:
                asker.join()
            process.wait()
        waiting.set()
    assert answers[1][0] == 200
    assert answers[8][0] == 503
    assert "was stopped" in answers[8][1]["error"]["message"]
    assert "Traceback" not in process.err
    assert "was stopped" in process.err


def test_an_address_that_others_reach_is_warned_of(folder):
    FITTED.save("c.json")
    with sidecar("http://127.0.0.1:9", 0, "--host", "0.0.0.0") as process:
        pass
    assert "warning: everybody who reaches this address" in process.err
    with sidecar("http://127.0.0.1:9") as process:
        pass
    assert "warning" not in process.err


def test_killed_and_begun_again_it_leaves_no_half_answer(folder):
    FITTED.save("c.json")
    stopped, answers = threading.Event(), []
    with FailingServer(decision) as upstream:
        url = upstream.url.removesuffix("/v1")
        with sidecar(url) as first:
            port = first.port
            askers = [
                threading.Thread(target=ask_until, args=(stopped, port, answers)) for _ in range(4)
            ]
            for asker in askers:
                asker.start()
            while len(answers) < 50:
                stopped.wait(0.01)
            os.kill(first.pid, signal.SIGKILL)
            first.wait()
        before = len(answers)
        with sidecar(url, port) as second:
            while len(answers) < before + 50:
                stopped.wait(0.01)
            stopped.set()
            for asker in askers:
                asker.join()
        authorizations = upstream.authorizations
    for number, status, content in answers:
        a = (number * 37 % 101 + 1) / 103
        found = json.loads(content)["answers"]["topic"]["probabilities"]
        np.testing.assert_allclose([found["a"], found["b"]], FITTED.apply([[a, 1 - a]])[0])
        assert status == 200
    assert authorizations == {f"Bearer {KEY}"}
    assert "SECRET" not in first.err + second.err
    assert "Traceback" not in first.err + second.err
