import warnings

import pytest

from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.tables import ProbabilityTable
from dnip.tables.reading import read_chunks


@pytest.fixture
def percentages(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("p0,p1\n0.5,0.5\n" + "25,75\n" * 9)
    return path


@pytest.mark.parametrize("chunk_rows", [1, 3, 100])
def test_normalised_rows_are_told_once_per_file(percentages, chunk_rows):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        chunks = list(read_chunks(percentages, chunk_rows=chunk_rows))
    assert [str(warning.message) for warning in caught] == [
        f"{percentages}: 9 of 10 rows did not sum to 1 and were normalised "
        f"(the first is {percentages}: row 2, sum 100)"
    ]
    assert chunks[-1].probabilities[-1].tolist() == [0.25, 0.75]


def test_reading_tells_it_once_too(percentages):
    with pytest.warns(DNIPWarning, match="9 of 10 rows") as caught:
        table = ProbabilityTable.read(percentages)
    assert len(caught) == 1
    assert table.probabilities[1].tolist() == [0.25, 0.75]


def test_the_path_and_the_arguments_are_checked_at_once(tmp_path, percentages):
    with pytest.raises(InvalidInputError, match="no such file"):
        read_chunks(tmp_path / "no.csv")
    with pytest.raises(InvalidInputError, match="chunk_rows must be a whole number"):
        read_chunks(percentages, chunk_rows=0)
    with pytest.raises(InvalidInputError, match="at least 2 classes"):
        read_chunks(percentages, classes=["a"])


def test_rows_before_a_bad_one_are_given(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("p0,p1\n0.5,0.5\n0.5,x\n")
    chunks = read_chunks(path, chunk_rows=1)
    assert len(next(chunks)) == 1
    with pytest.raises(InvalidInputError, match="row 2, column p1"):
        next(chunks)


def test_rows_of_many_classes_come_in_shorter_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("dnip.tables.chunk._MAX_CELLS", 10)
    path = tmp_path / "t.csv"
    path.write_text("label,p0,p1\n" + "0,0.5,0.5\n" * 7)
    assert [len(chunk) for chunk in read_chunks(path)] == [3, 3, 1]
