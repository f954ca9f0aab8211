"""The question of a request: another one, another model, the order of its options, odd requests."""

import json
import logging

import pytest

from cases import cases
from dnip import Coefficients, DNIPWarning
from dnip.base.errors import listed
from dnip.llm.decisions import asked_question, correct
from dnip.tables.origin import QUESTION
from sidecars import FITTED, SYSTEM_ONE, ask, numbers, reply

TOPIC = {"type": "choice", "instructions": "Which?", "criteria": {"a": "A.", "b": None}}
TURNED = {**TOPIC, "criteria": {"b": None, "a": "A."}}
LISTED = {"type": "choice", "name": "topic", "choices": [{"value": "b", "x": 1}, {"value": "a"}]}
ANSWER = {**SYSTEM_ONE, "model": "m"}


def fitted_on(content, model="m"):
    """Coefficients with the fingerprint of a question."""
    fit = {"data": {"origin": {QUESTION: asked_question(model, content).to_dict()}}}
    return Coefficients(["a", "b"], [2, 1], 2, fit=fit)


def put(port, topic, **more):
    body = {"questions": {"topic": topic}, **more}
    status, content, headers = ask(port, body=json.dumps(body).encode())
    return status, json.loads(content), headers


def test_the_order_of_options_is_that_of_the_classes_and_the_answer_has_that_of_the_request(
    start, upstream
):
    upstream.answer = reply(SYSTEM_ONE)
    port = start()
    _, body, _ = put(port, TURNED, state="x")
    sent = json.loads(upstream.requests[-1][2])
    assert [*sent["questions"]["topic"]["criteria"].items()] == [("a", "A."), ("b", None)]
    assert sent["state"] == "x"
    answer = body["answers"]["topic"]
    assert (answer["choice"], [*answer["probabilities"]]) == ("a", ["b", "a"])
    straight = put(port, TOPIC)[1]["answers"]["topic"]
    assert [*straight["probabilities"]] == ["a", "b"]
    assert straight == answer  # but for the order
    both = [{"value": "a", "probability": 0.4}, {"value": "b", "probability": 0.6}]
    upstream.answer = reply(
        {"answers": [{"name": "topic", "type": "choice", "choice": "b", "probabilities": both}]}
    )
    _, content, _ = ask(port, "/v1/decisions", body=json.dumps({"questions": [LISTED]}).encode())
    [sent] = json.loads(upstream.requests[-1][2])["questions"]
    assert sent["choices"] == [{"value": "a"}, {"value": "b", "x": 1}]
    [answer] = json.loads(content)["answers"]
    assert [one["value"] for one in answer["probabilities"]] == ["b", "a"]


@cases(
    ({**TOPIC, "instructions": "Which one?"}, ANSWER, "wording of the question"),
    ({**TOPIC, "criteria": {"a": "B.", "b": None}}, ANSWER, "wording of the question"),
    (TOPIC, {**ANSWER, "model": "n"}, "model: m at the fit, n now"),
)
def test_another_question_or_model_is_refused_or_passes(
    start, upstream, coefficients, topic, answer, told
):
    fitted_on(TOPIC).save(coefficients)
    upstream.answer = reply(answer)
    status, body, _ = put(start(), topic)
    assert status == 422
    assert told in body["error"]["message"]
    port = start(on_mismatch="pass")
    status, body, headers = put(port, topic)
    assert (status, body["answers"]["topic"]["choice"]) == (200, "b")
    assert "DNIP-Corrected-By" not in headers
    assert numbers(port)['dnip_missed_total{question="topic",reason="question"}'] == 1


def test_the_question_of_the_fit_is_corrected_in_any_order_and_what_is_unknown_too(
    start, upstream, coefficients
):
    fitted_on(TURNED).save(coefficients)  # which was asked in another order than the classes have
    upstream.answer = reply(ANSWER)
    port = start()
    for topic in (TOPIC, TURNED):
        assert put(port, topic)[0] == 200
        sent = json.loads(upstream.requests[-1][2])["questions"]["topic"]
        assert [*sent["criteria"]] == ["b", "a"]
    for topic in ({"type": "choice"}, 7):
        assert put(port, topic)[0] == 200


def test_a_longer_name_of_the_model_in_answers_is_the_same_model(start, upstream, coefficients):
    fitted_on(TOPIC).save(coefficients)
    upstream.answer = reply({**ANSWER, "model": "m-2026-01-01"})
    port = start()
    assert put(port, TOPIC, model="m")[0] == 200
    assert put(port, TOPIC, model="n")[0] == 422


def test_options_that_come_twice_are_refused(start, upstream):
    status, body, _ = put(start(), {**TOPIC, "criteria": ["a", "b", "a"]})
    assert (status, upstream.requests) == (422, [])
    assert "b, a" in body["error"]["message"]


def test_an_event_stream_passes_as_it_is(start, upstream):
    events = b'data: {"answers": {}}\n\ndata: [DONE]\n\n'
    upstream.answer = reply(events, "200 OK", "Content-Type: text/event-stream; charset=utf-8")
    assert ask(start())[:2] == (200, events)


def test_the_headers_of_an_upstream_are_its_own(start, upstream):
    names = ["Connection: close, X-Hop", "X-Hop: 1", "DNIP-Corrected-By: tone=feed", "X-End: 1"]
    upstream.answer = reply(
        {**SYSTEM_ONE, "dnip_corrected_by": {"tone": "feed\r\n"}}, "200 OK", *names
    )
    headers = ask(start())[2]
    assert (headers["X-Hop"], headers["X-End"]) == (None, "1")
    assert headers.get_all("DNIP-Corrected-By") == [f"tone=feed%0D%0A, topic={FITTED.digest}"]


def test_what_others_wrote_forges_no_line_and_moves_no_cursor(start, upstream, caplog):
    from dnip.llm.serving.reports import _AsText

    forged = "a\n2026 ERROR: forged\x1b]0;title\x07"
    port = start(on_mismatch="pass")
    upstream.answer = reply(SYSTEM_ONE)
    with caplog.at_level(logging.WARNING):
        put(port, {"type": "choice", "criteria": {forged: None, "b": None}})
        ask(port, "/v1/x%0Ay%1B", "GET", None)
    told = [_AsText("%(levelname)s: %(message)s").format(record) for record in caplog.records]
    assert told
    assert all(line.isprintable() for line in told)
    assert listed([forged]).isprintable()
    assert repr(Coefficients([forged, "b"], [1, 1], 1)).isprintable()


def test_in_ones_own_process_another_order_is_warned_of():
    with pytest.warns(DNIPWarning, match="in another order than at the fit: a, b, not b, a"):
        correct(SYSTEM_ONE, {"topic": fitted_on(TURNED)})
