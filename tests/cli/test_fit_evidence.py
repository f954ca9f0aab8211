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
    assert (evidence["verdict"] == "apply") == (evidence["objections"] == [])
    for side in ("raw", "reweighted", "difference"):
        assert {"accuracy", "cobias", "class_accuracies"} <= evidence[side]["intervals"].keys()
    kept = json.loads(Path("coefficients.json").read_text())["fit"]["evidence"]
    assert kept["verdict"].startswith(evidence["verdict"])
    assert f"{evidence['objective']['after']:.3f}" in kept["reason"]


def test_the_text_tells_weights_totals_and_verdict(dnip, opt):
    text = dnip("fit", opt, *PLAIN, "--confidence", "0.8").out
    assert "Expected on other rows, by 5 refits" in text
    assert "(80 % intervals):\n" in text
    assert "\nverdict: " in text
    assert "coefficients written to coefficients.json" in text


def test_it_can_be_left_out(dnip, opt):
    run = dnip("fit", opt, *PLAIN, "--no-evidence", "--json")
    assert (run.json["evidence"], run.err) == (None, "")
    assert "evidence" not in json.loads(Path("coefficients.json").read_text())["fit"]


def test_it_waits_to_be_asked_for_where_it_would_take_long(dnip, opt, monkeypatch):
    monkeypatch.setattr("dnip.fitting.fit._MOST_PRODUCTS", 10)
    run = dnip("fit", opt, *PLAIN, "--json")
    assert run.json["evidence"] is None
    assert "--evidence asks for it" in run.err
    assert dnip("fit", opt, *PLAIN, "--evidence", "--json").json["evidence"] is not None
