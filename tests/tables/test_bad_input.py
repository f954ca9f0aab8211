"""What each format refuses, and that the message says file, row, column, value and remedy."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cases import cases
from dnip import Coefficients
from dnip.base.errors import DNIPWarning, InvalidInputError
from dnip.tables import ProbabilityTable
from dnip.tables.files import read_rows

GZIPPED = gzip.compress(b"label,p0,p1\n" + b"0,0.25,0.75\n" * 1000, mtime=0)


P = np.array([[0.5, 0.5], [0.25, 0.75]])
HALVES = {"p0": [0.5] * 2, "p1": [0.5] * 2}
ENDS = pa.py_buffer(np.array([0, 1, 1], np.int32))
NO_UNICODE = pa.Array.from_buffers(pa.string(), 2, [None, ENDS, pa.py_buffer(b"\xff")])

#: By the ending of the file's name: what it holds, and what is told of it.
REFUSED = {
    "csv": [
        ("\n\n", ["the file is empty"]),
        ("label,p0,p1\n0,1_0,1\n", ["row 1, column p0: '1_0' is not a number"]),
        ('p0,p1\n"0,5","0,5"\n', ["row 1, column p0: '0,5' is not a number", "decimal point"]),
        ("p0,p1\n0,1\n\n1,\n", ["row 2, column p1: the number is missing"]),
        (
            "label,ham,spam,user\nham,0,1,\nspam,0,1,u1\n",
            ["row 1, column user: the number is missing", "a column that is no class goes"],
        ),
        (
            "label,p ham,p spam,n\n,0,1,7\nham,0,1,7\nspam,0,1,7\n",
            ["they sum to 8", "If a column is no class, name the classes with --classes p ham,"],
        ),
        ("id,p0,p1\na,0,1\n,0,1\n", ["row 2: the id is empty"]),
        ('p0,p1\n0,1\n0,"1\n', ["line 3 is not valid CSV", "quote"]),
        (b"id,p0,p1\na,0,1\n\xe9,0,1\n", ["line 3 is not UTF-8 text (byte 0xe9)"]),
        ("p0,p1\n0,1\n".encode("utf-16"), ["line 1 is not UTF-8", "Save the file as UTF-8"]),
        (GZIPPED, ["line 1 is not UTF-8", "ends its name in .gz"]),
    ],
    "csv.gz": [
        (b"label,p0,p1\n", ["this gzip file is damaged", "drop .gz"]),
        (GZIPPED[:-9], ["this gzip file is damaged"]),
        (GZIPPED[:-8] + b"\0" * 8, ["this gzip file is damaged", "CRC"]),
        (GZIPPED[:30] + b"\xff" * 20, ["this gzip file is damaged"]),
        (gzip.compress(b"p0,p1\n\xff,1\n", mtime=0), ["line 2 is not UTF-8 text (byte 0xff)"]),
    ],
    "jsonl": [
        ("{}\n", ["no class columns"]),
        ("[0, 1]\n", ["row 1", "it is of type list, not an object"]),
        ('{"p0": 1, "p1": 0}\n\n{"p0": 1,\n', ["row 2 is not valid JSON"]),
        ("[" * 100_000, ["row 1 is not valid JSON"]),
        ('{"p0": 1, "p1": "0"}\n', ["row 1, column p1: '0' is not a number"]),
        ('{"p0": 1, "p1": null}\n', ["row 1, column p1: the number is missing"]),
        (f'{{"p0": 1, "p1": 1{"0" * 400}}}\n', ["row 1, column p1: 1000", "is too large"]),
        ('{"p0": 1, "p1": 0}\n{"p0": 1}\n', ["row 2, column p1 is missing"]),
        (
            '{"p0": 1, "p1": 0}\n{"p0": 1, "p1": 0, "label": 1}\n',
            ["row 2, column label is not in row 1", '"label": null'],
        ),
        ('{"p0": 1, "p1": 0, "p0": 1}\n', ["row 1", "a key is there twice"]),
        ('{"label": [0], "p0": 1, "p1": 0}\n', ["row 1, column label: a text or a number"]),
        ('{"id": "\\ud800", "p0": 1, "p1": 0}\n', ["row 1: the id", "Unicode"]),
    ],
    "parquet": [
        ({"p0": [0.5, None], "p1": [0.5, 1.0]}, ["row 2, column p0: the number is missing"]),
        ({"p0": [True], "p1": [0.5]}, ["row 1, column p0: True is not a number"]),
        ({"p0": [[1.0]], "p1": [0.5]}, ["row 1, column p0", "is not a number"]),
        ({"p0": pa.array([], pa.float64()), "p1": pa.array([], pa.float64())}, ["no rows"]),
        ({"id": pa.array(["a", ""]), **HALVES}, ["row 2: the id is empty"]),
        ({"id": pa.array(["a", "b\0"]), **HALVES}, ["row 2: the id ", "no file can hold"]),
        ({"id": pa.array(["a", "a"]), **HALVES}, ["row 2: the id 'a' is already"]),
        (
            {"id": pa.array(["a"] * 2).dictionary_encode(), **HALVES},
            ["row 2: the id 'a' is already"],
        ),
        ({"id": pa.array([7, 7], pa.int8()), **HALVES}, ["row 2: the id '7' is already"]),
        ({"id": pa.array([0.5, None]), **HALVES}, ["row 2: the id is empty"]),
        ({"id": NO_UNICODE, **HALVES}, ["this Parquet file is damaged"]),
    ],
}
#: Another format meets the same faults, and tells of them in other words.
REFUSED["jsonl.gz"] = [(data, []) for data, _ in REFUSED["csv.gz"]]


def write(path, content):
    """Write bytes, a text or columns."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table(content), path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def assert_refused(path, told, classes=None):
    with pytest.raises(InvalidInputError) as caught:
        ProbabilityTable.read(path, classes)
    for part in [str(path), *told]:
        assert part in str(caught.value)
    assert caught.value.hint


