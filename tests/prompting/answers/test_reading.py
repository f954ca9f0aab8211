"""Files, ids, labels and rounding: what is the same for every source."""

import json

import numpy as np
import pytest

from dnip import ProbabilityTable
from dnip.base.errors import InvalidInputError
from dnip.prompting.answers import read_answers, write_import

CLASSES = ["ham", "spam"]
ROWS = [{"id": f"r{i}", "ham": p, "spam": 1 - p} for i, p in enumerate((0.125, 1 / 3, 0.75))]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.jsonl", "\n\n".join(map(json.dumps, ROWS))),
        ("a.json", json.dumps(ROWS)),
        ("a.json", json.dumps(ROWS, indent=2)),
        ("a.json", "\n".join(json.dumps(row, indent=2) for row in ROWS)),
        ("a.jsonl", "\n".join(json.dumps([row]) for row in ROWS)),
        ("a.csv", "id,spam,ham\n" + "".join(f"{r['id']},{r['spam']},{r['ham']}\n" for r in ROWS)),
    ],
    ids=["lines", "list", "list over lines", "objects over lines", "lists in lines", "CSV"],
)  # fmt: skip
def test_a_file_is_read_in_each_layout(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    table, _ = read_answers([path], CLASSES)
    assert table.probabilities.tolist() == [[row["ham"], row["spam"]] for row in ROWS]
    assert table.ids.tolist() == ["r0", "r1", "r2"]


def test_a_parquet_file_is_read(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import Table
    from pyarrow.parquet import write_table

    nested = {"doc": {"gold_index": 1}, "model_response": {"logprobs": [-1.0, -2.0]}}
    write_table(Table.from_pylist([nested]), tmp_path / "a.parquet")
    table, summary = read_answers([tmp_path / "a.parquet"], CLASSES)
    assert (summary.source, table.labels.tolist()) == ("lighteval", [1])


def test_a_table_that_is_imported_again_is_the_same(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.3] * 3, 50)
    before = ProbabilityTable(p, rng.integers(-1, 3, 50), [str(i) for i in range(50)])
    before.write(tmp_path / "t.jsonl")
    names = {name: f"p{name}" for name in before.classes}
    after, _ = read_answers([tmp_path / "t.jsonl"], before.classes, names=names)
    assert after.data_hash == before.data_hash
    assert after.ids.tolist() == before.ids.tolist()


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_gold_labels_are_joined_by_id(tmp_path, order):
    gold = [("r0", 0), ("r1", "spam"), ("r2", "ham")]
    text = "".join(f"{gold[i][0]},{gold[i][1]}\n" for i in order)
    (tmp_path / "gold.csv").write_text(f"name,y\n{text}")
    rows = [{**row, "name": row["id"]} for row in ROWS]
    options = {"gold": tmp_path / "gold.csv", "on": "name", "label": "y"}
    table, _ = read_answers(rows, CLASSES, **options)
    assert table.labels.tolist() == [0, 1, 0]


def test_gold_labels_are_joined_by_row_past_refusals(tmp_path):
    answer = {"type": "choice", "choice": "ham", "probabilities": {"ham": 0.5, "spam": 0.5}}
    answers = [{"answers": {"q": one}} for one in (answer, {"type": "refusal"}, answer)]
    (tmp_path / "gold.csv").write_text("label\nham\nham\nspam\n")
    table, summary = read_answers(answers, CLASSES, gold=tmp_path / "gold.csv", on="row")
    assert (table.labels.tolist(), summary.refused) == ([0, 1], ("answer 2",))


def test_labels_beside_answers_are_read_unless_there_is_a_gold_file(tmp_path):
    rows = [{**row, "label": "spam", "y": 0} for row in ROWS]
    assert read_answers(rows, CLASSES)[0].labels.tolist() == [1, 1, 1]
    assert read_answers(rows, CLASSES, label="y")[0].labels.tolist() == [0, 0, 0]
    (tmp_path / "gold.csv").write_text("id,label\nr1,ham\n")
    table, _ = read_answers(rows, CLASSES, gold=tmp_path / "gold.csv")
    assert table.labels.tolist() == [-1, 0, -1]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_the_columns_have_the_names_of_the_classes_and_tell_them(tmp_path, suffix):
    rows = [{**row, "label": "spam", "text": "a, b", "length": 7} for row in ROWS]
    imported = read_answers(rows, CLASSES)
    write_import(imported, tmp_path / f"t.{suffix}")
    table = ProbabilityTable.read(tmp_path / f"t.{suffix}")
    assert table.classes == ("ham", "spam")
    assert table.data_hash == imported.table.data_hash
    assert table.ids.tolist() == ["r0", "r1", "r2"]


@pytest.mark.parametrize("name", ["label", "id", "mass", "prediction", "p3"])
def test_a_class_that_is_called_as_another_column_gets_a_number(tmp_path, name):
    rows = [{"labels": ["ham", name], "scores": [0.25, 0.75]}]
    write_import(read_answers(rows, ["ham", name]), tmp_path / "t.csv")
    table = ProbabilityTable.read(tmp_path / "t.csv", ("ham", name))
    assert table.probabilities.tolist() == [[0.25, 0.75]]
    assert (tmp_path / "t.csv").read_text().startswith("p0,p1\n")


def test_a_filter_of_a_harness_is_chosen_as_a_question():
    resps = [[[-1.0, False]], [[-2.0, False]]]
    rows = [{"doc_id": i, "resps": resps, "filter": f} for i in range(3) for f in ("none", "other")]
    with pytest.raises(InvalidInputError, match="several questions: none, other"):
        read_answers(rows, CLASSES)
    table, summary = read_answers(rows, CLASSES, question="other")
    assert (len(table), summary.n_other, summary.question) == (3, 3, "other")


def test_zeros_are_raised_by_half_a_unit_only_where_numbers_are_rounded():
    rounded = [{"ham": 0.33, "spam": 0.66}, {"ham": 0.0, "spam": 1.0}, {"ham": 0.5, "spam": 0.5}]
    table, summary = read_answers(rounded, CLASSES)
    expected = np.array([[0.33, 0.66], [0.005, 1.0], [0.5, 0.5]])
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(table.probabilities, expected)
    found = (summary.decimals, summary.n_raised, summary.n_tied, summary.n_one_class)
    assert found == (2, 1, 1, 1)
    exact = [{"ham": 1 / 3, "spam": 2 / 3}, {"ham": 0.0, "spam": 1.0}]
    table, summary = read_answers(exact, CLASSES)
    assert table.probabilities[1].tolist() == [0.0, 1.0]
    assert (summary.decimals, summary.n_raised, summary.n_one_class) == (None, 0, 1)
    table, summary = read_answers([{"ham": 0, "spam": 1}], CLASSES)
    assert (table.probabilities.tolist(), summary.n_one_class) == ([[0.0, 1.0]], 1)


def test_decision_answers_that_miss_1_are_still_seen_as_rounded():
    probabilities = {"a": 0.33, "b": 0.33, "c": 0.33, "d": 0.0}
    answer = {"type": "choice", "choice": "a", "probabilities": probabilities}
    table, summary = read_answers([{"answers": {"q": answer}}], ["a", "b", "c", "d"])
    assert (summary.decimals, summary.n_raised, summary.n_tied) == (2, 1, 1)
    np.testing.assert_allclose(table.probabilities[0] * 0.995, [0.33, 0.33, 0.33, 0.005])
