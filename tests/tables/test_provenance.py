"""The model and the prompt that a table came from."""

import json
from pathlib import Path

import pytest

from cases import cases
from dnip.tables.provenance import origin_of

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
