"""The question, its fingerprint, the form of its answer, and the prompt that made a table."""

import json

import pytest

from cases import cases
from dnip.llm.questions import (
    Question,
    answer_form,
    chat_question,
    fixed_messages,
    origin_of_run,
    question_of,
)
from dnip.method.coefficients import DataRecord, FitRecord
from dnip.tables.origin import QUESTION, changes_of_origin, origin_of

ASKED = ("m", "chat", ["a", "b"], [["system", "Name it."]])


def test_all_parts_and_the_order_of_options_make_the_fingerprint():
    others = [
        ("n", *ASKED[1:]),
        (None, *ASKED[1:]),
        ("m", "plain", *ASKED[2:]),
        (*ASKED[:2], ["b", "a"], ASKED[3]),
        (*ASKED[:3], [["system", "Name it!"]]),
        ASKED[:3],
        (*ASKED, "text"),
        (*ASKED, "json"),
    ]
    assert len({Question.of(*one).fingerprint for one in [ASKED, *others]}) == 9


def test_it_is_read_back_from_metadata_and_from_the_record_of_a_fit(tmp_path):
    question = Question.of(*ASKED)
    (tmp_path / "t.csv.meta.json").write_text(json.dumps({QUESTION: question.to_dict()}))
    (tmp_path / "t.csv").touch()
    origin = origin_of(tmp_path / "t.csv")
    assert question_of(FitRecord(data=DataRecord(origin=origin))) == question
    now = {QUESTION: Question.of("n", *ASKED[1:]).to_dict()}
    assert changes_of_origin(origin, now) == ("the model: m at the fit, n now",)
    unknown = {QUESTION: Question.of(None, *ASKED[1:3]).to_dict()}
    assert changes_of_origin(origin, unknown) == ()


@pytest.mark.parametrize("kept", [None, 7, {}, {"form": "chat", "options": "ab"}, {"options": [1]}])
def test_what_somebody_wrote_by_hand_is_no_question(kept):
    assert Question.read(kept) is None


def test_a_fingerprint_by_hand_changes_no_question():
    question = Question.of(*ASKED)
    assert Question.read({**question.to_dict(), "fingerprint": "0" * 16}) == question


def test_messages_before_the_last_one_of_the_user_are_fixed():
    turns = [
        {"role": "system", "content": [{"type": "text", "text": "Na"}, {"text": "me it."}]},
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None},
        {"role": "user", "content": "y"},
        "no message",
    ]
    expected = [["system", "Name it."], ["user", "x"], ["assistant", "null"]]
    assert fixed_messages(turns) == expected
    assert fixed_messages(turns[:1]) == expected[:1]
    assert fixed_messages({"role": "user"}) == []


SETTINGS = {
    "task": {"name": "mood", "template": "{{ text }}"},
    "demonstrations": ["train-3"],
    "scoring": "first",
    "limit": 10,
    "engine": {"model": "small", "revision": "main", "commit": "abc", "dtype": "float32"},
}


def test_model_and_prompt_are_told():
    origin = origin_of_run(SETTINGS)
    assert (origin["model"], origin["revision"], origin["precision"]) == ("small", "abc", "float32")
    assert len(origin["prompt_sha256"]) == 64


@cases(
    ({"limit": 99}, True),
    ({"task": {"name": "mood", "template": "Text: {{ text }}"}}, False),
    ({"demonstrations": []}, False),
    ({"engine": {**SETTINGS["engine"], "chat_template": "{{ messages }}"}}, False),
    ({"engine": {**SETTINGS["engine"], "model": "large"}}, True),
)
def test_the_hash_is_that_of_the_prompt(change, same):
    other = origin_of_run({**SETTINGS, **change})
    assert (origin_of_run(SETTINGS)["prompt_sha256"] == other["prompt_sha256"]) == same


def test_what_is_no_unicode_is_escaped():
    settings = {**SETTINGS, "engine": {"model": "\udcff"}}
    assert origin_of_run(settings)["model"] == "\\udcff"


# --- the form of the answer ---
TOPIC = {"type": "object", "properties": {"topic": {"enum": ["a", "b"]}}, "required": ["topic"]}
REASON = {"reason": {"type": "string"}, **TOPIC["properties"]}
OPENAI = {"type": "json_schema", "json_schema": {"name": "topic", "schema": TOPIC}}


def response(wanted):
    return {"response_format": wanted}


def strict(schema):
    return response({"type": "json_schema", "json_schema": {"schema": schema, "strict": True}})


@cases(
    {}, response(None), response({"type": "text"}), {"tools": []}, {"logit_bias": {}},
    {"logit_bias": {"7": 0}}, {"temperature": 0, "max_tokens": 1, "stop": ["x"]},
)  # fmt: skip
def test_a_request_that_wants_nothing_else_wants_text(more):
    assert answer_form({"messages": [], **more}) == "text"


@cases(
    {"guided_json": TOPIC}, {"json_schema": TOPIC}, {"structured_outputs": {"json": TOPIC}},
    response({"type": "json_object", "schema": TOPIC}),
    response({"type": "json_schema", "schema": TOPIC}),
    response({"json_schema": {"schema": dict(reversed(TOPIC.items()))}, "type": "json_schema"}),
)  # fmt: skip
def test_one_schema_is_one_form_however_a_server_calls_it(more):
    assert answer_form(more) == answer_form(response(OPENAI))


def test_another_form_is_another_one():
    bias = {"logit_bias": {"7": 5, "8": -1}}
    forms = [
        {}, response({"type": "json_object"}), response(OPENAI), strict(TOPIC),
        strict({**TOPIC, "required": []}), strict({**TOPIC, "properties": REASON}),
        strict({**TOPIC, "properties": dict(reversed(REASON.items()))}),  # the reason comes later
        bias, {**bias, **response(OPENAI)}, {"logit_bias": {"7": 5}}, {"tools": [{"type": "x"}]},
        {"guided_regex": "a|b"}, {"guided_choice": ["a", "b"]}, {"grammar": "root ::= x"},
        response("json"), response({"type": "new"}),
    ]  # fmt: skip
    assert len({answer_form(form) for form in forms}) == len(forms)
    assert answer_form({"logit_bias": {"8": -1.0, "7": 5.0}}) == answer_form(bias)


def test_the_question_of_a_request_is_its_messages_and_its_form():
    request = {"messages": [{"role": "user", "content": "x"}], **response(OPENAI)}
    asked = chat_question(request, ["a", "b"], "m")
    assert (asked.model, asked.form, asked.answer) == ("m", "chat", answer_form(request))
    assert asked == chat_question({**request, "messages": [{"role": "user"}]}, ["a", "b"], "m")
    [change] = asked.changes(chat_question({**request, **response(None)}, ["a", "b"], "m"))
    assert change == f"the form of the answer: {asked.answer} at the fit, text now"
