"""``dnip pareto``: keys, text, what lands in files, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, ProbabilityTable
from problems import Known

OPT = Known(n_classes=3, scale=9, n_rows=90, kind="random", seed=30)
TEST = Known(n_classes=3, scale=9, n_rows=90, kind="random", seed=31)
ROUGH = ("--scale", "9", "--cross-fit", "off")


@pytest.fixture
def tables(folder):
    """An opt and a test table, with ids."""
    for name, known in (("opt", OPT), ("test", TEST)):
        ids = np.array([f"{name}-{n}" for n in range(90)], object)
        ProbabilityTable(known.p, known.labels, ids).write(folder / f"{name}.csv")
    return folder


def test_json_and_files_say_the_same(dnip, tables):
    run = dnip("pareto", "opt.csv", "--test", "test.csv", *ROUGH, "--json")
    assert (run.status, run.err) == (0, "")
    summary = run.json
    names = ("pareto.json", "pareto.csv", "pareto.png")
    assert summary.pop("written") == [f"dnip-pareto/{name}" for name in names]
    assert json.loads(Path("dnip-pareto/pareto.json").read_text()) == summary
    accuracies = [point["accuracy"] for point in summary["points"]]
    assert accuracies == sorted(accuracies, reverse=True)
    assert summary["points"][0]["test"]["accuracy"] > 0
    assert summary["status"] == "finished"
    assert "chosen" not in summary
    assert not Path("coefficients.json").exists()


@pytest.mark.parametrize("rule", ["knee", "cobias<=0.2", "2"])
def test_a_chosen_point_can_be_applied(dnip, tables, rule):
    run = dnip("pareto", "opt.csv", *ROUGH, "--choose", rule, "--out", "c.json", "--json")
    assert (run.status, run.err) == (0, "")
    chosen = run.json["chosen"]
    assert (chosen["rule"], chosen["out"]) == (rule, "c.json")
    point = run.json["points"][chosen["number"] - 1]
    coefficients = Coefficients.load("c.json")
    assert coefficients.weight_indices.tolist() == point["weight_indices"]
    assert coefficients.objective["chosen_by"] == rule
    after = dnip("evaluate", "opt.csv", "--coefficients", "c.json", "--json").json["reweighted"]
    assert after["accuracy"] == pytest.approx(point["accuracy"])
    assert after["cobias"] == pytest.approx(point["cobias"])
    assert run.json["written"][-1] == "c.json"


def test_ctrl_c_keeps_the_front_so_far(dnip, tables, monkeypatch):
    def interrupted(*_given, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("dnip.fitting.pareto.fronts.run", interrupted)
    run = dnip("pareto", "opt.csv", "--scale", "9", "--choose", "knee", "--json")
    assert run.status == 0
    assert run.err.startswith("interrupted: ")
    assert run.json["status"] == "interrupted"
    assert run.json["points"]
    assert Path("coefficients.json").exists()


def test_a_test_table_without_some_class_is_told_of(dnip, tables):
    labels = np.where(TEST.labels == 2, 0, TEST.labels)
    ProbabilityTable(TEST.p, labels).write("test.csv")
    run = dnip("pareto", "opt.csv", "--test", "test.csv", *ROUGH, "--json")
    assert run.status == 0
    assert run.err == "warning: test.csv: no labelled row of class 2: left out\n"
    assert run.json["points"][0]["test"]["class_accuracies"][2] is None


@cases(
    (["opt.csv", "--choose", "accuracy>=1"], "the nearest is point 1: accuracy"),
    (["opt.csv", "--out", "c.json"], "but none is chosen. Add --choose knee"),
    (["opt.csv", "--test", "opt.csv"], "90 ids stand in both opt.csv and opt.csv"),
    (["opt.csv", "--choose", "1", "--out", "no/c.json"], "no does not exist"),
    (["opt.csv", "--folder", "opt.csv"], "opt.csv"),
    (["one.csv"], "only class 0 has labelled rows"),
)
def test_refusals_leave_nothing_behind(dnip, tables, arguments, told):
    Path("one.csv").write_text("label,p0,p1\n0,0.9,0.1\n0,0.2,0.8\n")
    dnip("pareto", *arguments).assert_refused(told)
    assert not [path for path in Path().rglob("*") if path.suffix != ".csv"]
