"""Texts from folders and from the hub's library."""

import json

import pytest

from dnip.errors import BackendError, InvalidInputError
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
