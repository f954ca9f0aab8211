import numpy as np
import pytest

from dnip.base.errors import InvalidInputError, OutputError
from dnip.tables import ProbabilityTable, open_writer

SUFFIXES = ["csv", "csv.gz", "jsonl", "jsonl.gz", "npz", "parquet"]


@pytest.fixture(params=SUFFIXES)
def old(tmp_path, request, table):
    """A file that stands where a new one is to be written."""
    path = tmp_path / f"t.{request.param}"
    table.take([0, 1]).write(path)
    return path


def assert_untouched(path, table, assert_same):
    assert list(path.parent.iterdir()) == [path]
    assert_same(ProbabilityTable.read(path, table.classes), table.take([0, 1]))


def write_until(stop, path, table):
    with open_writer(path, table.classes) as writer:
        writer.write(table)
        raise stop


@pytest.mark.parametrize("stop", [RuntimeError, KeyboardInterrupt])
def test_an_exception_in_the_middle_leaves_the_old_file(old, table, assert_same, stop):
    with pytest.raises(stop):
        write_until(stop, old, table)
    assert_untouched(old, table, assert_same)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_without_rows_is_not_written(tmp_path, table, suffix):
    path = tmp_path / f"t.{suffix}"
    with pytest.raises(InvalidInputError, match="no rows to write"):
        table.take([]).write(path)
    assert list(tmp_path.iterdir()) == []


P = np.array([[0.5, 0.5]])


@pytest.mark.parametrize(
    ("second", "columns", "told"),
    [
        (ProbabilityTable(P, classes=("a", "b")), {}, "has the classes a, b"),
        (ProbabilityTable(P, np.array([0])), {}, "has the columns label, p0, p1"),
        (ProbabilityTable(P, ids=["x"]), {}, "has the columns id, p0, p1"),
        (ProbabilityTable(P), {"predictions": [0]}, "has the columns prediction, p0, p1"),
        (ProbabilityTable(P), {"predictions": [2]}, "label 2 is outside 0..1"),
        (ProbabilityTable(P), {"predictions": [0, 0]}, "shape (2,), but 1 examples"),
        (ProbabilityTable(P), {"mass": [1, 1]}, "mass has shape"),
        (ProbabilityTable(P), {"samples": [1, 1]}, "samples has shape"),
        (ProbabilityTable(P), {"fallback": [1, 1]}, "fallback has shape"),
    ],
)
def test_rows_that_do_not_fit_the_file_are_refused(tmp_path, second, columns, told):
    def write():
        with open_writer(tmp_path / "t.csv", ["0", "1"]) as writer:
            writer.write(ProbabilityTable(P))
            writer.write(second, **columns)

    with pytest.raises(InvalidInputError) as caught:
        write()
    assert told in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_wrong_paths_are_refused(tmp_path, table):
    with pytest.raises(InvalidInputError, match=r"known suffixes are \.csv"):
        table.write(tmp_path / "t.xlsx")
    with pytest.raises(OutputError, match="does not exist"):
        table.write(tmp_path / "no" / "t.csv")
    (tmp_path / "parts.parquet").mkdir()
    with pytest.raises(OutputError, match="it is a folder"):
        table.write(tmp_path / "parts.parquet")
