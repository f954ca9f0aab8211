"""Texts from folders and from the hub's library."""

import json

import pytest

from dnip.base.errors import BackendError, InvalidInputError
from dnip.prompting.data import load_examples
from fakes import TASK, write_data


def test_json_lines_and_csv_say_the_same(tmp_path):
    write_data(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "test.jsonl").read_text().splitlines()]
    csv = "text,label\n" + "".join(f'"{row["text"]}",{row["label"]}\n' for row in rows)
    (tmp_path / "other.csv").write_text(csv)
    first, second = (load_examples(tmp_path, split, TASK) for split in ("test", "other"))
    assert [row["text"] for row in first.rows] == [row["text"] for row in second.rows]
    assert first.labels.tolist() == second.labels.tolist()
    assert second.ids[:2] == ("other-0", "other-1")


def test_labels_are_names_or_indices_or_absent(tmp_path):
    labels = ["sad", 0, "1", None, ""]
    rows = [{"text": "x", "label": label, "id": f"r{i}"} for i, label in enumerate(labels)]
    rows.append({"text": "x"})
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    examples = load_examples(tmp_path, "test", TASK)
    assert examples.labels.tolist() == [1, 0, 1, -1, -1, -1]
    assert examples.ids == ("r0", "r1", "r2", "r3", "r4", "test-5")


def test_the_hub_library_gives_what_the_folder_gives(tmp_path, monkeypatch):
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    write_data(tmp_path)
    ours, theirs = (load_examples(s, "test", TASK) for s in (tmp_path, f"hf:{tmp_path}"))
    assert [row["text"] for row in ours.rows] == [row["text"] for row in theirs.rows]
    assert ours.labels.tolist() == theirs.labels.tolist()


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("hf:no/such-data", BackendError, "no/such-data is not stored here, and the hub cannot be"),
        ("hf:", InvalidInputError, "split test cannot be loaded"),
    ],
)
def test_a_hub_name_that_cannot_be_loaded_is_refused(monkeypatch, name, kind, told):
    pytest.importorskip("datasets")
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(kind, match=told):
        load_examples(name, "test", TASK)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("test.jsonl", '{"text": "a", "id": 7}\n{"text": "b", "id": "7"}\n', "row 2: the id '7'"),
        ("test.jsonl", '{"text": "a", "id": "test-1"}\n{"text": "b"}\n', "row 2: the id 'test-1'"),
        ("test.jsonl", '{"text": "a", "id": "\\u0000"}\n', "row 1: the id"),
        ("test.jsonl", '{"text": "a", "id": "\\ud800"}\n', "row 1: the id"),
        ("test.jsonl", '{"text": "\\ud800"}\n', "row 1: text is no valid Unicode"),
        ("test.jsonl", '{"text": ["a", "\\ud800"]}\n', "row 1: text is no valid Unicode"),
        ("test.jsonl", f'{{"text": "a", "label": "{"9" * 5000}"}}\n', "row 1: label '999"),
        ("test.csv", "text,label\n,0,9\n", "row 1: 1 more cells than there are columns"),
    ],
)
def test_rows_are_checked_before_a_model_is_asked(tmp_path, name, content, told):
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInputError, match=told) as refusal:
        load_examples(tmp_path, "test", TASK)
    assert len(str(refusal.value)) < 300


def test_an_id_of_0_is_one(tmp_path):
    (tmp_path / "test.jsonl").write_text('{"text": "a", "id": 0}\n')
    assert load_examples(tmp_path, "test", TASK).ids == ("0",)
