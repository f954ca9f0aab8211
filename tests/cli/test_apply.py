"""``dnip apply``: every format in and out, ids and labels carried, chunks as the whole."""

import csv
from pathlib import Path

import numpy as np
import pytest

import oracles
from dnip import Coefficients, ProbabilityTable
from strategies import random_probabilities

SUFFIXES = ["csv", "csv.gz", "jsonl", "npz", "parquet"]
INDICES = [30, 12, 7]


@pytest.fixture
def table(folder):
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, 40, 3, "mixed")
    Coefficients(["0", "1", "2"], INDICES, 30).save("c.json")
    return ProbabilityTable(p, rng.integers(-1, 3, 40), [f"row {i}" for i in range(40)])


@pytest.mark.parametrize("source", SUFFIXES)
@pytest.mark.parametrize("target", SUFFIXES)
def test_what_comes_out_is_what_memory_gives(dnip, table, source, target):
    table.write(f"in.{source}")
    out = f"out.{target}"
    run = dnip("apply", f"in.{source}", "--coefficients", "c.json", "--out", out, "--json")
    predictions = oracles.predict(table.probabilities, INDICES)
    changed = int(np.sum(predictions != table.probabilities.argmax(axis=1)))
    assert (run.status, run.err) == (0, "")
    assert run.json == {"n": 40, "changed": changed, "out": out}
    written = ProbabilityTable.read(out)
    expected = Coefficients.load("c.json").apply(table.probabilities)
    np.testing.assert_array_equal(written.probabilities, expected)
    np.testing.assert_array_equal(written.labels, table.labels)
    assert written.ids.tolist() == table.ids.tolist()


def test_predictions_stand_in_a_column(dnip, table):
    table.write("in.csv")
    run = dnip("apply", "in.csv", "--coefficients", "c.json", "--out", "out.csv")
    assert run.out.startswith("40 rows, ")
    assert run.out.endswith(" decisions changed, written to out.csv\n")
    with Path("out.csv").open(newline="") as file:
        found = [int(row["prediction"]) for row in csv.DictReader(file)]
    assert found == oracles.predict(table.probabilities, INDICES).tolist()


def test_chunks_write_the_same_bytes_as_the_whole(dnip, table, monkeypatch):
    table.write("in.csv")
    command = ("apply", "in.csv", "--coefficients", "c.json", "--out")
    dnip(*command, "whole.csv")
    monkeypatch.setattr("dnip.tables.readers.chunk_size._MAX_CELLS", 7 * 5)
    dnip(*command, "chunked.csv")
    assert Path("chunked.csv").read_bytes() == Path("whole.csv").read_bytes()


def test_labels_are_not_needed_and_columns_may_be_named(dnip, table):
    Coefficients(["no", "maybe", "yes"], INDICES, 30).save("c.json")
    Path("in.csv").write_text("yes,no,maybe\n0.9,0.05,0.05\n")
    dnip("apply", "in.csv", "--coefficients", "c.json", "--out", "out.csv")
    assert Path("out.csv").read_text().splitlines()[1].startswith("yes,")


def test_a_table_can_be_applied_in_place(dnip, table):
    table.write("in.csv")
    assert dnip("apply", "in.csv", "--coefficients", "c.json", "--out", "in.csv").status == 0
    expected = Coefficients.load("c.json").apply(table.probabilities)
    np.testing.assert_array_equal(ProbabilityTable.read("in.csv").probabilities, expected)
