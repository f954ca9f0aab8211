"""``--scale log:K``, from the fit to predictions in a file."""

import csv
from pathlib import Path

import numpy as np
import pytest

import oracles
from dnip import Coefficients, ProbabilityTable
from problems import KNOWN

PROBLEM = KNOWN["three classes, ties"]


@pytest.fixture
def opt(folder):
    ProbabilityTable(PROBLEM.p, PROBLEM.labels).write(folder / "opt.csv")
    return "opt.csv"


def test_fit_evaluate_and_apply_predict_alike(dnip, opt):
    summary = dnip("fit", opt, "--scale", "log:9", "--robust", "off", "--json").json
    weights = summary["weights"]
    expected = oracles.predict(PROBLEM.p, weights)
    confusion = oracles.confusion_at(PROBLEM.p, PROBLEM.labels, weights)
    assert summary["objective"] == pytest.approx(oracles.objective(confusion))
    assert Coefficients.load("coefficients.json").weights.tolist() == weights

    files = (opt, "--coefficients", "coefficients.json")
    assert dnip("evaluate", *files, "--json").json["reweighted"]["confusion"] == confusion.tolist()
    dnip("apply", *files, "--out", "out.csv")
    with Path("out.csv").open(newline="") as file:
        predicted = [int(row["prediction"]) for row in csv.DictReader(file)]
    np.testing.assert_array_equal(predicted, expected)


def test_json_says_which_scale_it_is(dnip, opt):
    geometric = dnip("fit", opt, "--scale", "log:9", "--json").json
    assert (geometric["scale"], geometric["spacing"]) == (9, "log")


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (["--scale", "log:"], 2, "'log:' is not K or log:K"),
        (["--scale", "log:0"], 1, "scale must be a whole number of at least 1"),
        (["--scale", "log:10001"], 1, "got 10001"),
        (["--scale", "continuous"], 1, "continuous weights are no longer searched. Take log:1000"),
    ],
)
def test_other_scales_are_refused(dnip, opt, options, status, told):
    run = dnip("fit", opt, *options)
    assert run.status == status
    assert told in run.err
