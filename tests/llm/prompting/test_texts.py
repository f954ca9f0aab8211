"""Texts: tables of every kind, their columns, labels and ids."""

import json

import pytest

from cases import cases
from dnip.base.errors import BackendError, InvalidInputError
from dnip.llm.prompting.task import task_of
from dnip.llm.prompting.texts import read_texts
from fakes import TASK, plan_of, write_data

ROWS = [{"text": f"message {i}", "label": i % 2, "id": f"t{i}"} for i in range(4)]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def assert_alike(*several):
    first, *others = several
    for other in others:
        assert [row["text"] for row in first.rows] == [row["text"] for row in other.rows]
        assert first.labels.tolist() == other.labels.tolist()
        assert first.ids == other.ids


def test_files_frames_and_dictionaries_say_the_same(tmp_path):
    pandas = pytest.importorskip("pandas")
    (tmp_path / "a.jsonl").write_text(lines(ROWS))
    (tmp_path / "a.json").write_text(json.dumps(ROWS, indent=1))
    files = (tmp_path / "a.jsonl", tmp_path / "a.json")
    assert_alike(*(read_texts(source, TASK) for source in (*files, ROWS, pandas.DataFrame(ROWS))))


def test_columns_are_named_and_labels_are_names_or_indices_or_absent():
    labels = ["sad", 0, "1", None, "", float("nan")]
    rows = [{"text": "x", "mood": label, "no": 7 + i} for i, label in enumerate(labels)]
    texts = read_texts(rows, TASK, label="mood", id="no", keep=["no"])
    assert texts.labels.tolist() == [1, 0, 1, -1, -1, -1]
    assert texts.ids == ("7", "8", "9", "10", "11", "12")
    assert texts.kept == {"no": (7, 8, 9, 10, 11, 12)}
    bare = read_texts(rows, TASK)
    assert bare.labels.tolist() == [-1] * 6
    assert (bare.ids, bare.name(2)) == (None, "3")
    assert texts.take([4, 0]).name(0) == "11"
    assert bare.take([4, 0]).numbers == (5, 1)


def test_a_template_calls_columns_by_plain_names():
    task = task_of("{{ Ticket_text }} / {{ body }}", ["a", "b"])
    rows = [{"Ticket text": "T", "body": "B"}, {"Ticket text": "", "body": "B"}]
    texts = read_texts(rows, task)
    assert texts.rows == ({"Ticket_text": "T", "body": "B"}, {"Ticket_text": "", "body": "B"})


def test_the_hub_library_gives_what_the_file_gives(tmp_path, monkeypatch):
    pytest.importorskip("datasets")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "cache"))
    write_data(tmp_path)
    sources = (tmp_path / "test.jsonl", f"hf:{tmp_path}/test")
    assert_alike(*(read_texts(source, TASK) for source in sources))


@pytest.mark.parametrize("name", ["hf:no/such-data/test", "hf:news", "hf:"])
def test_a_hub_name_that_cannot_be_loaded_is_refused(monkeypatch, name):
    pytest.importorskip("datasets")
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(BackendError, match=f"{name} cannot be loaded: .*hf:NAME/SPLIT"):
        read_texts(name, TASK)


@cases(
    ("t.jsonl", '{"text": "a", "id": 7}\n{"text": "b", "id": "7"}\n', "line 2: the id '7'"),
    ("t.jsonl", '{"text": "a", "id": 7}\n{"text": "b"}\n', "line 2: the id is empty"),
    ("t.jsonl", '{"text": "a", "id": "\\u0000"}\n', "line 1: the id"),
    ("t.jsonl", '{"text": "\\ud800"}\n', "line 1: text is not valid Unicode"),
    ("t.jsonl", '{"text": ["a", "\\ud800"]}\n', "line 1: text is not valid Unicode"),
    ("t.jsonl", f'{{"text": "a", "label": "{"9" * 5000}"}}\n', "line 1, column label: "),
    ("t.jsonl", '{"text": "a", "label": "glad"}\n', "line 1, column label: .glad. is neither"),
    ("t.jsonl", '{"text": "a", "label": "glad"}\n', "or nothing; .*, or a task of your own"),
    (
        "t.jsonl",
        '{"label": 0}\n',
        "no column 'text', which the prompt names. Its columns are label",
    ),
    ("t.jsonl", '{"text": "a"}\n{"text": ""}\n', "line 2: no text; text is empty"),
    ("t.jsonl", "[1]\n", "line 1: not a row of columns but 1"),
    ("t.jsonl", "", "there are no rows"),
    ("t.csv", "text,label\na,0,9\n", "t.csv: row 1 has 3 cells, but the header has 2"),
    ("t.csv", "text,label,,,text\na,0,,,b\n", "t.csv: column text appears twice"),
    ("t.parquet", "PAR1 no more", "the file cannot be read"),
)
def test_rows_are_checked_before_a_model_is_asked(tmp_path, name, content, told):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    (tmp_path / name).write_text(content)
    with pytest.raises(InvalidInputError, match=told) as refusal:
        read_texts(tmp_path / name, TASK)
    assert len(str(refusal.value)) < 400