@cases(*((suffix, *case) for suffix, refused in REFUSED.items() for case in refused))
def test_what_is_no_table_is_refused_with_its_place(tmp_path, suffix, content, told):
    path = tmp_path / f"t.{suffix}"
    write(path, content)
    assert_refused(path, told)


def test_damaged_parquet(tmp_path, table):
    path = tmp_path / "t.parquet"
    table.write(path)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[100] ^= 0x01
    for data in [b"", b"junk", whole[: len(whole) // 2], whole[:-20], bytes(flipped)]:
        path.write_bytes(data)
        assert_refused(path, ["this Parquet file is damaged", "again"])


@cases(
    ({"q": P}, "there is no array p; the arrays are q. Save probabilities p, shape (M, N), and"),
    ({"p": P[0]}, "has shape (2,), but a matrix (examples, classes) is needed"),
    ({"p": P, "y": [0]}, "t.npz: y has shape (1,), but 2 examples need (2,)"),
    ({"p": P, "y": np.array([{}, 1])}, "arrays cannot be read: Object arrays cannot be loaded"),
    ({"p": P, "y": [0, 7]}, "row 2, column label: '7' is a class index outside 0..1"),
    ({"p": [*P, [-1, 2]]}, "row 3, column p0: the probability is negative"),
    ({"p": P[:0]}, "there are no rows"),
)
def test_arrays(tmp_path, arrays, told):
    np.savez(tmp_path / "t.npz", **arrays)
    assert_refused(tmp_path / "t.npz", [told])


def test_parts_with_other_columns_are_refused(tmp_path, table):
    table.write(tmp_path / "part-0.parquet")
    ProbabilityTable(np.array([[0.5, 0.25, 0.25]])).write(tmp_path / "part-1.parquet")
    assert_refused(tmp_path, ["part-1.parquet: the columns p0, p1, p2 differ", "part-0.parquet"])


def test_paths(tmp_path):
    xlsx = tmp_path / "t.xlsx"
    xlsx.touch()
    assert_refused(xlsx, ["'.xlsx'", ".csv, .csv.gz, .jsonl, .jsonl.gz, .parquet, .npz, .npy"])
    for suffix, remedy in {
        "pkl": "dnip.fit(probabilities, labels)",
        "TSV": "dnip import",
        "xls": "CSV UTF-8",
        "arrow": "Parquet",
    }.items():
        (tmp_path / f"t.{suffix}").touch()
        assert_refused(tmp_path / f"t.{suffix}", [f"'.{suffix}'", remedy])
    assert_refused(xlsx / "t.csv", ["cannot be read"])
    Coefficients(["a", "b"], [1, 2], 2).save(tmp_path / "c.json")
    assert_refused(tmp_path / "c.json", ["c.json is a file of coefficients", "table"])


def test_other_class_names_than_those_in_the_file_are_refused(tmp_path, table):
    path = tmp_path / "t.parquet"
    table.write(path)
    assert_refused(path, ["bad, so, so", "a, b, c were given"], classes=["a", "b", "c"])


@pytest.fixture(params=["csv", "parquet", "jsonl"])
def path(tmp_path, request):
    """A table whose row 10 has the id of its row 4."""
    ids = [f"row {number}" for number in (*range(9), 3, 10, 11)]
    frame = pd.DataFrame({"id": ids, "p0": 0.5, "p1": 0.5})
    path = tmp_path / f"t.{request.param}"
    if request.param == "parquet":
        frame.to_parquet(path)
    elif request.param == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    return path


@cases((1, "in an earlier"), (4, "in an earlier"), (100, ".*: row 4"))
def test_an_id_that_appears_twice_is_told_with_both_places(path, block_rows, place):
    with pytest.raises(InvalidInputError, match=f"row 10: the id 'row 3' is already {place}"):
        list(read_rows(path, block_rows=block_rows))


def test_of_very_many_ids_only_the_first_are_compared(path, monkeypatch):
    monkeypatch.setattr("dnip.tables.cells.MOST_IDS", 5)
    monkeypatch.setattr("dnip.tables.rows.MOST_IDS", 5)
    with pytest.warns(DNIPWarning, match="ids were compared in the first 5 rows only"):
        assert sum(map(len, read_rows(path, block_rows=6))) == 12
    with pytest.raises(InvalidInputError, match="is already"):
        list(read_rows(path))
