"""``dnip serve``: what it refuses, processes that are killed, and ``--record``."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, DNIPWarning, ProbabilityTable
from dnip.llm.decisions import correct
from dnip.method.coefficients import FitRecord
from failing_server import FailingServer
from processes import wait_for
from sidecars import FITTED, SYSTEM_ONE, Upstream, ask, decision, numbers, reply, sidecar

for library in ("uvicorn", "starlette", "aiohttp"):
    pytest.importorskip(library)

UP = ("serve", "--upstream", "http://127.0.0.1:9")


@cases(
    ("--coefficients topic=half.json", 1, "half.json: not valid JSON"),
    ("--upstream h --coefficients q=c.json", 1, "upstream must begin with"),
    ("--upstream http://a..b --coefficients q=c.json", 1, "name a host"),
    ("--coefficients \udcff=c.json", 1, "'\\udcff' is not valid Unicode"),
    ("--coefficients q=c.json --timeout 0", 1, "timeout must be"),
    ("--coefficients q=c.json --max-body 0", 1, "max_body must be"),
    ("--coefficients q=c.json --grace -1", 1, "grace must be"),
    ("--coefficients q=c.json --drain -1", 1, "drain must be"),
    ("--coefficients q=c.json --port 70000", 1, "cannot listen"),
    ("--coefficients q=c.json --record c.json", 1, "c.json: cannot make the folder"),
    ("--coefficients ../q=c.json --record r", 1, "name of a folder"),
    ("--chat x=x.json", 1, "x.json: there is no such file"),
    ("--chat gone.json", 1, "gone.json: there is no such file"),
    ("--chat ./c.json --chat c=c.json", 2, "--chat gives 'c' twice"),
    ("--coefficients topic=c.json --chat topic=c.json", 1, "'topic' is given twice"),
    ("--chat a", 2, "--chat a has no file. To collect answers, give --classes and --record"),
    ("--chat a --classes x,y", 2, "--chat a has no file"),
    ("--coefficients q=c.json --classes x,y", 2, "--classes is for a --chat NAME without a file"),
    ("--chat a --chat b --classes x,y --record r", 2, "cannot be distinguished"),
    ("--chat a --chat b=c.json --classes x,y --record r", 1, "cannot be distinguished"),
    ("--chat a --classes x --record r", 1, "at least 2 classes"),
)
def test_bad_input_is_refused_before_it_listens(dnip, folder, options, status, told):
    FITTED.save("c.json")
    (folder / "half.json").write_text(FITTED.to_json()[:50])
    run = dnip(*UP, *options.split())
    assert (run.status, run.out, told in run.err) == (status, "", True), run.err


def test_a_port_in_use_is_refused(dnip, folder):
    FITTED.save("c.json")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        dnip(*UP, "--coefficients", "q=c.json", "--port", port).assert_refused(f"port {port}")


@pytest.mark.parametrize("grace", [200, 1])
def test_told_to_stop_it_answers_what_is_under_way_or_says_that_it_cannot(folder, grace):
    FITTED.save("c.json")
    ready = threading.Event()

    def slowly(body):
        ready.wait()
        return decision(body)

    def is_deaf(port):
        with suppress(ConnectionError), socket.create_connection(("127.0.0.1", port)):
            return False
        return True

    with FailingServer(slowly) as upstream, ThreadPoolExecutor(1) as client:
        url = upstream.url.removesuffix("/v1")
        with sidecar(url, 0, "--grace", str(grace)) as process:
            asked = client.submit(ask, process.port, body=b'{"state": 1}')
            wait_for(lambda: upstream.under_way)
            process.terminate()
            wait_for(lambda: is_deaf(process.port))
            if grace > 1:
                time.sleep(0.5)  # in which a server that waits for nothing has given up
                ready.set()
            status, content, _ = asked.result()
            process.wait()
        ready.set()
    assert status == (200 if grace > 1 else 503)
    for text in (content.decode(), process.err):
        assert ("was stopped" in text) != (grace > 1)
    assert "Traceback" not in process.err


def test_told_to_stop_it_is_not_ready_for_a_while_and_answers(folder):
    FITTED.save("c.json")
    upstream = Upstream(reply(SYSTEM_ONE))
    with sidecar(upstream.url, 0, "--drain", "1") as process:
        assert ask(process.port, "/readyz", "GET", None)[0] == 200
        process.terminate()
        began = time.monotonic()
        wait_for(lambda: ask(process.port, "/readyz", "GET", None)[0] == 503)
        assert json.loads(ask(process.port)[1])["answers"]["topic"]["choice"] == "a"
        assert ask(process.port, "/healthz", "GET", None)[0] == 200
        assert process.wait() == 143
        assert time.monotonic() - began > 0.8
    with sidecar(upstream.url, 0, "--drain", "1000") as process:
        assert ask(process.port, "/readyz", "GET", None)[0] == 200
        process.terminate()
        wait_for(lambda: ask(process.port, "/readyz", "GET", None)[0] == 503)
        process.send_signal(signal.SIGINT)  # Ctrl-C does not wait
        process.wait()
    upstream.close()


def test_settings_may_come_from_the_environment_and_what_is_typed_wins(folder, monkeypatch):
    FITTED.save("c.json")
    upstream = Upstream(reply(SYSTEM_ONE))
    settings = {
        "UPSTREAM": "http://127.0.0.1:9", "COEFFICIENTS": "topic=c.json mood=c.json",
        "RECORD": "recorded", "RECORD_TEXTS": "1", "MAX_BODY": "1kB", "LOG": "json",
    }  # fmt: skip
    for name, value in settings.items():
        monkeypatch.setenv(f"DNIP_SERVE_{name}", value)
    command = [sys.executable, "-m", "dnip", "serve", "--port", "0", "--upstream", upstream.url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            events = [json.loads(process.stdout.readline()) for _ in range(3)]
            port = int(events[0]["message"].split()[0].rpartition(":")[2])
            assert ask(port, body=b'{"state": "x"}')[0] == 200
            assert ask(port, body=b" " * 1001)[0] == 413
        finally:
            process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
    upstream.close()
    assert [event["message"] for event in events[1:]] == [
        f"{name}: c.json corrects /v1/systemone and /v1/decisions" for name in ("topic", "mood")
    ]
    assert {event["level"] for event in events} == {"info"}
    assert rest == ""
    [path] = Path("recorded/topic").iterdir()
    assert json.loads(path.read_text())["input"] == "x"


# --- recording ---
RECORD = ("--record", "recorded")


@pytest.fixture
def upstream(folder):
    FITTED.save("c.json")
    with FailingServer(decision) as server:
        yield server.url.removesuffix("/v1")


def ask_for(port, numbers):
    for number in numbers:
        body = json.dumps({"state": number}).encode()
        status, _, headers = ask(port, body=body, headers={"X-Request-Id": f"r{number}"})
        assert (status, headers["X-Request-Id"]) == (200, f"r{number}")


def counts(port):
    found = {key: n for key, n in numbers(port).items() if "recorded_total{" in key}
    return {re.search('"(.+)"', key)[1]: int(n) for key, n in found.items()}


def assert_raw(table, numbers):
    """The table holds what the upstream answered to these requests."""
    assert table.ids.tolist() == [f"r{number}" for number in numbers]
    a = (np.array(numbers) * 37 % 101 + 1) / 103
    np.testing.assert_allclose(table.probabilities, np.c_[a, 1 - a], rtol=1e-12)


def test_a_killed_sidecar_leaves_a_table_for_every_command(dnip, folder, upstream):
    with sidecar(upstream, 0, *RECORD) as process:
        ask_for(process.port, range(200))
        wait_for(lambda: counts(process.port)["topic"] == 200)
        ask_for(process.port, range(200, 220))
        process.kill()
    [path] = Path("recorded/topic").iterdir()
    modes = [one.stat().st_mode & 0o777 for one in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]  # for their owner alone
    whole = path.read_bytes()
    n_rows = whole.count(b"\n")
    assert 200 <= n_rows <= 220
    assert_raw(ProbabilityTable.read("recorded/topic"), range(n_rows))  # it knows its classes
    path.write_bytes(whole[:-7])  # as if killed in the middle of a write
    with pytest.warns(DNIPWarning, match=rf"row {n_rows}, the last one, is cut off"):
        assert_raw(ProbabilityTable.read("recorded/topic", ["a", "b"]), range(n_rows - 1))

    labels = [f"r{number},{'ab'[number % 2]}\n" for number in (*range(0, 150), 7, 9_000, 9_001)]
    Path("labels.csv").write_text("id,label\n" + "".join(labels))
    run = dnip("import", "recorded/topic", "--labels", "labels.csv", "--out", "t.csv")
    assert run.status == 0
    assert "labels of ids that no answer has: 2\n" in run.err
    assert f"rows without a label: {n_rows - 151}\n" in run.err
    table = ProbabilityTable.read("t.csv")
    assert_raw(table, range(n_rows - 1))
    truth = [number % 2 if number < 150 else -1 for number in range(n_rows - 1)]
    assert table.labels.tolist() == truth

    robustly = ("--unlabelled", "recorded/topic", "--robust", "on", "--out", "d.json")
    assert dnip("fit", "t.csv", *robustly).status == 0
    assert dnip("check", "recorded/topic", "--coefficients", "d.json").status == 0
    assert dnip("apply", "recorded/topic", "--coefficients", "d.json", "--out", "o.csv").status == 0
    fitted, applied = Coefficients.load("d.json"), Path("o.csv").read_text().splitlines()
    a = (np.arange(n_rows - 1) * 37 % 101 + 1) / 103
    assert [line.split(",")[1] for line in applied[1:]] == list(fitted.predict(np.c_[a, 1 - a]))


def test_killed_and_begun_again_it_serves_clients_that_try_again(folder, upstream):
    tries = Counter()

    def get(number):
        def answer():
            tries[f"r{number}"] += 1
            body, name = json.dumps({"state": number}), {"X-Request-Id": f"r{number}"}
            with suppress(OSError, http.client.HTTPException):
                return ask(port, body=body, headers=name)

        time.sleep(0.01)  # so that they do not end before it is killed
        return wait_for(answer)

    with ThreadPoolExecutor(4) as clients:
        with sidecar(upstream, 0, *RECORD) as first:
            port = first.port
            asked = [clients.submit(get, number) for number in range(400)]
            wait_for(lambda: list(Path("recorded/topic").iterdir()))
            first.kill()
        with sidecar(upstream, port, *RECORD):
            answers = [each.result() for each in asked]
    for number, (status, content, _) in enumerate(answers):
        expected, _ = correct(decision({"state": number}), {"topic": FITTED})
        assert (status, json.loads(content)) == (200, expected)
    assert max(tries.values()) > 1
    [path] = Path("recorded/topic").iterdir()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows:
        a = decision({"state": int(row["id"][1:])})["answers"]["topic"]["probabilities"]["a"]
        assert (row["p_a"], row["p_b"]) == (a, 1 - a)
    found = Counter(row["id"] for row in rows)
    assert all(n <= min(tries[name], 2) for name, n in found.items())


def test_two_sidecars_share_a_folder_and_a_request_sent_twice_is_one_row(folder, upstream):
    with sidecar(upstream, 0, *RECORD) as one, sidecar(upstream, 0, *RECORD) as other:
        ask_for(one.port, range(20))
        wait_for(lambda: counts(one.port)["topic"] == 20)
        Path("recorded").rename("moved")  # and both begin anew
        ask_for(one.port, range(20, 40))
        ask_for(other.port, range(30, 70))
    assert_raw(ProbabilityTable.read("moved/topic"), range(20))
    with pytest.warns(DNIPWarning, match="10 rows left out, with the id of an earlier row"):
        table = ProbabilityTable.read("recorded/topic")
    assert sorted(table.ids) == sorted(f"r{number}" for number in range(20, 70))


def test_what_a_full_disk_does_not_take_is_counted(folder, upstream, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    limit = ("sh", "-c", 'ulimit -f 16; exec "$@"', "sh")  # files of 8 or 16 KiB
    with sidecar(upstream, 0, *RECORD, before=limit) as process:
        ask_for(process.port, range(300))
        wait_for(lambda: sum(counts(process.port).values()) == 300)
        found = counts(process.port)
    assert min(found["topic"], found["disk"]) > 0
    assert_raw(ProbabilityTable.read("recorded/topic"), range(found["topic"]))
    [_, line, _] = process.err.splitlines()  # the last one says that it was told to stop
    assert "what cannot be recorded is left out and counted: File too large" in line


def test_the_log_may_be_lines_of_json(folder):
    record = FitRecord(evidence={"verdict": "no signal"})
    replace(FITTED, fit=record).save("c.json")
    upstream = Upstream(reply(b"no"))
    with sidecar(upstream.url, 0, "--log", "json", "--host", "0.0.0.0") as process:
        ask(process.port)
        upstream.answer = reply(SYSTEM_ONE)
        ask(process.port, body=b'{"questions": {"topic": {"type": "noul"}}}')
        Path("c.json").write_text("{")
        ask(process.port)
    upstream.close()
    events = [json.loads(line) for line in process.err.splitlines()]
    levels = ["warning", "warning", "info", "warning", "warning", "warning", "info"]
    assert [event["level"] for event in events] == levels
    assert [event.get("status") for event in events] == [None, None, None, 502, 422, None, None]
    told = ["everybody who", "the fit found no signal", "do not say which question", "is not JSON"]
    told += ["question 'topic' has", "keeps the", "terminated"]
    for event, text in zip(events, told, strict=True):
        assert text in event["message"]
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT[\d:.]{12}\+00:00", event["time"])


def test_the_container_files_set_what_there_is():
    files = Path(__file__).resolve().parents[2] / "examples" / "container"
    text = (files / "Containerfile").read_text() + (files / "compose.yaml").read_text()
    from dnip.cli.commands.serve import serve

    known = {f"DNIP_SERVE_{param.name.upper()}" for param in serve.params}
    named = set(re.findall(r"DNIP_SERVE_\w+", text))
    assert len(named) >= 7
    assert named <= known
