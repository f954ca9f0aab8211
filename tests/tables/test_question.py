"""The fingerprint of a question: in metadata, in coefficients, and what differs."""

import json

import pytest

from dnip.tables.columns import QUESTION
from dnip.tables.provenance import (
    Question,
    changes_of_origin,
    fingerprint,
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
    assert len({fingerprint(*one) for one in [ASKED, *others]}) == 7


def test_it_is_read_back_from_metadata_and_from_the_record_of_a_fit(tmp_path):
    question = Question.of(*ASKED)
    (tmp_path / "t.csv.meta.json").write_text(json.dumps({QUESTION: question.to_dict()}))
    (tmp_path / "t.csv").touch()
    origin = origin_of(tmp_path / "t.csv")
    assert question_of({"data": {"origin": origin}}) == question
    now = {QUESTION: Question.of("n", *ASKED[1:]).to_dict()}
    assert changes_of_origin({"origin": origin}, now) == ("the model: m at the fit, n now",)
    unknown = {QUESTION: Question.of(None, *ASKED[1:3]).to_dict()}
    assert changes_of_origin({"origin": origin}, unknown) == ()


@pytest.mark.parametrize("kept", [None, 7, {}, {"form": "chat", "options": "ab"}, {"options": [1]}])
def test_what_somebody_wrote_by_hand_is_no_question(kept):
    assert Question.read(kept) is None


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
