"""Texts from folders, object stores and the hub's library."""

import json

import pytest

from cases import cases
from dnip.base.errors import BackendError, InvalidInputError
from dnip.llm.prompting.data import load_examples
from dnip.llm.prompting.plan import make_plan
from fakes import TASK, write_data


def test_json_lines_csv_and_parquet_say_the_same(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    from pyarrow.parquet import write_table

    write_data(tmp_path)
    rows = [dict(row) for row in load_examples(tmp_path, "test", TASK).rows]
    csv = "text,label\n" + "".join(f'"{row["text"]}",{row["label"]}\n' for row in rows)
    (tmp_path / "other.csv").write_text(csv)
    write_table(arrow.Table.from_pylist(rows), tmp_path / "more.parquet")
    first, *others = (load_examples(tmp_path, split, TASK) for split in ("test", "other", "more"))
    for other in others:
        assert [row["text"] for row in first.rows] == [row["text"] for row in other.rows]
        assert first.labels.tolist() == other.labels.tolist()
    assert others[0].ids[:2] == ("other-0", "other-1")


def test_labels_are_names_or_indices_or_absent(tmp_path):
    labels = ["sad", 0, "1", None, ""]
    rows = [{"text": "x", "label": label, "id": i} for i, label in enumerate(labels)]
    rows.append({"text": "x"})
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    examples = load_examples(tmp_path, "test", TASK)
    assert examples.labels.tolist() == [1, 0, 1, -1, -1, -1]
    assert examples.ids == ("0", "1", "2", "3", "4", "test-5")


def test_the_hub_library_gives_what_the_folder_gives(tmp_path, monkeypatch):
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    write_data(tmp_path)
    ours, theirs = (load_examples(s, "test", TASK) for s in (tmp_path, f"hf:{tmp_path}"))
    assert [row["text"] for row in ours.rows] == [row["text"] for row in theirs.rows]
    assert ours.labels.tolist() == theirs.labels.tolist()


@pytest.mark.parametrize("name", ["hf:no/such-data", "hf:"])
def test_a_hub_name_that_cannot_be_loaded_is_refused(monkeypatch, name):
    pytest.importorskip("datasets")
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(BackendError, match=f"{name}: split test cannot be loaded"):
        load_examples(name, "test", TASK)


@cases(
    ("test.jsonl", '{"text": "a", "id": 7}\n{"text": "b", "id": "7"}\n', "line 2: the id '7'"),
    ("test.jsonl", '{"text": "a", "id": "test-1"}\n{"text": "b"}\n', "line 2: the id 'test-1'"),
    ("test.jsonl", '{"text": "a", "id": "\\u0000"}\n', "line 1: the id"),
    ("test.jsonl", '{"text": "\\ud800"}\n', "line 1: text is not valid Unicode"),
    ("test.jsonl", '{"text": ["a", "\\ud800"]}\n', "line 1: text is not valid Unicode"),
    ("test.jsonl", f'{{"text": "a", "label": "{"9" * 5000}"}}\n', "line 1, column label: .*999"),
    ("test.jsonl", '{"text": "a", "label": "glad"}\n', "Task mood has the classes happy, sad"),
    ("test.jsonl", '{"label": 0}\n', "line 1: no text; it has label"),
    ("test.jsonl", "[1]\n", "line 1: not a JSON object"),
    ("test.jsonl", "", "there are no rows"),
    ("test.csv", "text,label\na,0,9\n", "test.csv: row 1 has 3 cells, but the header has 2"),
    ("test.csv", "text,label,,,text\na,0,,,b\n", "test.csv: column text appears twice"),
    ("test.parquet", "PAR1 no more", "the file cannot be read"),
)
def test_rows_are_checked_before_a_model_is_asked(tmp_path, name, content, told):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInputError, match=told) as refusal:
        load_examples(tmp_path, "test", TASK)
    assert len(str(refusal.value)) < 300


def test_the_address_of_a_folder_gives_the_same_prompts_so_that_runs_resume(tmp_path):
    pytest.importorskip("pyarrow", reason="object stores need pyarrow")
    write_data(tmp_path)
    here, there = (make_plan(TASK, source) for source in (tmp_path, f"file://{tmp_path}"))
    assert there.prompts == here.prompts
    assert there.settings == here.settings


S3 = "s3://key:secret@bucket/news?scheme=http&endpoint_override=127.0.0.1:1"


@cases(
    ("ftp://host/news", BackendError, "ftp://…/news cannot be opened: "),
    ("file:///no/folder", InvalidInputError, "file:///no/folder: there is no test.jsonl"),
    (S3, BackendError, "s3://…/news cannot be opened: .*Could not connect"),
)
def test_what_cannot_be_opened_is_named_without_keys(address, kind, told):
    pytest.importorskip("pyarrow", reason="object stores need pyarrow")
    with pytest.raises(kind, match=told) as refusal:
        load_examples(address, "test", TASK)
    assert "secret" not in str(refusal.value)
