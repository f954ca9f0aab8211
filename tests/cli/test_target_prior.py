"""``--target-prior`` of ``fit``, ``apply`` and ``evaluate``."""

from pathlib import Path

import numpy as np
import pytest

import oracles
from dnip import Coefficients, ProbabilityTable
from dnip.fitting.fit import fit
from populations import biased_rows

NAMES = ("bad", "okay", "good")
MIX = "bad=0.1,okay=0.2,good=0.7"
SHARES = [0.1, 0.2, 0.7]


def made(seed, n, shares, unlabelled=False):
    found = biased_rows(np.random.default_rng(seed), n, bias=[0.8, 0, -0.8], shares=shares)
    labels = np.full(n, -1) if unlabelled else found.labels
    return ProbabilityTable(found.probabilities, labels, classes=NAMES)


@pytest.fixture
def tables(folder):
    """An opt set of equal shares, and rows of another mix with and without labels."""
    made(0, 600, [1 / 3] * 3).write("opt.parquet")
    made(1, 2_000, SHARES).write("test.parquet")
    made(1, 2_000, SHARES, unlabelled=True).write("new.csv")
    return folder


@pytest.fixture
def fitted(dnip, tables):
    assert dnip("fit", "opt.parquet", "--out", "c.json", "--robust", "off").status == 0
    return Coefficients.load("c.json")


@pytest.mark.parametrize("mix", [MIX, "uniform"])
def test_fit_is_that_of_the_library(dnip, tables, mix):
    run = dnip("fit", "opt.parquet", "--robust", "off", "--target-prior", mix, "--json")
    shares = [1 / 3] * 3 if mix == "uniform" else SHARES
    expected = fit(
        ProbabilityTable.read("opt.parquet"), robust="off", target_prior=shares, evidence=False
    )
    assert (run.status, run.err) == (0, "")
    assert run.json["objective"] == expected.solution.value
    assert run.json["target_prior"] == expected.target.to_dict(NAMES)
    np.testing.assert_allclose(Coefficients.load("coefficients.json").class_shares, shares)


def test_fit_estimates_from_unlabelled_rows(dnip, tables):
    options = ("--classes", ",".join(NAMES), "--robust", "off", "--no-evidence", "--json")
    estimate = ("--unlabelled", "new.csv", "--target-prior", "estimate")
    run = dnip("fit", "opt.parquet", *options, *estimate)
    assert (run.status, run.err) == (0, "")
    told = run.json["target_prior"]
    assert (told["source"], told["rows"]) == ("estimate", 2_000)
    assert list(told["shares"].values()) == pytest.approx(SHARES, abs=0.1)


@pytest.mark.parametrize("mix", [MIX, "estimate"])
def test_apply_multiplies_by_the_adjusted_weights(dnip, fitted, mix):
    command = ("apply", "new.csv", "--coefficients", "c.json", "--out", "out.csv")
    run = dnip(*command, "--target-prior", mix, "--json")
    assert run.status == 0
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
    p = table.probabilities
    changed = oracles.predict(p, moved.multipliers) != p.argmax(axis=1)
    assert run.json["changed"] == changed.sum()


def test_evaluate_scores_a_population_of_the_mix(dnip, fitted):
    command = ("evaluate", "opt.parquet", "--coefficients", "c.json", "--json")
    plain = dnip(*command).json
    run = dnip(*command, "--target-prior", MIX)
    assert "note: target prior: bad 0.100" in run.err
    table, moved = ProbabilityTable.read("opt.parquet"), fitted.adjusted(SHARES)
    for name, predicted in (
        ("raw", table.probabilities.argmax(axis=1)),
        ("reweighted", oracles.predict(table.probabilities, fitted.multipliers)),
        ("adjusted", oracles.predict(table.probabilities, moved.multipliers)),
    ):
        right = [np.mean(predicted[table.labels == c] == c) for c in range(3)]
        assert run.json[name]["accuracy"] == pytest.approx(np.dot(SHARES, right))
        assert run.json[name]["class_accuracies"] == pytest.approx(right)
    assert run.json["reweighted"]["cobias"] == pytest.approx(plain["reweighted"]["cobias"])
    assert "adjusted" not in plain
    text = dnip(*command[:-1], "--target-prior", MIX).out
    assert text.splitlines()[0].split()[2:5] == ["before", "after", "adjusted"]
    assert f"-> {run.json['adjusted']['accuracy']:.3f} [" in text


def test_labels_that_refute_an_estimate_are_heeded(dnip, fitted):
    table = made(1, 2_000, SHARES)
    estimate = fitted.estimate_prior(table.probabilities)
    command = ("--coefficients", "c.json", "--target-prior", "estimate")
    for shift in (0, 1, 2):
        labels = (table.labels + shift) % 3
        shares = np.bincount(labels) / len(labels)
        outside = ((shares < estimate.low) | (shares > estimate.high)).any()
        ProbabilityTable(table.probabilities, labels, classes=NAMES).write("other.parquet")
        told = "warning: the class shares of the labels are outside of what is estimated\n"
        assert (told in dnip("evaluate", "other.parquet", *command).err) == outside
    assert outside


def test_evaluate_without_coefficients(dnip, tables):
    run = dnip("evaluate", "test.parquet", "--target-prior", "uniform", "--json")
    assert run.json["raw"]["accuracy"] == pytest.approx(run.json["raw"]["balanced_accuracy"])
    refused = dnip("evaluate", "test.parquet", "--target-prior", "estimate", "--json")
    refused.assert_refused("estimate needs the calibration", "Give --coefficients")


def test_a_bad_mix_leaves_old_outputs_as_they_are(dnip, fitted):
    Path("old.csv").write_text("old")
    Path("old.json").write_text("old")
    option, told = ("--target-prior", "bad=0.5,fine=0.5", "--json"), "the shares are of bad, fine"
    dnip("fit", "opt.parquet", "--out", "old.json", *option).assert_refused(told)
    with_them = ("--coefficients", "c.json", *option)
    dnip("apply", "new.csv", "--out", "old.csv", *with_them).assert_refused(told)
    dnip("evaluate", "test.parquet", *with_them).assert_refused(told)
    dnip("evaluate", "test.parquet", *option).assert_refused(told)
    assert (Path("old.csv").read_text(), Path("old.json").read_text()) == ("old", "old")


def test_an_estimate_needs_rows_and_a_calibration(dnip, fitted):
    estimate = ("--target-prior", "estimate")
    dnip("fit", "opt.parquet", *estimate).assert_refused("no rows without a label", "--unlabelled")
    Coefficients(NAMES, [30, 30, 30], 30).save("old.json")
    run = dnip("apply", "new.csv", "--coefficients", "old.json", "--out", "out.csv", *estimate)
    run.assert_refused("fit.calibration is missing", "not made by a fit", "Fit again")
    assert not Path("out.csv").exists()