@cases(
    ({"label": "topic"}, "no column 'topic', which --label names. Its columns are text, label, id"),
    ({"id": "ticket"}, "no column 'ticket', which --id names"),
    ({"keep": ["lang"]}, "no column 'lang', which --keep names"),
    ({"label": "text"}, "the prompt names the column 'text', which holds the labels"),
    ({"keep": ["id"]}, "the table to come has a column 'id' of its own"),
)
def test_a_column_that_is_not_there_is_named_with_those_that_are(settings, told):
    with pytest.raises(InvalidInputError, match=told):
        read_texts(ROWS, TASK, **settings)


@cases(3, "no frame at all", b"bytes", [1, 2], {"text": ["a"]})
def test_what_is_no_table_is_refused(source):
    with pytest.raises(InvalidInputError):
        read_texts(source, TASK)


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(InvalidInputError, match="is a folder"):
        read_texts(write_data(tmp_path), TASK)


def test_the_address_of_a_table_gives_the_same_prompts(tmp_path):
    pytest.importorskip("pyarrow", reason="object stores need pyarrow")
    write_data(tmp_path)
    here, there = (read_texts(f"{way}{tmp_path}/test.jsonl", TASK) for way in ("", "file://"))
    assert_alike(here, there)


S3 = "s3://key:secret@bucket/news.csv?scheme=http&endpoint_override=127.0.0.1:1"


@cases(
    ("ftp://host/news.csv", BackendError, "ftp://…/news.csv cannot be opened: "),
    ("file:///no/folder.csv", InvalidInputError, "file://…/folder.csv: there is no such file"),
    (S3, BackendError, "s3://…/news.csv cannot be opened: .*Could not connect"),
)
def test_what_cannot_be_opened_is_named_without_keys(address, kind, told):
    pytest.importorskip("pyarrow", reason="object stores need pyarrow")
    with pytest.raises(kind, match=told) as refusal:
        read_texts(address, TASK)
    assert "secret" not in str(refusal.value)


# --- which rows are prompted with what ---
def test_rows_are_scored_with_demonstrations_of_the_other_table(tmp_path):
    plan = plan_of(write_data(tmp_path), shots=2, seed=1)
    assert plan.texts.numbers == tuple(range(1, 10))
    assert len(plan.settings["demonstrations"]) == 2
    assert plan.prompts[0].prefix.count("Message: train") == 2
    assert plan.prompts[0].example == "Message: test message 0\nMood:"


@pytest.mark.parametrize("shots", [1, 3, "balanced"])
def test_demonstrations_are_never_among_the_scored_rows(tmp_path, shots):
    plan = plan_of(write_data(tmp_path), "train", shots=shots)
    shown = {row["text"] for row, _ in plan.builder.demonstrations}
    assert shown
    assert not shown & {row["text"] for row in plan.texts.rows}
    assert len(plan.texts) + len(shown) == 10
    if shots == "balanced":
        assert sorted(label for _, label in plan.builder.demonstrations) == [0, 1]
    with pytest.raises(InvalidInputError, match="no row is left to score"):
        plan_of(tmp_path, "train", shots=10)


def test_seeds_change_the_demonstrations_but_not_the_limited_rows(tmp_path):
    write_data(tmp_path)
    plans = [plan_of(tmp_path, shots=2, seed=seed, limit=4) for seed in range(4)]
    assert len({tuple(plan.settings["demonstrations"]) for plan in plans}) > 1
    assert len({plan.texts.numbers for plan in plans}) == 1
    assert len(plans[0].texts) == 4
    assert plan_of(tmp_path, shots=2, seed=0, limit=4).prompts == plans[0].prompts


def test_content_free_rows_need_no_table():
    texts = read_texts("content-free", TASK)
    assert texts.ids == ("content-free-0", "content-free-1", "content-free-2")
    assert texts.labels.tolist() == [-1, -1, -1]
    assert [row["text"] for row in texts.rows] == ["N/A", "[MASK]", ""]


def test_only_the_longest_field_of_a_long_prompt_is_shortened(tmp_path):
    rows = [{"text": f"message {i}"} for i in range(3)] + [{"text": "word " * 100}]
    (tmp_path / "test.jsonl").write_text(lines(rows))
    plan = plan_of(tmp_path)

    def too_long(prompts):
        return [i for i, prompt in enumerate(prompts) if len(prompt.text.split()) > 40]

    shortened = plan.shortened(too_long)
    assert shortened.prompts[:-1] == plan.prompts[:-1]
    assert too_long(shortened.prompts) == []
    assert 30 < len(shortened.prompts[-1].text.split()) <= 40
    assert rows[3]["text"] == "word " * 100
