"""What is written reads back exactly, in every format, however odd."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from cases import cases
from dnip import InvalidInputError
from dnip.tables import ProbabilityTable, open_writer
from dnip.tables.files import read_rows

SUFFIXES = ["csv", "csv.gz", "jsonl", "jsonl.gz", "parquet"]

# Everything that UTF-8 can hold but NUL.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
ODD_TEXTS = TEXTS | st.sampled_from([",", '"', '""', "\n", "\r", " a ", "é\u2028", "=1", "007"])
TINY = st.sampled_from([5e-324, 2.2250738585072014e-308, 1e-17, 0.1, 1 / 3])


@st.composite
def tables(draw):
    m, n = draw(st.integers(1, 6)), draw(st.integers(2, 4))
    p = draw(arrays(np.float64, (m, n), elements=TINY | st.floats(0, 1)))
    p[:, 0] = np.maximum(0, 1 - p[:, 1:].sum(axis=1))
    p /= np.maximum(1, p.sum(axis=1))[:, None]
    labels = draw(st.none() | arrays(np.int64, m, elements=st.integers(-1, n - 1)))
    ids = draw(st.none() | st.lists(ODD_TEXTS, min_size=m, max_size=m, unique=True))
    names = st.lists(ODD_TEXTS.filter(str.strip), min_size=n, max_size=n, unique=True)
    table = ProbabilityTable(p, None, ids, tuple(draw(st.just(()) | names)))
    if labels is None:
        return table
    return ProbabilityTable(
        p, [[*table.classes, None][label] for label in labels], ids, table.classes
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=tables())
def test_read_gives_what_was_written(tmp_path, assert_same, suffix, table):
    path = tmp_path / f"t.{suffix}"
    table.write(path)
    assert_same(ProbabilityTable.read(path), table)


@settings(max_examples=60, deadline=None)
@given(table=tables())
def test_frames_give_what_was_put_in(table):
    for library in ("pandas", "polars", "pyarrow"):
        back = ProbabilityTable.from_frame(table.to_frame(library))
        assert back.data_hash == table.data_hash
        assert back.ids is None or back.ids.tolist() == table.ids.tolist()


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("block_rows", [1, 7, 40, 1000])
def test_a_stream_is_the_table_in_pieces(tmp_path, table, assert_same, suffix, block_rows):
    path, copy = tmp_path / f"t.{suffix}", tmp_path / f"copy.{suffix}"
    table.write(path)
    with open_writer(copy, table.classes) as writer:
        for chunk in read_rows(path, table.classes, block_rows=block_rows):
            assert 1 <= len(chunk) <= block_rows
            writer.write(chunk)
    assert_same(ProbabilityTable.read(copy), table)  # class names travel inside the file


@pytest.mark.parametrize("name", ["id", "p1", "2", " b", "gold", "label", "mass", "prediction"])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_names_that_could_be_read_as_something_else_are_no_column(tmp_path, suffix, name):
    table = ProbabilityTable(np.array([[0.25, 0.75]]), np.array([name]), classes=("a", name))
    path = tmp_path / f"t.{suffix}"
    table.write(path)
    for classes in (table.classes, None):
        assert ProbabilityTable.read(path, classes).data_hash == table.data_hash


@pytest.mark.parametrize(
    "classes",
    [("1", "2", "3", "4", "5"), ("10", "1", "2"), ("1", "0"), ("-1", "0", "1"), ("0.5", "1.5")],
)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_classes_that_are_numbers_are_read_as_they_were_written(tmp_path, suffix, classes):
    rng = np.random.default_rng(len(classes))
    p, truth = rng.dirichlet(np.ones(len(classes)), 30), rng.integers(-1, len(classes) - 1, 30)
    table = ProbabilityTable(p, [[*classes, None][label] for label in truth], classes=classes)
    assert table.labels.tolist() == truth.tolist()
    path = tmp_path / f"t.{suffix}"
    table.write(path)
    for back in (
        ProbabilityTable.read(path),
        ProbabilityTable.read(path, classes),
        ProbabilityTable.from_frame(table.to_frame("pandas")),
    ):
        assert (back.classes, back.data_hash) == (classes, table.data_hash)
    if suffix == "csv":  # as pandas reads it, and as it writes that again: 3 is 3.0 there
        frame = pd.read_csv(path)
        frame.to_csv(path, index=False)
        for back in (ProbabilityTable.from_frame(frame), ProbabilityTable.read(path)):
            assert (back.classes, back.labels.tolist()) == (classes, truth.tolist())


def test_columns_that_begin_with_p_are_classes_though_others_are_there(tmp_path):
    (tmp_path / "t.csv").write_text("id,text,p_ham,p_spam,label\n0,hi,0.25,0.75,spam\n1,ho,1,0,\n")
    table = ProbabilityTable.read(tmp_path / "t.csv")
    assert (table.classes, table.labels.tolist()) == (("ham", "spam"), [1, -1])
    assert ProbabilityTable.read(tmp_path / "t.csv", ["spam", "ham"]).labels.tolist() == [0, -1]


HEADED = "id,bad,good,label\n0,0.25,0.75,good\n1,1,0,\n"


def test_all_columns_are_classes_that_mean_nothing_else(tmp_path):
    (tmp_path / "t.csv").write_text(HEADED)
    table = ProbabilityTable.read(tmp_path / "t.csv")
    assert table.classes == ("bad", "good")
    assert table.labels.tolist() == [1, -1]
    frame = pd.DataFrame({"bad": [0.25, 1], "good": [0.75, 0], "label": ["good", None]})
    assert ProbabilityTable.from_frame(frame).data_hash == table.data_hash


@cases(
    (",good\n", ",1\n", "where labels are numbers, name the classes with --classes bad,good"),
    ("0.75", "text", "row 1, column good: 'text' is not a number.* If a column is no"),
    ("0.75", "17", "row 1: the columns bad, good were taken for the classes.* sum to 17"),
)
def test_where_that_leaves_a_doubt_the_message_names_the_option(tmp_path, old, new, told):
    (tmp_path / "t.csv").write_text(HEADED.replace(old, new))
    with pytest.raises(InvalidInputError, match=told) as caught:
        ProbabilityTable.read(tmp_path / "t.csv")
    assert "--classes" in caught.value.hint


def test_hints_do_no_harm(tmp_path):
    rows = "label,bad,good,sure\nbad,0.75,0.25,0.9\ngood,0.5,0.5,0.8\n"
    hints = {}
    for name, text in {
        "more": rows,
        "empty": rows.replace("0.25", ""),
        "log": "answer,label,bad,good\nbad,bad,0.75,0.25\n",
    }.items():
        (tmp_path / name).with_suffix(".csv").write_text(text)
        with pytest.raises(InvalidInputError) as caught:
            ProbabilityTable.read(tmp_path / f"{name}.csv")
        hints[name] = caught.value.hint
    assert "--classes bad,good " in hints["more"]
    assert "--classes" not in hints["empty"]
    assert "dnip import" in hints["log"]


@pytest.mark.parametrize("classes", [(), ("no", "yes")])
def test_columns_as_written(tmp_path, classes):
    p, labels = np.array([[0.25, 0.75], [1, 0]]), np.array([1, -1])
    table = ProbabilityTable(p, labels, ["a,b", "c"], classes)
    for suffix in ("csv", "jsonl", "parquet"):
        with open_writer(tmp_path / f"t.{suffix}", table.classes) as writer:
            writer.write(table, predictions=[1, 0])
    first, second = classes or ("p0", "p1")
    no, yes = classes or (0, 1)
    assert (tmp_path / "t.csv").read_text() == (
        f'id,label,prediction,{first},{second}\n"a,b",{yes},{yes},0.25,0.75\nc,,{no},1.0,0.0\n'
    )
    row = json.loads((tmp_path / "t.jsonl").read_text().splitlines()[1])
    assert row == {"id": "c", "label": None, "prediction": no, first: 1, second: 0}
    file = pq.read_table(tmp_path / "t.parquet")
    assert file["label"].to_pylist() == [yes, None]
    label = "string" if classes else "int64"
    assert [str(kind) for kind in file.schema.types] == ["string", *[label] * 2, *["double"] * 2]


class TestOtherPeoplesFiles:
    def test_pandas_writes_labels_with_gaps_as_floats(self, tmp_path):
        frame = pd.DataFrame({"label": [1, None, 0], "p0": [0.5, 1, 0], "p1": [0.5, 0, 1]})
        frame.to_csv(tmp_path / "t.csv", index=False)
        frame.to_parquet(tmp_path / "t.parquet", index=False)
        for name in ("t.csv", "t.parquet"):
            assert ProbabilityTable.read(tmp_path / name).labels.tolist() == [1, -1, 0]

    def test_a_byte_order_mark_and_windows_line_ends_are_no_matter(self, tmp_path):
        path = tmp_path / "t.csv"
        path.write_bytes("\ufeffp1, p0 ,label\r\n0.25,0.75,1\r\n\r\n".encode())
        table = ProbabilityTable.read(path)
        assert table.probabilities.tolist() == [[0.75, 0.25]]
        assert table.labels.tolist() == [1]

    def test_a_folder_of_parts_is_one_table(self, tmp_path, table, assert_same):
        for number in range(4):
            table.take(range(number * 10, number * 10 + 10)).write(tmp_path / f"{number}.parquet")
        (tmp_path / "_SUCCESS").touch()
        (tmp_path / "_metadata.parquet").write_bytes(b"junk")
        assert_same(ProbabilityTable.read(tmp_path), table)
        assert sum(len(chunk) for chunk in read_rows(tmp_path, block_rows=7)) == 40


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_device_takes_every_format(tmp_path, table, suffix):
    path = tmp_path / f"t.{suffix}"
    path.symlink_to("/dev/null")
    table.write(path)
    assert path.is_char_device()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_without_rows_is_not_written(tmp_path, table, suffix):
    path = tmp_path / f"t.{suffix}"
    with pytest.raises(InvalidInputError, match="no rows to write"):
        table.take([]).write(path)
    assert list(tmp_path.iterdir()) == []


P = np.array([[0.5, 0.5]])


@cases(
    (ProbabilityTable(P, classes=("a", "b")), {}, "has the classes a, b"),
    (ProbabilityTable(P, np.array([0])), {}, "has the columns label, p0, p1"),
    (ProbabilityTable(P), {"predictions": [0]}, "has the columns prediction, p0, p1"),
    (
        ProbabilityTable(P),
        {"predictions": [2]},
        "predictions[0]: '2' is a class index outside 0..1",
    ),
    (ProbabilityTable(P), {"predictions": [0, 0]}, "shape (2,), but 1 examples"),
)
def test_rows_that_do_not_fit_the_file_are_refused(tmp_path, second, columns, told):
    def write():
        with open_writer(tmp_path / "t.csv", ["0", "1"]) as writer:
            writer.write(ProbabilityTable(P))
            writer.write(second, **columns)

    with pytest.raises(InvalidInputError, match=re.escape(told)):
        write()
    assert list(tmp_path.iterdir()) == []
