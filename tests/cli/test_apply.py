"""``dnip apply``: every format in and out, ids and labels carried, chunks as the whole."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oracles
from dnip import Coefficients, DNIPWarning, ProbabilityTable
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
    assert run.json == {"n": 40, "changed": changed, "mass": None, "out": out}
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


def test_labels_are_not_needed_and_columns_may_be_named(dnip, table):
    Coefficients(["no", "maybe", "yes"], INDICES, 30).save("c.json")
    Path("in.csv").write_text("yes,no,maybe\n0.9,0.05,0.05\n")
    dnip("apply", "in.csv", "--coefficients", "c.json", "--out", "out.csv")
    assert Path("out.csv").read_text().splitlines()[1].startswith("yes,")


@pytest.mark.parametrize("target", SUFFIXES)
def test_named_class_columns_keep_their_names_and_can_be_read_again(dnip, table, target):
    names = ["no", 'may"be,', "<b>yes"]
    Coefficients(names, INDICES, 30).save("c.json")
    rows = zip(np.maximum(table.labels, 0), *table.probabilities.T.tolist(), strict=True)
    with Path("in.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["label", *names, "no, te"], *((*row, "x") for row in rows)])
    out = f"out.{target}"
    dnip("apply", "in.csv", "--coefficients", "c.json", "--out", out)
    if target in ("csv", "parquet"):
        columns = pd.read_csv(out) if target == "csv" else pd.read_parquet(out)
        assert list(columns) == ["label", "prediction", "no, te", *names]
    with pytest.warns(DNIPWarning, match="column no, te not used"):
        written = ProbabilityTable.read(out, names)
    expected = Coefficients.load("c.json").apply(table.probabilities)
    np.testing.assert_array_equal(written.probabilities, expected)
    assert dnip("evaluate", out, "--coefficients", "c.json").status == 0
