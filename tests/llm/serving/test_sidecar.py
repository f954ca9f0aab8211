"""The sidecar before an upstream that answers as told: both are real servers on this machine."""

import gzip
import http.client
import json
import os
import re
import threading
from dataclasses import replace

import pytest

from cases import cases
from dnip import Coefficients, DNIPWarning, InvalidInputError, ProbabilityTable
from dnip.llm.decisions import correct, marked
from dnip.llm.serving import recording
from dnip.llm.serving.recording import Answered, Recorder, Said
from dnip.llm.sources import read_answers
from dnip.method.coefficients import Deferral
from processes import wait_for
from sidecars import FITTED, KEY, OPENAI, SYSTEM_ONE, Upstream, ask, message, numbers, reply


@cases(
    ("/v1/systemone", SYSTEM_ONE),
    ("/v1/decisions", OPENAI),
    ("/api/alpha/decisions", OPENAI),
    ("/v1/systemone/", SYSTEM_ONE),
)
def test_decisions_are_corrected(start, upstream, path, body):
    upstream.answer = reply(body, "200 OK", "X-Request-Id: 7", "Content-Type: application/json")
    status, content, headers = ask(start(), path, body=b'{"state": 1}')
    assert (status, json.loads(content)) == (200, correct(body, {"topic": FITTED})[0])
    assert (headers["X-Request-Id"], headers["Content-Type"]) == ("7", "application/json")
    [(line, sent, asked)] = upstream.requests
    assert (line, asked) == (f"POST {path} HTTP/1.1", b'{"state": 1}')
    assert sent["authorization"] == KEY


def test_everything_else_passes_unchanged(start, upstream):
    packed = gzip.compress(b"models")
    cookies = ("Set-Cookie: a=1", "Set-Cookie: b=2")
    upstream.answer = reply(packed, "200 OK", "Content-Encoding: gzip", *cookies)
    port = start()
    for _ in range(2):
        status, content, headers = ask(port, "/v1/a%2Fb?q=%20&x", "GET", None)
        assert (status, content, headers["Content-Encoding"]) == (200, packed, "gzip")
        assert headers.get_all("Set-Cookie") == ["a=1", "b=2"]
    line, sent, _ = upstream.requests[-1]
    assert line == "GET /v1/a%2Fb?q=%20&x HTTP/1.1"
    assert "cookie" not in sent
    assert sent["host"] == upstream.url.removeprefix("http://")


def test_errors_of_the_upstream_pass_with_their_status(start, upstream):
    upstream.answer = reply({"error": "overloaded"}, "503 Overloaded", "Retry-After: 3")
    status, content, headers = ask(start())
    assert (status, json.loads(content)) == (503, {"error": "overloaded"})
    assert headers["Retry-After"] == "3"


def test_a_redirect_is_not_followed(start, upstream):
    other = Upstream(reply(SYSTEM_ONE))
    upstream.answer = reply(b"", "307 Elsewhere", f"Location: {other.url}/v1/systemone?key=x")
    port = start()
    for path in ("/v1/systemone", "/v1/models"):
        status, told = message(ask(port, path))
        assert status == 502
        assert re.search(r"redirects to http://127\.0\.0\.1 .*not followed", told)
    other.close()
    assert not other.requests


@pytest.mark.parametrize("path", ["/v1/systemone", "/v1/chat/completions", "/v1/models"])
def test_cookies_and_other_headers_of_a_client_pass(start, upstream, path):
    upstream.answer = reply(SYSTEM_ONE)
    sent = {"Cookie": "session=1; other=2", "OpenAI-Organization": "o", "X-Twice": "a, b"}
    ask(start(), path, headers=sent)
    [(_, found, _)] = upstream.requests
    assert {name: found[name.lower()] for name in sent} == sent


YES_NO = {"type": "noul", "noul": 0.5}
PACKED = gzip.compress(json.dumps(SYSTEM_ONE).encode(), mtime=0)


def packed(content, way="gzip"):
    return reply(content, "200 OK", f"Content-Encoding: {way}")


def test_a_compressed_decision_is_corrected(start, upstream):
    upstream.answer = packed(PACKED)
    status, content, headers = ask(start(), headers={"Accept-Encoding": "gzip"})
    assert (status, json.loads(content)["answers"]["topic"]["choice"]) == (200, "a")
    assert "Content-Encoding" not in headers
    assert "accept-encoding" not in upstream.requests[0][1]


def test_an_error_that_cannot_be_unpacked_says_how_it_is_packed(start, upstream):
    upstream.answer = reply(b"packed", "500 Wrong", "Content-Encoding: x-gzip")
    status, content, headers = ask(start())
    assert (status, content, headers["Content-Encoding"]) == (500, b"packed", "x-gzip")


