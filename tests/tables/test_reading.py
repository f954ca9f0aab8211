"""Tables read in blocks, whole or in part."""

import warnings
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

from dnip import InvalidInputError, ProbabilityTable
from dnip.tables.files import ahead, read_rows
from dnip.tables.formats import format_of
from dnip.tables.rows import joined


@pytest.fixture
def percentages(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("p0,p1\n0.5,0.5\n" + "25,75\n" * 9)
    return path


@pytest.mark.parametrize("block_rows", [1, 3, 100])
def test_normalised_rows_are_told_once_per_file(percentages, block_rows):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chunks = list(read_rows(percentages, block_rows=block_rows))
    assert [str(warning.message) for warning in caught] == [
        f"{percentages}: 9 of 10 rows did not sum to 1 and were normalised "
        f"(the first is {percentages}: row 2, sum 100)"
    ]
    assert chunks[-1].probabilities[-1].tolist() == [0.25, 0.75]


def test_a_folder_of_folders_is_met_with_the_name_of_one(tmp_path):
    (tmp_path / "recorded" / "topic").mkdir(parents=True)
    with pytest.raises(InvalidInputError, match=r"holds no .*within it is the folder .*topic$"):
        ProbabilityTable.read(tmp_path / "recorded")


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
            blocks = read_rows(tmp_path / name, ["good", "bad"], block_rows=block_rows)
            assert ProbabilityTable(joined(blocks)).data_hash == expected.data_hash
