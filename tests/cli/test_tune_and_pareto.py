"""``dnip tune`` and ``dnip pareto``: keys, text, what lands in files, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, ProbabilityTable
from populations import skewed
from problems import Known

QUICK = ("--betas", "1,2.7", "--taus", "0.2", "--scales", "30")


@pytest.fixture
def opt(folder):
    skewed(60).write(folder / "opt.csv")
    return folder


def test_json_has_the_keys_of_fit_and_the_choice(dnip, opt):
    fitted = dnip("fit", "opt.csv", "--out", "f.json", "--json").json
    run = dnip("tune", "opt.csv", *QUICK, "--json")
    assert run.status == 0
    assert set(fitted) <= set(run.json)
    assert run.json["chosen"].keys() == {"beta", "tau", "scale", "smoothing", "robust", "reason"}
    assert [c["beta"] for c in run.json["candidates"]] in ([1.0, 2.7], [2.7, 1.0])
    first = run.json["candidates"][0]
    assert len(first["folds"]) == 5
    assert first.keys() >= {"accuracy", "cobias", "score", "ahead", "standard_error"}
    evenly = {"accuracy": 1.0, "cobias": 1.0}
    assert run.json["criterion"] == {"name": "weighted", "weights": evenly}
    stored = json.loads(Path("coefficients.json").read_text())
    assert stored["weight_indices"] == run.json["weight_indices"]
    assert stored["fit"]["tuning"]["chosen"]["beta"] == run.json["chosen"]["beta"]
    assert dnip("evaluate", "opt.csv", "--coefficients", "coefficients.json").status == 0


def test_the_text_shows_the_candidates_and_the_reason(dnip, opt):
    text = dnip("tune", "opt.csv", *QUICK, "--weights", "accuracy=1,cobias=2.7").out
    assert "2 candidates, scored by 5 folds, best first by accuracy - 2.7·cobias\n" in text
    assert "\nchosen: β = 2.7, τ = 0.2, K = 30, μ = 0.4·M, robust auto\n" in text
    assert "coefficients written to coefficients.json" in text
    assert sum(line.startswith("*") for line in text.splitlines()) == 1


def test_every_setting_can_be_tried(dnip, opt):
    skewed(90, 2, unlabelled=90).write("more.csv")
    run = dnip(
        "tune", "opt.csv", "--betas", "2.7", "--taus", "0.2,0.5",
        "--scales", "10,30,log:10",
        "--smoothings", "1,4000", "--robust-modes", "auto,off", "--criterion", "cobias",
        "--unlabelled", "more.csv", "--cobias", "single", "--confidence", "0", "--json",
    )  # fmt: skip
    assert run.status == 0
    assert len(run.json["candidates"]) == 24
    assert {c["scale"] for c in run.json["candidates"]} == {10, 30, "log:10"}


@cases(
    (("--betas", ""), "error: betas is empty"),
    (("--scales", "30,wide"), "error: scale is 'wide'"),
    (("--robust-modes", "maybe"), "error: robust must be one of auto, on, off; got 'maybe'"),
    (("--folds", "40"), "class 0 has 20 labelled rows, too few for 40 folds"),
    (("--dev", "opt.csv"), "hold the same rows"),
    (("--robust-modes", "off", "--unlabelled", "opt.csv"), "unlabelled rows serve robust fits"),
)
def test_bad_input_is_status_1_and_leaves_no_file(dnip, opt, unchanged, arguments, told):
    with unchanged():
        dnip("tune", "opt.csv", *arguments).assert_refused(told)


# --- the front ---
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
    assert summary["status"] == "optimal"
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
    def interrupted(_explorer):
        yield
        raise KeyboardInterrupt

    monkeypatch.setattr("dnip.fitting.pareto.solve._every_line", interrupted)
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