@cases(
    (reply(b"<html>It works</html>"), 502, "not JSON"),
    (reply(json.dumps(SYSTEM_ONE)[:-5].encode()), 502, "not JSON"),
    (reply(b"[" * 100_000), 502, "not JSON"),
    (reply(SYSTEM_ONE)[:-5], 502, "connection to the upstream was lost"),
    (b"", 502, "connection to the upstream was lost"),
    (b"nonsense\r\n\r\n", 502, "connection to the upstream was lost"),
    (reply({"choices": []}), 422, "cannot be corrected: .*'answers'"),
    (reply({"answers": {"topic": {"type": "choice"}}}), 422, "question 'topic'"),
    (reply({"answers": {"topic": YES_NO}}), 422, "options false, true, but .* fitted for a, b"),
    (reply(b'{"answers": {}, "answers": {"topic": {}}}'), 502, "a key twice"),
    (reply(b'{"answers": {}, "x": 1e400}'), 502, "a number that JSON cannot"),
    (reply(SYSTEM_ONE, "999 What"), 502, "the status 999"),
    (reply(SYSTEM_ONE, "000 What"), 502, "the status 0"),
    (reply(b" " * 2_000_000), 502, "longer than 1,000,000 bytes"),
    (packed(PACKED[:50]), 502, "not JSON"),
    (packed(PACKED[:-8] + b"\0" * 8), 502, "lost"),
    (packed(b"{}"), 502, "lost"),
    (packed(gzip.compress(b" " * 2_000_000, mtime=0)), 502, "longer than 1,000,000 bytes"),
    (packed(b"{}", "br"), 502, "lost"),
)
def test_an_answer_that_is_no_decision_is_an_error(start, upstream, answer, status, told):
    upstream.answer = iter([answer])
    found, text = message(ask(start(max_body=1_000_000)))
    assert found == status
    assert re.search(told, text)


def test_an_upstream_that_is_down_or_slow_is_an_error(start, upstream):
    silent = threading.Event()
    upstream.answer = (silent.wait() and b"" for _ in range(1))
    assert message(ask(start(timeout=1))) == (504, "the upstream does not answer within 1 s")
    silent.set()
    upstream.close()
    status, told = message(ask(start()))
    assert (status, "cannot be reached" in told) == (502, True)


def test_long_requests_are_refused(start, upstream):
    upstream.answer = reply(SYSTEM_ONE)
    port = start(max_body=1000)
    assert ask(port, body=b"{}" + b" " * 998)[0] == 200
    assert message(ask(port, body=b"{}" + b" " * 999)) == (413, "a request may have 1,000 bytes")
    assert ask(port, body=iter([b" " * 600] * 2))[0] == 413  # in chunks, of no known length

    assert len(upstream.requests) == 1


def test_streams_pass_as_they_come_and_break_off_as_they_do(start, upstream):
    go_on = threading.Event()

    def parts():
        yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata1\r\n"
        assert go_on.wait(200)
        yield b"5\r\ndata2\r\n"

    upstream.answer = parts()
    connection = http.client.HTTPConnection("127.0.0.1", start(), timeout=200)
    connection.request("POST", "/v1/chat/completions", b"{}")
    response = connection.getresponse()
    assert response.read(5) == b"data1"
    go_on.set()
    with pytest.raises(http.client.IncompleteRead):
        response.read()


def test_it_tells_that_it_runs_and_what_it_has_done(start, upstream):
    port = start()
    upstream.answer = reply(SYSTEM_ONE)
    ask(port)
    ask(port)
    upstream.answer = iter([reply(b"no")])
    ask(port)
    assert ask(port, "/healthz", "GET", None)[:2] == (200, b'{"status":"ok"}')
    status, _, headers = ask(port, "/metrics", "GET", None)
    assert (status, headers["Content-Type"].split(";")[0]) == (200, "text/plain")
    found = numbers(port)
    assert found['dnip_decisions_total{question="topic"}'] == 2
    assert found['dnip_changed_total{question="topic"}'] == 2
    assert found["dnip_uncorrected_total"] == 2
    assert found['dnip_failures_total{status="502"}'] == 1
    a = '{class="a",question="topic",stage="%s"}'
    assert found["dnip_probability_sum" + a % "before"] == pytest.approx(2 * 0.4)
    assert found["dnip_probability_sum" + a % "after"] == pytest.approx(2 * 0.8 / 1.4)
    assert found["dnip_probability_count" + a % "after"] == 2
    assert found["dnip_chosen_total" + a % "after"] == 2
    assert "dnip_chosen_total" + a % "before" not in found
    for name in ("request", "upstream"):
        counts = [n for key, n in found.items() if key.startswith(f"dnip_{name}_seconds_b")]
        assert counts == sorted(counts)
        assert counts[-1] == found[f"dnip_{name}_seconds_count"] == 3
    seconds = [found[f"dnip_{name}_seconds_sum"] for name in ("upstream", "request")]
    assert 0 < seconds[0] < seconds[1] < 10
    assert found['dnip_deferred_total{question="topic"}'] == 0


