"""Ids that appear twice: found across chunks in any memory, and never where none does."""

import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnip.base.errors import InvalidInputError, OutputError
from dnip.tables import ProbabilityTable, Scan
from dnip.tables.ids import IdsSeen, hashes_of
from dnip.tables.reading import read_chunks
from strategies import seeded

texts = st.lists(st.text(st.characters(codec="utf-8"), max_size=6), min_size=1, max_size=30)


def arrow(ids):
    return pa.array(ids, pa.large_string())


@seeded
@given(texts, st.integers(0, 29), st.integers(1, 1 << 17))
def test_texts_hash_alike_just_where_they_are_alike(ids, start, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dnip.tables.ids._MAX_BYTES", at_once)
        hashes = hashes_of(arrow(ids))
        part = hashes_of(arrow(ids)[start:])
    np.testing.assert_array_equal(part, hashes[start:])
    assert len(set(hashes.tolist())) == len(set(ids))


@pytest.mark.parametrize("n_chunks", [1, 2, 50])
@pytest.mark.parametrize("memory", [16, 1600, 10**9])
@pytest.mark.parametrize("form", [arrow, lambda ids: np.array(ids, dtype=object)])
def test_repeated_hashes_are_found_in_any_memory(n_chunks, memory, form):
    rng = np.random.default_rng(0)
    rows = rng.integers(3000, size=2000)
    chunks = [form([f"row {row}" for row in part]) for part in np.array_split(rows, n_chunks)]
    with IdsSeen(memory) as seen:
        for chunk in chunks:
            seen.add(chunk)
        repeated = seen.repeated()
        assert (seen._spill is None) == (n_chunks == 1 or memory == 10**9)
    values, counts = np.unique(rows, return_counts=True)
    twice = form([f"row {row}" for row in values[counts > 1]])
    np.testing.assert_array_equal(repeated, np.sort(hashes_of(twice)))


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


@pytest.mark.parametrize("chunk_rows", [1, 4, 100])
@pytest.mark.parametrize("id_memory", [0, 1 << 20])
def test_both_places_are_told(path, chunk_rows, id_memory):
    with pytest.raises(InvalidInputError, match=r"row 10: the id 'row 3' is already .*: row 4"):
        list(read_chunks(path, chunk_rows=chunk_rows, id_memory=id_memory))


def test_other_ids_of_the_same_hash_pass(path, monkeypatch):
    def collide(ids):
        return np.array([len(text) for text in ids.tolist()], dtype=np.uint64)

    monkeypatch.setattr("dnip.tables.ids.hashes_of", collide)
    with pytest.raises(InvalidInputError, match=r"row 10: the id 'row 3' is already"):
        list(read_chunks(path, chunk_rows=2))
    unique = path.with_name(f"u{path.suffix}")
    table = ProbabilityTable(np.full((12, 2), 0.5), ids=[f"row {number}" for number in range(12)])
    table.write(unique)
    assert sum(map(len, read_chunks(unique, chunk_rows=2))) == 12


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
    with pytest.raises(InvalidInputError, match=r"1\.parquet: row 1: the id .*0\.parquet: row 2"):
        list(Scan(tmp_path))


def test_text_that_is_no_unicode_is_a_damaged_file(tmp_path):
    path = tmp_path / "t.parquet"
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 1], np.int32)), pa.py_buffer(b"\xff")]
    )
    pq.write_table(pa.table({"id": bad, "p0": [0.5], "p1": [0.5]}), path)
    with pytest.raises(InvalidInputError, match="not a sound Parquet file"):
        list(Scan(path))


def test_a_full_temporary_folder_is_told(monkeypatch, path):
    def fail(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "TemporaryFile", fail)
    with pytest.raises(OutputError, match=r"No space left on device.*TMPDIR"):
        list(read_chunks(path, chunk_rows=2, id_memory=0))
