"""Where a table comes from: the question, its fingerprint, the model and the prompt."""

import json
from pathlib import Path

import pytest

from cases import cases
from dnip.base.columns import QUESTION
from dnip.method.coefficients import DataRecord, FitRecord
from dnip.tables.provenance import (
    Question,
    changes_of_origin,
    fixed_messages,
    origin_of,
    question_of,
)

ASKED = ("m", "chat", ["a", "b"], [["system", "Name it."]])


def test_all_parts_and_the_order_of_options_make_the_fingerprint():
    others = [
        ("n", *ASKED[1:]),
        (None, *ASKED[1:]),
        ("m", "plain", *ASKED[2:]),
        (*ASKED[:2], ["b", "a"], ASKED[3]),
        (*ASKED[:3], [["system", "Name it!"]]),
        ASKED[:3],
    ]
    assert len({Question.of(*one).fingerprint for one in [ASKED, *others]}) == 7


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


def test_another_revision_or_prompt_is_told():
    then = {"model": "small", "revision": "a", "precision": None, "prompt_sha256": "f0"}
    now = {**then, "revision": "b", "prompt_sha256": "f1"}
    assert changes_of_origin(then, now) == (
        "the revision of the model differs: a at the fit, b now",
        "the prompt (its hash) differs: f0 at the fit, f1 now",
    )


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


# --- origin ---
SETTINGS = {
    "task": {"name": "mood", "template": "{{ text }}"},
    "demonstrations": ["train-3"],
    "scoring": "first",
    "limit": 10,
    "engine": {"model": "small", "revision": "main", "commit": "abc", "dtype": "float32"},
}


@pytest.fixture
def write(tmp_path):
    def write(content, name="t.csv"):
        table = tmp_path / name
        table.write_text("p0,p1\n")
        Path(f"{table}.meta.json").write_text(content)
        return table

    return write


def test_model_and_prompt_are_told(write):
    origin = origin_of(write(json.dumps({"settings": SETTINGS})))
    assert (origin["model"], origin["revision"], origin["precision"]) == ("small", "abc", "float32")
    assert len(origin["prompt_sha256"]) == 64


@cases(
    ({"limit": 99}, True),
    ({"task": {"name": "mood", "template": "Text: {{ text }}"}}, False),
    ({"demonstrations": []}, False),
    ({"engine": {**SETTINGS["engine"], "chat_template": "{{ messages }}"}}, False),
    ({"engine": {**SETTINGS["engine"], "model": "large"}}, True),
)
def test_the_hash_is_that_of_the_prompt(write, change, same):
    one = origin_of(write(json.dumps({"settings": SETTINGS})))
    other = origin_of(write(json.dumps({"settings": {**SETTINGS, **change}}), "other.csv"))
    assert (one["prompt_sha256"] == other["prompt_sha256"]) == same


@cases("", "[]", "{}", '{"settings": {"engine": 3}}', "\x00", "[" * 9999)
def test_other_metadata_tell_nothing(write, content):
    assert origin_of(write(content)) is None


def test_what_is_no_unicode_is_escaped(write):
    settings = {**SETTINGS, "engine": {"model": "\udcff"}}
    assert origin_of(write(json.dumps({"settings": settings})))["model"] == "\\udcff"