def test_decisions_that_are_deferred_say_so_and_are_counted(start, upstream, coefficients):
    replace(FITTED, defer=Deferral([0.58, 0.5], 0.3)).save(coefficients)
    port = start()
    for p, deferred in ((0.4, True), (0.41, False), (0.39, True)):  # a at .571, .582 and .561
        topic = {"type": "choice", "choice": "b", "probabilities": {"a": p, "b": 1 - p}}
        upstream.answer = reply({"answers": {"topic": topic}})
        found = json.loads(ask(port)[1])["answers"]["topic"]
        assert (found["choice"], found["deferred"]) == ("a", deferred)
    assert numbers(port)['dnip_deferred_total{question="topic"}'] == 2


def test_new_coefficients_are_used_from_the_next_answer_on(start, upstream, coefficients):
    upstream.answer = reply(SYSTEM_ONE)
    port = start()
    assert json.loads(ask(port)[1])["answers"]["topic"]["choice"] == "a"
    Coefficients(["a", "b"], [1, 2], 2).save(coefficients)
    assert json.loads(ask(port)[1])["answers"]["topic"]["choice"] == "b"


def test_what_is_no_new_file_leaves_the_coefficients_as_they_were(coefficients, caplog):
    from dnip.llm.serving.exchanges import WatchedCoefficients

    watched = WatchedCoefficients({"topic": coefficients})
    half = FITTED.to_json()[:40]
    spoilers = [
        lambda: coefficients.write_text(half),
        coefficients.unlink,
        lambda: Coefficients(["a", "c"], [1, 2], 2).save(coefficients),  # sound, of other classes
        lambda: (coefficients.unlink(), os.mkfifo(coefficients)),  # would be read for ever
    ]
    for number, spoil in enumerate(spoilers, 1):
        spoil()
        for _ in range(2):  # it is said once
            watched.refresh()
        assert watched.current["topic"].weights.tolist() == [1, 0.5]
        assert len(caplog.messages) == number
        assert "'topic' keeps the coefficients" in caplog.messages[-1]
    coefficients.unlink()
    Coefficients(["a", "b"], [1, 2], 2).save(coefficients)
    watched.refresh()
    assert watched.current["topic"].weights.tolist() == [0.5, 1]


@cases(
    ({"X-Request-Id": "mine 7"}, {"id": "dec-1"}, ["X-Request-Id: theirs"], "mine 7"),
    ({"X-Request-Id": "x" * 201}, {"id": "dec-1"}, ["X-Request-Id: theirs"], "dec-1"),
    ({"X-Request-Id": "\xe9"}, {"id": "a\nb"}, [], "[0-9a-f]{32}"),
    ({}, {"id": 7}, [], "[0-9a-f]{32}"),
)
def test_a_request_id_is_sent_back(start, upstream, tmp_path, sent, answer, headers, found):
    upstream.answer = reply({**SYSTEM_ONE, "model": "m\ud800", **answer}, "200 OK", *headers)
    port = start(recorder=Recorder(tmp_path / "r", ["topic"], texts=True))
    name = ask(port, body=b'{"state": {"x": [1]}}', headers=sent)[2].get_all("X-Request-Id")
    assert len(name) == 1
    assert re.fullmatch(found, name[0])
    [path] = wait_for(lambda: list((tmp_path / "r" / "topic").glob("*.jsonl")))
    row = json.loads(wait_for(path.read_text))
    assert row.pop("time")[:2] == "20"
    known = {"model": "m\\ud800", "input": '{"x": [1]}', "p_a": 0.4, "p_b": 0.6}
    known |= {"form": None, "question": None}
    assert row == {"id": name[0], **known}
    upstream.answer = reply(marked({**SYSTEM_ONE, "id": "other"}, {"topic": "202fe88dd43e4192"}))
    assert "X-Request-Id" not in ask(port)[2]  # it is corrected already, and not raw
    assert numbers(port)['dnip_recorded_total{question="topic"}'] == 1


def answer_of(body, fits):
    """A corrected answer as it is recorded."""
    changed, corrections = correct(body, fits)
    decisions = [correction.before for correction in corrections]
    said = [Said(decision, fits[decision.question].classes) for decision in decisions]
    return Answered(body, changed, said)


