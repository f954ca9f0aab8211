"""Where a table comes from, and what of that is another now."""

import json

from cases import cases
from dnip.tables.origin import changes_of_origin, origin_of

ORIGIN = {"model": "small", "revision": "a", "precision": None, "prompt_sha256": "f0"}
QUESTION = {"fingerprint": "0", "model": "m", "form": "chat", "options": ["a", "b"], "fixed": None}


def written(folder, content):
    table = folder / "t.csv"
    table.write_text("p0,p1\n")
    (folder / "t.csv.meta.json").write_text(content)
    return table


def test_it_is_what_the_metadata_say(tmp_path):
    content = {"settings": {}, "origin": ORIGIN, "question": QUESTION}
    found = origin_of(written(tmp_path, json.dumps(content)))
    assert found == {**ORIGIN, "question": QUESTION}


@cases("", "[]", "{}", '{"origin": 3}', '{"origin": {"model": "\\udcff"}}', "\x00", "[" * 9999)
def test_other_metadata_tell_nothing(tmp_path, content):
    assert origin_of(written(tmp_path, content)) is None


@cases(
    ({"revision": "b", "prompt_sha256": "f1"}, ["revision of the model", "prompt (its hash)"]),
    ({"precision": "half"}, []),  # what is not known is not compared
    ({"revision": None}, []),
    ({"question": {**QUESTION, "fingerprint": "1", "fixed": "f"}}, []),
    ({"question": {**QUESTION, "model": "n"}}, ["model"]),
    ({"question": {**QUESTION, "options": ["b", "a"]}}, ["options, or their order"]),
    ({"model": "large", "question": {**QUESTION, "model": "n"}}, ["model"]),
    ({"question": None}, []),
)
def test_each_change_is_said_once(change, told):
    before = {**ORIGIN, "question": QUESTION}
    sentences = changes_of_origin(before, {**before, **change})
    assert [sentence.partition(":")[0] for sentence in sentences] == [
        f"the {name}" for name in told
    ]
    assert changes_of_origin(before, before) == changes_of_origin(None, before) == ()


def test_both_values_are_named():
    now = {**ORIGIN, "revision": "b"}
    assert changes_of_origin(ORIGIN, now) == ("the revision of the model: a at the fit, b now",)
