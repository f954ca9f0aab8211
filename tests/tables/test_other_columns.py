"""Columns that mean nothing here: read with one warning, and carried through apply."""

import json

import numpy as np
import pytest

from dnip import Coefficients, DNIPWarning, ProbabilityTable
from dnip.deploying.application import apply_stream
from dnip.tables import Scan, open_writer

TEXTS = ["plain", 'a "quote", a comma', "line\nend", "", "🐟"]
SUFFIXES = (".csv", ".csv.gz", ".jsonl", ".npz", ".parquet")


@pytest.fixture(params=SUFFIXES)
def path(request, tmp_path):
    """A table with a column of texts."""
    table = ProbabilityTable(np.array([[0.75, 0.25]] * 5), np.array([0, 1, 0, 1, -1]))
    found = tmp_path / f"opt{request.param}"
    with open_writer(found, table.classes) as writer:
        writer.write(table, others={"text": TEXTS})
    return found


def test_they_are_named_once_and_not_read(path):
    with pytest.warns(DNIPWarning, match="column text not used") as warned:
        table = ProbabilityTable.read(path)
    assert len(warned) == 1
    assert table.labels.tolist() == [0, 1, 0, 1, -1]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_apply_carries_them_to_every_format(path, suffix, tmp_path):
    out = tmp_path / f"new{suffix}"
    apply_stream(Scan(path, others=True), Coefficients(["0", "1"], [1, 4], 4), out)
    (chunk,) = Scan(out, others=True)
    assert list(chunk.others["text"]) == TEXTS


def test_nested_cells_of_json_stay_as_they_are(tmp_path):
    rows = [{"p0": 0.5, "p1": 0.5, "meta": {"tokens": [1, 2]}}, {"p0": 1, "p1": 0, "meta": None}]
    path, out = tmp_path / "opt.jsonl", tmp_path / "new.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    apply_stream(Scan(path, others=True), Coefficients(["0", "1"], [1, 1], 1), out)
    assert [json.loads(line)["meta"] for line in out.open()] == [row["meta"] for row in rows]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_texts_that_are_no_unicode_are_escaped(suffix, tmp_path):
    path, out = tmp_path / "opt.jsonl", tmp_path / f"new{suffix}"
    path.write_text('{"p0": 0.5, "p1": 0.5, "text": "\\ud800", "none": null}\n')
    apply_stream(Scan(path, others=True), Coefficients(["0", "1"], [1, 1], 1), out)
    (chunk,) = Scan(out, others=True)
    assert chunk.others["text"][0] in ("\\ud800", "\ud800")
