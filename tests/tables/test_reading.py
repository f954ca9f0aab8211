"""What is written reads back exactly, in every format and in blocks, however odd."""

import json
import warnings
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from dnip import DNIPWarning, InvalidInputError, ProbabilityTable
from dnip.tables import Scan, open_writer
from dnip.tables.cells import ROW_SUM_TOLERANCE, check_probabilities
from dnip.tables.files import ahead
from dnip.tables.formats import format_of
from dnip.tables.rows import joined

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
    with open_writer(copy) as writer:
        for chunk in Scan(path, table.classes, block_rows=block_rows):
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


@pytest.mark.parametrize("classes", [(), ("no", "yes")])
def test_columns_as_written(tmp_path, classes):
    p, labels = np.array([[0.25, 0.75], [1, 0]]), np.array([1, -1])
    table = ProbabilityTable(p, labels, ["a,b", "c"], classes)
    for suffix in ("csv", "jsonl", "parquet"):
        with open_writer(tmp_path / f"t.{suffix}") as writer:
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
        assert sum(len(chunk) for chunk in Scan(tmp_path, block_rows=7)) == 40


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_device_takes_every_format(tmp_path, table, suffix):
    path = tmp_path / f"t.{suffix}"
    path.symlink_to("/dev/null")
    table.write(path)
    assert path.is_char_device()


# --- in blocks ---
@pytest.fixture
def percentages(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("p0,p1\n0.5,0.5\n" + "25,75\n" * 9)
    return path


@pytest.mark.parametrize("block_rows", [1, 3, 100])
def test_normalised_rows_are_told_once_per_file(percentages, block_rows):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chunks = list(Scan(percentages, block_rows=block_rows))
    assert [str(warning.message) for warning in caught] == [
        f"{percentages}: 9 of 10 rows did not sum to 1 and were normalised "
        f"(the first is {percentages}: row 2, sum 100)"
    ]
    assert chunks[-1].probabilities[-1].tolist() == [0.25, 0.75]


def table_of(n_rows):
    rng = np.random.default_rng(0)
    return ProbabilityTable(rng.dirichlet([1, 1, 1], n_rows), rng.integers(0, 3, n_rows))


@pytest.mark.parametrize("size", [1, 2, 5, 20])
def test_some_row_groups_of_a_folder_are_read_alone_and_know_their_rows(tmp_path, size):
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    table = table_of(1000)
    for part, bounds in enumerate([(0, 300), (300, 310), (310, 1000)]):
        path = tmp_path / f"{part}.parquet"
        table.take(range(*bounds)).write(path)
        parquet.write_table(parquet.read_table(path), path, row_group_size=100)
    form = format_of(tmp_path)
    n_groups = form.count_groups(tmp_path)
    assert n_groups == 3 + 1 + 7
    runs = [range(first, min(first + size, n_groups)) for first in range(0, n_groups, size)]
    blocks = [b for run in runs for b in form.read(tmp_path, None, 40, groups=run)]
    found = np.column_stack(
        [np.concatenate([b.columns[f"p{c}"] for b in blocks]) for c in range(3)]
    )
    np.testing.assert_array_equal(found, table.probabilities)
    groups = form.read(tmp_path, None, 40, groups=range(5, 6))
    assert [(Path(b.layout.source).name, b.first_row) for b in groups] == [
        ("2.parquet", row) for row in (100, 140, 180)
    ]


def test_who_leaves_in_the_middle_does_not_wait_for_what_is_read_ahead():
    """The garbage collector may be who leaves, and a thread that it waits for may wait for it."""
    goes_on = Event()

    def slow():
        yield 1
        goes_on.wait(60)

    items = ahead(slow())
    assert next(items) == 1
    leaving = Thread(target=items.close)
    leaving.start()
    leaving.join(10)
    left_at_once = not leaving.is_alive()
    goes_on.set()
    leaving.join()
    assert left_at_once


@pytest.mark.parametrize("y", [None, [1, -1, 0], ["bad", "", "good"]])
@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_arrays_are_tables(tmp_path, y, kind):
    p = np.array([[0.25, 0.75], [0.5, 0.5], [1, 0]], kind)
    expected = ProbabilityTable(p, y, classes=["good", "bad"])
    given = {} if y is None else {"y": np.array(y)}
    np.savez(tmp_path / "test.npz", p=p, **given)
    np.save(tmp_path / "p_test.npy", p)
    for name, array in given.items():
        np.save(tmp_path / f"{name}_test.npy", array)
    for name in ("test.npz", "p_test.npy"):
        for block_rows in (1, 100):
            blocks = Scan(tmp_path / name, ["good", "bad"], block_rows=block_rows)
            assert ProbabilityTable(joined(blocks)).data_hash == expected.data_hash


# --- numbers that do not sum to 1 ---
def test_rows_off_are_normalised_and_told():
    p = np.array([[0.5, 0.5], [30.0, 10.0]])
    with pytest.warns(DNIPWarning, match=r"1 of 2 rows .* probabilities\[1\], sum 40"):
        checked = check_probabilities(p)
    np.testing.assert_array_equal(checked, [[0.5, 0.5], [0.75, 0.25]])
    np.testing.assert_array_equal(p[1], [30, 10])


SHAPES = array_shapes(min_dims=2, max_dims=2, min_side=2)


@given(arrays(np.float64, SHAPES, elements=st.floats(0, 1e300, exclude_min=True)))
def test_normalised_rows_sum_to_one(p):
    for row in p:
        checked = check_probabilities(row[None], warn=False)
        np.testing.assert_allclose(checked.sum(axis=1), 1, atol=ROW_SUM_TOLERANCE)


def test_numbers_that_share_nothing_are_refused_and_others_are_normalised():
    rng = np.random.default_rng(0)
    logits = 12 + rng.normal(0, 2, (50, 3))
    with pytest.raises(
        InvalidInputError, match=r"probabilities\[\d+\]: .* sum to .* elsewhere to .* softmax"
    ):
        check_probabilities(logits)
    shares = rng.dirichlet(np.ones(3), 50)
    for scaled in (100 * shares.round(3), np.floor(255 * shares), rng.poisson(4, (50, 3)) + 1):
        expected = scaled / scaled.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(check_probabilities(scaled, warn=False), expected)
