"""``dnip apply``: every format in and out, ids and labels carried, chunks as the whole."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oracles
from dnip import Coefficients, ProbabilityTable
from dnip.base.errors import CorrectedError
from dnip.fitting.fit import fit
from dnip.method.coefficients import Deferral
from strategies import random_probabilities

SUFFIXES = ["csv", "csv.gz", "jsonl", "parquet"]
INDICES = [30, 12, 7]


READ = {
    "csv": pd.read_csv,
    "csv.gz": pd.read_csv,
    "jsonl": lambda path: pd.read_json(path, lines=True),
    "parquet": pd.read_parquet,
}


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
    assert READ[target](out)["prediction"].tolist() == predictions.tolist()
    written = ProbabilityTable.read(out)
    expected = Coefficients.load("c.json").apply(table.probabilities)
    np.testing.assert_array_equal(written.probabilities, expected)
    np.testing.assert_array_equal(written.labels, table.labels)
    assert written.ids.tolist() == table.ids.tolist()


@pytest.mark.parametrize("target", SUFFIXES)
def test_rows_that_go_to_somebody_better_are_told_and_stand_in_a_column(dnip, table, target):
    thresholds = [0.8, 0.5, 0.4]
    defer = Deferral(thresholds, 0.3, 0.9)
    Coefficients(["0", "1", "2"], INDICES, 30, defer=defer).save("c.json")
    table.to_frame("pandas").assign(deferred=7).to_csv("in.csv", index=False)  # of another run
    out = f"out.{target}"
    run = dnip("apply", "in.csv", "--coefficients", "c.json", "--out", out, "--json")
    written = ProbabilityTable.read(out)  # the column is no class
    predicted = oracles.predict(table.probabilities, INDICES)
    expected = [q[c] < thresholds[c] for q, c in zip(written.probabilities, predicted, strict=True)]
    assert 0 < sum(expected) < 40
    assert READ[target](out)["deferred"].tolist() == expected
    n = sum(expected)
    assert run.json["deferred"] == {"rows": n, "share": n / 40, "asked": 0.3}
    run = dnip("apply", "in.csv", "--coefficients", "c.json", "--out", out)
    assert f" changed, {n} deferred ({100 * n / 40:.1f} %; asked for 30.0 %)" in run.out


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
        assert list(columns) == ["label", "prediction", "dnip_corrected_by", "no, te", *names]
    written = ProbabilityTable.read(out, names)
    expected = Coefficients.load("c.json").apply(table.probabilities)
    np.testing.assert_array_equal(written.probabilities, expected)


REFUSING = [
    ("fit", "out", "--robust", "off"),
    ("fit", "raw.csv", "--unlabelled", "out"),
    ("fit", "out", "--path"),
    ("compare", "raw.csv", "--test", "out"),
    ("report", "out"),
    ("apply", "out", "--coefficients", "c.json", "--out", "twice.csv"),
    ("apply", "out", "--coefficients", "fit.json", "--target-prior", "estimate", "--out", "o.csv"),
    ("import", "out", "--classes", "a,b", "--out", "imported.csv"),
]


@pytest.fixture
def corrected(dnip, folder):
    """What `dnip apply` writes, in each format; and what it was made of."""
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, 60, 2, "mixed")
    table = ProbabilityTable(p, rng.integers(0, 2, 60), classes=("a", "b"))
    table.write("raw.csv")
    Coefficients(["a", "b"], [30, 7], 30).save("c.json")
    dnip("fit", "raw.csv", "--out", "fit.json", "--no-evidence")
    for suffix in SUFFIXES:
        dnip("apply", "raw.csv", "--coefficients", "c.json", "--out", f"out.{suffix}")
    return Coefficients.load("c.json").digest


@pytest.mark.parametrize("command", REFUSING, ids=" ".join)
def test_commands_that_need_raw_probabilities_refuse_corrected_ones(dnip, corrected, command):
    for suffix in SUFFIXES:
        run = dnip(*(f"out.{suffix}" if word == "out" else word for word in command))
        run.assert_refused(f"out.{suffix}", "corrected already", corrected)
    assert not any(Path(name).exists() for name in ("twice.csv", "o.csv", "imported.csv"))


def test_commands_that_look_say_that_they_see_corrected_ones(dnip, corrected):
    told = f"corrected already, by the coefficients {corrected}"
    for suffix in SUFFIXES:
        out = f"out.{suffix}"
        run = dnip("evaluate", out, "--coefficients", "c.json", "--json")
        assert (run.status, run.json["corrected_by"], told in run.err) == (0, corrected, True)
        run = dnip("check", out, "--coefficients", "fit.json", "--json")
        assert (run.json["corrected_by"], told in run.err) == (corrected, True)
        run = dnip("report", out, "--coefficients", "fit.json", "--out", "page.html")
        assert (run.status, told in run.err) == (0, True)
        assert corrected in Path("page.html").read_text()
    assert dnip("evaluate", "raw.csv", "--json").json["corrected_by"] is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_mark_survives_tables_frames_and_parts(dnip, corrected, library):
    table = ProbabilityTable.read("out.parquet")
    copies = [table.take([3, 5]), table.labelled()]
    copies.append(ProbabilityTable.from_frame(table.to_frame(library), ["a", "b"]))
    copies.append(ProbabilityTable.from_frame(pd.read_csv("out.csv"), ["a", "b"]))
    assert {copy.corrected_by for copy in copies} == {corrected}
    assert f"corrected by {corrected}" in repr(table)
    with pytest.raises(CorrectedError):
        fit(table, evidence=False)
    half = pd.read_csv("out.csv").assign(dnip_corrected_by=[None] * 59 + [corrected])
    with pytest.raises(CorrectedError):
        fit(half, classes=["a", "b"], evidence=False)
    with pytest.raises(CorrectedError):
        fit(half.drop(columns="label"), half["label"], classes=["a", "b"], evidence=False)
    assert fit(half.assign(dnip_corrected_by=None), classes=["a", "b"], evidence=False)
