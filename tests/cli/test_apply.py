"""``dnip apply``: what it writes and tells; a class mix that coefficients are moved to."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oracles
from cases import cases
from dnip import Coefficients, ProbabilityTable
from dnip.base.errors import CorrectedError
from dnip.fitting.fit import fit
from dnip.method.coefficients import Deferral
from populations import biased_rows
from strategies import random_probabilities

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


@cases(("csv", "csv.gz"), ("csv.gz", "jsonl"), ("jsonl", "parquet"), ("parquet", "csv"))
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


def test_rows_that_go_to_somebody_better_are_told_and_stand_in_a_column(dnip, table):
    thresholds = [0.8, 0.5, 0.4]
    defer = Deferral(thresholds, 0.3, 0.9)
    Coefficients(["0", "1", "2"], INDICES, 30, defer=defer).save("c.json")
    table.to_frame("pandas").assign(deferred=7).to_csv("in.csv", index=False)  # of another run
    command = "apply", "in.csv", "--coefficients", "c.json", "--out", "out.csv"
    run = dnip(*command, "--json")
    written = ProbabilityTable.read("out.csv")  # the column is no class
    predicted = oracles.predict(table.probabilities, INDICES)
    expected = [q[c] < thresholds[c] for q, c in zip(written.probabilities, predicted, strict=True)]
    n = sum(expected)
    assert 0 < n < 40
    assert pd.read_csv("out.csv")["deferred"].tolist() == expected
    assert run.json["deferred"] == {"rows": n, "share": n / 40, "asked": 0.3}
    told = f" changed, {n} deferred ({100 * n / 40:.1f} %; asked for 30.0 %)"
    assert told in dnip(*command).out


# --- what is corrected already ---
@pytest.fixture
def corrected(dnip, folder):
    """What `dnip apply` writes, in each format; and what it was made of."""
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, 60, 2, "mixed")
    table = ProbabilityTable(p, rng.integers(0, 2, 60), classes=("a", "b"))
    table.write("raw.csv")
    Coefficients(["a", "b"], [30, 7], 30).save("c.json")
    dnip("fit", "raw.csv", "--out", "fit.json", "--no-evidence")
    for suffix in READ:
        dnip("apply", "raw.csv", "--coefficients", "c.json", "--out", f"out.{suffix}")
    return Coefficients.load("c.json").digest


@cases(
    "fit out.csv --robust off",
    "fit raw.csv --unlabelled out.csv",
    "fit out.csv --path",
    "compare raw.csv --test out.csv",
    "report out.csv",
    "apply out.csv --coefficients c.json --out twice.csv",
    "apply out.csv --coefficients fit.json --target-prior estimate --out o.csv",
    "import out.csv --classes a,b --out imported.csv",
)
def test_commands_that_need_raw_probabilities_refuse_corrected_ones(dnip, corrected, command):
    dnip(*command.split()).assert_refused("out.csv", "corrected already", corrected)
    assert not any(Path(name).exists() for name in ("twice.csv", "o.csv", "imported.csv"))


def test_commands_that_look_say_that_they_see_corrected_ones(dnip, corrected):
    told = f"corrected already, by the coefficients {corrected}"
    for suffix in READ:
        run = dnip("evaluate", f"out.{suffix}", "--coefficients", "c.json", "--json")
        assert (run.status, run.json["corrected_by"], told in run.err) == (0, corrected, True)
    run = dnip("check", "out.csv", "--coefficients", "fit.json", "--json")
    assert (run.json["corrected_by"], told in run.err) == (corrected, True)
    run = dnip("report", "out.csv", "--coefficients", "fit.json", "--out", "page.html")
    assert (run.status, told in run.err) == (0, True)
    assert corrected in Path("page.html").read_text()
    assert dnip("evaluate", "raw.csv", "--json").json["corrected_by"] is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_mark_survives_tables_frames_and_parts(dnip, corrected, library):
    table = ProbabilityTable.read("out.parquet")
    copies = [table.take([3, 5]), table.labelled()]
    copies.append(ProbabilityTable.from_frame(table.to_frame(library), ["a", "b"]))
    assert {copy.corrected_by for copy in copies} == {corrected}
    with pytest.raises(CorrectedError):
        fit(table, evidence=False)
    half = pd.read_csv("out.csv").assign(dnip_corrected_by=[None] * 59 + [corrected])
    for given in ((half,), (half.drop(columns="label"), half["label"])):
        with pytest.raises(CorrectedError):
            fit(*given, classes=["a", "b"], evidence=False)


# --- another class mix ---
NAMES = ("bad", "okay", "good")
MIX, SHARES = "bad=0.1,okay=0.2,good=0.7", [0.1, 0.2, 0.7]


@pytest.fixture
def fitted(dnip, folder):
    """An opt set of equal shares and a fit of it; rows of another mix with and without labels."""
    for name, seed, n, shares in (("opt", 0, 600, [1 / 3] * 3), ("test", 1, 2_000, SHARES)):
        rows = biased_rows(np.random.default_rng(seed), n, bias=[0.8, 0, -0.8], shares=shares)
        ProbabilityTable(rows.probabilities, rows.labels, classes=NAMES).write(f"{name}.parquet")
    ProbabilityTable(rows.probabilities, classes=NAMES).write("new.csv")
    assert dnip("fit", "opt.parquet", "--out", "c.json", "--robust", "off").status == 0
    return Coefficients.load("c.json")


@pytest.mark.parametrize("mix", [MIX, "estimate"])
def test_apply_multiplies_by_the_adjusted_weights(dnip, fitted, mix):
    command = ("apply", "new.csv", "--coefficients", "c.json", "--out", "out.csv")
    run = dnip(*command, "--target-prior", mix, "--json")
    assert run.err.startswith("note: target prior")
    told, table = run.json["target_prior"], ProbabilityTable.read("new.csv", NAMES)
    estimate = fitted.estimate_prior(table.probabilities)
    moved = fitted.adjusted(SHARES if mix == MIX else estimate)
    shares = SHARES if mix == MIX else estimate.shares
    written = ProbabilityTable.read("out.csv", NAMES)
    np.testing.assert_array_equal(written.probabilities, moved.apply(table.probabilities))
    assert told["weights"] == dict(zip(NAMES, moved.weights.tolist(), strict=True))
    assert told["shares"] == dict(zip(NAMES, list(shares), strict=True))
    assert told["part"] == moved.fit.adjusted["part"]


def test_evaluate_scores_a_population_of_the_mix(dnip, fitted):
    command = ("evaluate", "opt.parquet", "--coefficients", "c.json", "--target-prior", MIX)
    run = dnip(*command, "--json")
    assert "note: target prior: bad 0.100" in run.err
    table, moved = ProbabilityTable.read("opt.parquet"), fitted.adjusted(SHARES)
    sides = {"raw": [1, 1, 1], "reweighted": fitted.multipliers, "adjusted": moved.multipliers}
    for name, weights in sides.items():
        predicted = oracles.predict(table.probabilities, weights)
        right = [np.mean(predicted[table.labels == c] == c) for c in range(3)]
        assert run.json[name]["accuracy"] == pytest.approx(np.dot(SHARES, right))
        assert run.json[name]["class_accuracies"] == pytest.approx(right)
    text = dnip(*command).out
    assert text.splitlines()[0].split()[2:5] == ["before", "after", "adjusted"]
    assert f"-> {run.json['adjusted']['accuracy']:.3f} [" in text
    alone = dnip("evaluate", "test.parquet", "--target-prior", "uniform", "--json").json["raw"]
    assert alone["accuracy"] == pytest.approx(alone["balanced_accuracy"])


def test_labels_that_refute_an_estimate_are_heeded(dnip, fitted):
    table = ProbabilityTable.read("test.parquet")
    estimate = fitted.estimate_prior(table.probabilities)
    command = ("--coefficients", "c.json", "--target-prior", "estimate")
    for shares, outside in ((estimate.shares, False), (estimate.shares[::-1], True)):
        labels = np.repeat(np.arange(3), np.rint(shares * len(table)).astype(int))
        labels = np.resize(labels, len(table))
        ProbabilityTable(table.probabilities, labels, classes=NAMES).write("other.parquet")
        told = "warning: the class shares of the labels are outside of what is estimated\n"
        assert (told in dnip("evaluate", "other.parquet", *command).err) == outside


@cases(
    ("fit opt.parquet --target-prior bad=0.5,fine=0.5 --out old.json", "the shares are of"),
    (
        "apply new.csv --coefficients c.json --target-prior fine=1 --out old.csv",
        "the shares are of",
    ),
    ("evaluate test.parquet --coefficients c.json --target-prior fine=1", "the shares are of"),
    ("evaluate test.parquet --target-prior fine=1", "the shares are of"),
    ("evaluate test.parquet --target-prior estimate", "estimate needs the calibration"),
    ("fit opt.parquet --target-prior estimate", "no rows without a label"),
    ("apply new.csv --coefficients old.json --target-prior estimate --out old.csv", "Fit again"),
)
def test_a_mix_that_cannot_be_had_leaves_old_outputs_as_they_are(
    dnip, fitted, unchanged, command, told
):
    Coefficients(NAMES, [30, 30, 30], 30).save("old.json")
    Path("old.csv").write_text("old")
    with unchanged():
        dnip(*command.split()).assert_refused(told)
