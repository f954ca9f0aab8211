"""``dnip compare``: all methods from the shell. ``dnip demo``: the main job."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, ProbabilityTable
from strategies import random_probabilities

QUICK = ("--seeds", "1")
PLAIN = ("--methods", "batch-calibration,dnip-paper,dnip")


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
    ProbabilityTable(random_probabilities(np.random.default_rng(1), 3, 3)).write("free.csv")
    more = ("--content-free", "free.csv", "--labels", "60", "--json")
    run = dnip("compare", "opt.csv", "--test", "test.csv", *QUICK, *PLAIN, *more)
    assert run.status == 0, run.err
    summary = run.json
    rows = [summary[key] for key in ("n_opt", "n_unlabelled", "n_content_free", "n_test")]
    assert rows == [60, 30, 3, 90]
    names = [method["name"] for method in summary["methods"]]
    assert names == ["raw", "batch-calibration", "dnip-paper", "dnip"]
    by_name = dict(zip(names, summary["methods"], strict=True))
    assert by_name["dnip-paper"]["cobias"]["value"] < by_name["raw"]["cobias"]["value"] / 2
    assert summary["written"][0] == "dnip-compare/results.json"
    assert all(Path(path).stat().st_size > 0 for path in summary["written"])
    del summary["written"]
    assert json.loads(Path("dnip-compare/results.json").read_text()) == summary


def test_without_a_library_a_method_is_left_out_unless_it_is_named(dnip, tables, monkeypatch):
    for name in ("scipy.optimize", "sklearn.linear_model"):
        monkeypatch.setitem(sys.modules, name, None)
    run = dnip("compare", "opt.csv", "--test", "test.csv", *QUICK)
    assert run.status == 0
    assert "Left out, contextual-calibration" in run.out
    named = dnip("compare", "opt.csv", "--test", "test.csv", *QUICK, "--methods", "vector-scaling")
    named.assert_refused("scipy is needed to scale vectors", ".[sklearn]")


def test_ctrl_c_keeps_what_is_finished(dnip, tables, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dnip.comparing.methods.our_fit", interrupt)
    run = dnip("compare", "opt.csv", "--test", "test.csv", *QUICK, *PLAIN, "--json")
    assert (run.status, run.err) == (0, "interrupted: 3 finished methods are kept\n")
    assert run.json["interrupted"]


@cases(
    ("--test opt.csv", "90 ids are in both opt.csv and opt.csv"),
    ("--test test.csv --methods magic", "methods must be one of raw"),
    ("--test test.csv --unlabelled test.csv", "90 ids are in both"),
    ("--test test.csv --out opt.csv", "results.json and table lie one in the other"),
)
def test_bad_input(dnip, tables, arguments, told):
    dnip("compare", "opt.csv", "--json", *QUICK, *arguments.split()).assert_refused(told)
    assert not Path("dnip-compare").exists()


def test_the_demo_holds_the_fit_the_test_and_the_files(dnip, folder):
    run = dnip("demo", "--json")
    assert (run.status, run.err) == (0, "")
    summary = run.json
    names = ["coefficients.json", "class_accuracies.png", "report.md"]
    assert summary["written"] == [f"dnip-demo/{name}" for name in names]
    assert summary["test"]["reweighted"]["cobias"] < summary["test"]["raw"]["cobias"] / 2
    assert summary["test"]["reweighted"]["accuracy"] > summary["test"]["raw"]["accuracy"]
    fitted = Coefficients.load("dnip-demo/coefficients.json")
    assert fitted.weight_indices.tolist() == summary["weight_indices"]


def test_without_matplotlib_the_demo_says_how_to_get_the_picture(dnip, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    run = dnip("demo", "--out", "results")
    assert run.status == 0
    assert "written: results/coefficients.json, results/report.md\n" in run.out
    assert run.err == "note: the picture needs matplotlib: pip install '.[plot]'\n"


@pytest.mark.parametrize("out", ["file", "file/folder"])
def test_a_folder_that_cannot_be_made(dnip, folder, out):
    Path("file").write_text("old")
    dnip("demo", "--out", out).assert_refused("cannot make the folder", "Give another")
    assert Path("file").read_text() == "old"