@cases(("1", "2"), ("id", "time"), ("model", "x"), ("0", "1"), ("5%r", "'\""))
def test_classes_of_odd_names_are_recorded(tmp_path, first, second):
    classes = first, second
    fitted = Coefficients(classes, [2, 1], 2)
    p = {classes[1]: 0.25, classes[0]: 0.75}
    body = {"answers": {"q": {"type": "choice", "choice": classes[0], "probabilities": p}}}
    answered = answer_of(body, {"q": fitted})
    with Recorder(tmp_path, ["q"]) as recorder:
        for name in ("r0", "r1"):
            recorder.add(name, answered, b"")
    for known in (None, classes):
        table = ProbabilityTable.read(tmp_path / "q", known)
        assert (table.classes, table.probabilities.tolist()) == (classes, [[0.75, 0.25]] * 2)
    (tmp_path / "labels.csv").write_text(f"id,label\nr1,{classes[1]}\n")
    table, _ = read_answers([tmp_path / "q"], None, gold=tmp_path / "labels.csv")
    assert (table.classes, table.labels.tolist()) == (classes, [-1, 1])
    assert table.probabilities.tolist() == [[0.75, 0.25]] * 2


def test_a_folder_keeps_its_size_and_a_queue_too(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(recording, "LEAST", 0)
    recorder = Recorder(tmp_path, ["topic"], size=1_000_000, texts=True)
    answered = answer_of(SYSTEM_ONE, {"topic": FITTED})

    def add(number, text=b"{}"):
        recorder.add(f"r{number}", answered, text)

    for number in range(12_000):
        add(number)
        if number % 40 == 39:
            recorder._write_waiting()
            assert sum(path.stat().st_size for path in (tmp_path / "topic").iterdir()) <= 1_000_000
    table = ProbabilityTable.read(tmp_path / "topic")
    assert 6000 < len(table) < 11_000
    assert table.ids.tolist() == [f"r{number}" for number in range(12_000 - len(table), 12_000)]
    [line] = caplog.messages
    assert "the oldest rows go" in line
    add("long", b'{"input": "%s"}' % (b"x" * 100_000))
    for number in range(12_000, 12_100):
        add(number)
    recorder._write_waiting()
    assert recorder.written["topic"] + recorder.lost["queue"] == 12_101
    assert 30 < recorder.lost["queue"] < 60
    assert ProbabilityTable.read(tmp_path / "topic").ids[-1] < "r12070"


@cases(
    (b"", b'{"id": "r', b""),
    (b'{"id": "r1"}\n', b'{"id": "r2", "a": 0.', b'{"id": "r1"}\n'),
    (b'{"id": "r1"}\n' * 9000, b"x" * 200_000, b'{"id": "r1"}\n' * 9000),
    (b'{"id": "r1"}\n', b"", b'{"id": "r1"}\n'),
)
def test_half_a_line_at_the_end_of_a_record_is_cut_off_at_the_start(
    tmp_path, caplog, whole, half, left
):
    path = tmp_path / "topic" / "record-00000000.jsonl"
    path.parent.mkdir()
    path.write_bytes(whole + half)
    recorder = Recorder(tmp_path, ["topic"])
    assert path.read_bytes() == left
    assert recorder.lost["half"] == bool(half)
    assert len(caplog.messages) == bool(half)
    assert all("half a line at the end of record-00000000.jsonl" in m for m in caplog.messages)


def test_a_restart_after_half_a_line_leaves_a_table_that_is_read(tmp_path):
    answered = answer_of(SYSTEM_ONE, {"topic": FITTED})
    for start in range(0, 6, 3):
        with Recorder(tmp_path, ["topic"]) as recorder:
            for number in range(start, start + 3):
                recorder.add(f"r{number}", answered, b"")
        [path] = (tmp_path / "topic").iterdir()
        path.write_bytes(path.read_bytes()[:-9])  # the power goes
    with pytest.warns(DNIPWarning, match="row 5, the last one, is cut off"):
        table = ProbabilityTable.read(tmp_path / "topic")
    assert table.ids.tolist() == ["r0", "r1", "r3", "r4"]


def test_records_of_an_older_version_are_imported_with_the_classes(tmp_path):
    answered = answer_of(SYSTEM_ONE, {"topic": FITTED})
    with Recorder(tmp_path, ["topic"]) as recorder:
        recorder.add("new", answered, b"")
    old = {"id": "old", "time": "2026-01-01", "model": "", "a": 0.7, "b": 0.3}
    (tmp_path / "topic" / "record-00000000.jsonl").write_text(json.dumps(old) + "\n")
    table, _ = read_answers([tmp_path / "topic"], ["a", "b"])
    assert (sorted(table.ids), table.probabilities.max()) == (["new", "old"], 0.7)
    with pytest.raises(InvalidInputError, match="differ from"):
        ProbabilityTable.read(tmp_path / "topic", ["a", "b"])
