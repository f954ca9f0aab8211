"""``dnip compare``: all methods from the shell."""

import json
from pathlib import Path

import numpy as np
import pytest

from dnip import ProbabilityTable
from strategies import random_probabilities

QUICK = ("--seeds", "1")
PLAIN = ("--methods", "batch-calibration,dnip-plain,dnip")


@pytest.fixture
def tables(folder):
    """``opt.csv`` and ``test.csv`` of three classes, the last one starved."""
    rng = np.random.default_rng(0)
    for name in ("opt", "test"):
        fair = random_probabilities(rng, 90, 3)
        p = fair * [3.0, 2.0, 0.5]
        ids = np.array([f"{name}-{i}" for i in range(90)], object)
        labels = fair.argmax(axis=1)
        labels[:3] = np.arange(3)
        ProbabilityTable(p / p.sum(axis=1, keepdims=True), labels, ids).write(f"{name}.csv")
    return folder


def test_a_table_a_picture_and_json(dnip, tables):
    run = dnip("compare", "opt.csv", "--test", "test.csv", *QUICK, *PLAIN, "--json")
    assert run.status == 0
    summary = run.json
    names = [method["name"] for method in summary["methods"]]
    assert names == ["raw", "batch-calibration", "dnip-plain", "dnip"]
    by_name = dict(zip(names, summary["methods"], strict=True))
    assert by_name["dnip-plain"]["cobias"]["value"] < by_name["raw"]["cobias"]["value"] / 2
    assert summary["written"][0] == "dnip-compare/results.json"
    assert all(Path(path).stat().st_size > 0 for path in summary["written"])
    del summary["written"]
    assert json.loads(Path("dnip-compare/results.json").read_text()) == summary


def test_without_a_library_a_method_is_left_out_unless_it_is_named(dnip, tables, monkeypatch):
    def find_spec(name):
        return None if name in ("scipy", "sklearn", "torch") else object()

    monkeypatch.setattr("dnip.base.optional.find_spec", find_spec)
    run = dnip("compare", "opt.csv", "--test", "test.csv", *QUICK)
    assert run.status == 0
    assert "Left out, contextual-calibration" in run.out
    named = dnip("compare", "opt.csv", "--test", "test.csv", *QUICK, "--methods", "vector-scaling")
    named.assert_refused("scipy is needed to run the method vector-scaling", "dnip[sklearn]")


def test_ctrl_c_keeps_what_is_finished(dnip, tables, monkeypatch):
    def interrupt(_method, _opt, seed):
        raise KeyboardInterrupt

    monkeypatch.setattr("dnip.comparing.baselines.OurDNIP.fit", interrupt)
    run = dnip("compare", "opt.csv", "--test", "test.csv", *QUICK, *PLAIN, "--json")
    assert (run.status, run.err) == (0, "interrupted: 2 finished methods are kept\n")
    assert run.json["interrupted"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["opt.csv", "--test", "opt.csv"], "90 ids stand in both opt.csv and opt.csv"),
        (["opt.csv", "--test", "two.csv"], "two.csv has the classes 0, 1, but opt.csv has 0, 1, 2"),
        (["opt.csv", "--test", "test.csv", "--methods", "magic"], "methods must be one of raw"),
        (
            ["opt.csv", "--test", "test.csv", "--methods", "contextual-calibration"],
            "contextual-calibration needs content-free rows, and there are none",
        ),
        (
            ["opt.csv", "--test", "test.csv", "--labels", "91"],
            "at least 2 and at most 90; got 91",
        ),
        (["opt.csv", "--test", "test.csv", "--unlabelled", "test.csv"], "90 ids stand in both"),
        (
            ["opt.csv", "--test", "test.csv", "--out", "opt.csv"],
            "results and table lie one in the other",
        ),
    ],
)
def test_bad_input(dnip, tables, arguments, told):
    Path("two.csv").write_text("label,p0,p1\n0,0.9,0.1\n1,0.6,0.4\n")
    dnip("compare", "--json", *QUICK, *arguments).assert_refused(told)
    assert not list(Path("dnip-compare").glob("*"))
