"""What a task file may hold, and the words for what is wrong in one."""

import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.prompting.task_files import check_task, load_task

TASK = {
    "name": "mood",
    "instruction": "?",
    "fields": ["text"],
    "template": "{{ text }}",
    "classes": [{"name": "bad"}, {"name": "good"}],
}


@cases(
    ({}, {"name"}, "name is missing. Keys here are name, instruction"),
    ({"nam": "mood"}, {"name"}, "unknown key nam. Keys here are name, instruction"),
    ({"name": 3}, {}, "name must be a valid string; got 3"),
    ({"fields": []}, {}, "fields Tuple should have at least 1 item"),
    ({"fields": 3}, {}, "fields must be a valid list; got 3"),
    ({"classes": [3]}, {}, "classes[0] must be a valid table"),
    ({"classes": [{"name": "a"}, {"nam": "b"}]}, {}, "unknown key classes[1].nam"),
    ({"chain_of_thought": {"x": 1}}, {}, "unknown key chain_of_thought.x"),
    ({"template": 1 << 1000}, {}, "..."),
)
def test_a_table_that_breaks_the_format_is_refused(changed, without, told):
    table = {key: value for key, value in (TASK | changed).items() if key not in without}
    with pytest.raises(InvalidInputError) as caught:
        check_task(table, "a.toml")
    assert str(caught.value).startswith("a.toml: ")
    assert told in str(caught.value)
    assert check_task(TASK, "a.toml").classes == ("bad", "good")


@cases(
    ("unknown", None, "no built-in task 'unknown'. Name one of agnews"),
    ("nowhere.toml", None, "the task cannot be read"),
    ("a.toml", b"\xff\xfe\xff", "the task cannot be read: not UTF-8 text"),
    ("a.toml", b"a = [", "not valid TOML"),
    ("a.toml", b"a = " + b"[" * 5000, "not valid TOML"),
)
def test_a_file_that_cannot_be_read(tmp_path, monkeypatch, name, content, told):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidInputError) as caught:
        load_task(name)
    assert told in str(caught.value)
