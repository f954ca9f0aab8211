"""Ids that appear twice are found, in one block or in two, and bad ones are refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.tables import ProbabilityTable, Scan
from dnip.tables.reading import read_rows


@pytest.fixture(params=["csv", "parquet", "jsonl"])
def path(tmp_path, request):
    """A table whose row 10 has the id of its row 4."""
    ids = [f"row {number}" for number in range(12)]
    ids[9] = ids[3]
    path = tmp_path / f"t.{request.param}"
    if request.param == "parquet":
        pq.write_table(pa.table({"id": ids, "p0": [0.5] * 12, "p1": [0.5] * 12}), path)
    elif request.param == "csv":
        path.write_text("id,p0,p1\n" + "".join(f"{text},0.5,0.5\n" for text in ids))
    else:
        path.write_text("".join(f'{{"id": "{text}", "p0": 0.5, "p1": 0.5}}\n' for text in ids))
    return path


@pytest.mark.parametrize("block_rows", [1, 4])
def test_an_id_of_an_earlier_block_is_told(path, block_rows):
    with pytest.raises(InvalidInputError, match=r"row 10: the id 'row 3' is already in an earlier"):
        list(read_rows(path, block_rows=block_rows))


def test_both_places_in_a_block_are_told(path):
    with pytest.raises(InvalidInputError, match=r"row 10: the id 'row 3' is already .*: row 4"):
        list(read_rows(path))


def test_of_very_many_ids_only_the_first_are_compared(path, monkeypatch):
    monkeypatch.setattr("dnip.tables.cells.MOST_IDS", 5)
    monkeypatch.setattr("dnip.tables.reading.MOST_IDS", 5)
    with pytest.warns(DNIPWarning, match="ids were compared in the first 5 rows only"):
        assert sum(map(len, read_rows(path, block_rows=6))) == 12
    with pytest.raises(InvalidInputError, match="is already"):
        list(read_rows(path))


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        (pa.array(["a", ""]), "row 2: the id is empty"),
        (pa.array(["a", None]), "row 2: the id is empty"),
        (pa.array(["a", "b\0"]), "row 2: the id .* no file can hold"),
        (pa.array(["a", "a"]), "row 2: the id 'a' is already"),
        (pa.array(["a", "a"]).dictionary_encode(), "row 2: the id 'a' is already"),
        (pa.array([7, 7], pa.int8()), "row 2: the id '7' is already"),
        (pa.array([0.5, None]), "row 2: the id is empty"),
    ],
)
def test_bad_ids_in_parquet(tmp_path, ids, told):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": ids, "p0": [0.5] * 2, "p1": [0.5] * 2}), path)
    with pytest.raises(InvalidInputError, match=told):
        ProbabilityTable.read(path)


@pytest.mark.parametrize("parts", [([1, 2], ["2", "3"]), ([0.5, 1.5], ["1.5", "2"])])
def test_numbers_and_texts_in_two_parts_are_one_kind_of_id(tmp_path, parts):
    for number, ids in enumerate(parts):
        columns = {"id": ids, "p0": [0.5] * 2, "p1": [0.5] * 2}
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    with pytest.raises(InvalidInputError, match=r"1\.parquet: row 1: the id .* is already"):
        list(Scan(tmp_path))


def test_text_that_is_no_unicode_is_a_damaged_file(tmp_path):
    path = tmp_path / "t.parquet"
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")]
    )
    pq.write_table(pa.table({"id": bad, "p0": [0.5], "p1": [0.5]}), path)
    with pytest.raises(InvalidInputError, match="not a sound Parquet file"):
        list(Scan(path))
