import errno
import signal
import subprocess
import sys

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


def test_a_full_disk_leaves_the_old_file_and_says_so(old, table, assert_same):
    with pytest.raises(OutputError, match=r"No space left on device\. Free some space"):
        write_until(OSError(errno.ENOSPC, "No space left on device"), old, table)
    assert_untouched(old, table, assert_same)


_ENDLESS_WRITE = """
import sys
import numpy as np
from dnip.tables import ProbabilityTable, open_writer
chunk = ProbabilityTable(np.full((1000, 3), 1 / 3), classes=tuple(sys.argv[2:]))
with open_writer(sys.argv[1], chunk.classes) as writer:
    for number in range(10**6):
        writer.write(chunk)
        if number == 3:
            print("writing", flush=True)
"""


def test_a_killed_process_leaves_the_old_file(tmp_path, table, assert_same):
    path = tmp_path / "t.csv.gz"
    table.take([0, 1]).write(path)
    with subprocess.Popen(
        [sys.executable, "-c", _ENDLESS_WRITE, str(path), *table.classes],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "writing\n"
        process.send_signal(signal.SIGKILL)
    assert_same(ProbabilityTable.read(path, table.classes), table.take([0, 1]))


def test_a_table_can_be_rewritten_in_place(old, table, assert_same):
    rows = ProbabilityTable.read(old, table.classes)
    rows.take([1]).write(old)
    assert_same(ProbabilityTable.read(old, table.classes), rows.take([1]))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_file_without_rows_is_not_written(tmp_path, table, suffix):
    path = tmp_path / f"t.{suffix}"
    with pytest.raises(InvalidInputError, match="no rows to write"):
        table.take([]).write(path)
    assert list(tmp_path.iterdir()) == []


P = np.array([[0.5, 0.5]])


@pytest.mark.parametrize(
    ("second", "predictions", "told"),
    [
        (ProbabilityTable(P, classes=("a", "b")), None, "has the classes a, b"),
        (ProbabilityTable(P, np.array([0])), None, "has the columns label, p0, p1"),
        (ProbabilityTable(P, ids=["x"]), None, "has the columns id, p0, p1"),
        (ProbabilityTable(P), [0], "has the columns prediction, p0, p1"),
        (ProbabilityTable(P), [2], "label 2 is outside 0..1"),
        (ProbabilityTable(P), [0, 0], "shape (2,), but 1 examples"),
    ],
)
def test_rows_that_do_not_fit_the_file_are_refused(tmp_path, second, predictions, told):
    def write():
        with open_writer(tmp_path / "t.csv", ["0", "1"]) as writer:
            writer.write(ProbabilityTable(P))
            writer.write(second, predictions)

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
