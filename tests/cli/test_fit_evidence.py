"""``dnip fit`` and the evidence for it."""

import json
from pathlib import Path

import numpy as np
import pytest

from dnip import ProbabilityTable

PLAIN = ("--robust", "off")  # quick


@pytest.fixture
def opt(folder):
    rng = np.random.default_rng(0)
    y = np.tile([0, 1, 2], 20)
    scores = rng.normal(size=(60, 3)) + 1.2 * np.eye(3)[y] + [1.5, 0, 0]
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    ProbabilityTable(p, y).write("opt.csv")
    return "opt.csv"


def test_evidence_is_told_kept_and_advice_only(dnip, opt):
    run = dnip("fit", opt, *PLAIN, "--json")
    evidence = run.json["evidence"]
    assert (run.status, run.err) == (0, "")
    assert evidence["verdict"] in ("apply", "keep")
    assert evidence["resamples"] == 24
    assert {"raw", "reweighted", "difference", "coefficients", "reason"} <= evidence.keys()
    for side in ("raw", "reweighted", "difference"):
        assert {"accuracy", "cobias", "class_accuracies"} <= evidence[side]["intervals"].keys()
    kept = json.loads(Path("coefficients.json").read_text())["fit"]["evidence"]
    assert kept.items() <= evidence.items()
    assert (kept["verdict"], kept["refitted_by"]) == (evidence["verdict"], "coordinate")


def test_the_text_tells_weights_totals_and_verdict(dnip, opt):
    text = dnip("fit", opt, *PLAIN, "--confidence", "0.8").out
    assert "Expected on other rows, from 24 bootstrap refits, with 80 % intervals:\n" in text
    assert "\nverdict: " in text
    assert "COBias changes by " in text
    assert "coefficients written to coefficients.json" in text


def test_it_can_be_left_out_and_is_where_it_would_take_long(dnip, opt):
    run = dnip("fit", opt, *PLAIN, "--no-evidence", "--json")
    assert (run.json["evidence"], run.err) == (None, "")
    assert "evidence" not in json.loads(Path("coefficients.json").read_text())["fit"]
    run = dnip("fit", opt, *PLAIN, "--evidence-time", "0.001", "--json")
    assert run.json["evidence"] is None
    assert (
        run.err == "note: no evidence from refits: they would take long; --evidence asks for it\n"
    )
    run = dnip("fit", opt, *PLAIN, "--evidence-time", "0.001", "--evidence", "--json")
    assert run.json["evidence"]["resamples"] == 10


def test_a_dear_solver_is_not_asked_again(dnip, opt):
    evidence = dnip("fit", opt, "--solver", "exhaustive", "--scale", "5", "--json").json["evidence"]
    assert evidence["refitted_by"] == "coordinate"


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--confidence", "1", "confidence must lie between 0 and 1"),
        ("--tolerance", "-1", "tolerance must be a finite number at least 0"),
        ("--evidence-time", "0", "evidence time must be a finite number above 0"),
    ],
)
def test_settings_out_of_range_are_refused(dnip, opt, option, value, told):
    dnip("fit", opt, option, value).assert_refused(told)
    assert not Path("coefficients.json").exists()
