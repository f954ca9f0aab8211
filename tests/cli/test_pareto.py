"""``dnip pareto``: keys, text, what lands in files, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, ProbabilityTable
from dnip.fitting.estimator import Estimator
from dnip.metrics import METRICS
from dnip.solvers import Coordinate
from populations import biased_rows

NAMES = ("bad", "okay", "good")


def table_of(seed, prefix):
    rows = biased_rows(np.random.default_rng(seed), 90, bias=[1.5, 0.0, -1.5])
    ids = np.array([f"{prefix}-{n}" for n in range(90)], object)
    return ProbabilityTable(rows.probabilities, rows.labels, ids, NAMES)


BETAS = (0.1, 0.5, 2.7)


@pytest.fixture
def tables(folder, monkeypatch):
    """An opt and a test table, with ids; and a path of few points."""
    monkeypatch.setattr("dnip.fitting.fitter.PATH", BETAS)
    for seed, name in enumerate(("opt", "test")):
        table_of(seed, name).write(folder / f"{name}.csv")
    return folder


def test_json_and_files_say_the_same(dnip, tables):
    run = dnip("pareto", "opt.csv", "--test", "test.csv", "--json")
    assert (run.status, run.err) == (0, "")
    summary = run.json
    names = ("pareto.json", "pareto.png")
    assert summary.pop("written") == [f"dnip-pareto/{name}" for name in names]
    assert Path("dnip-pareto/pareto.png").stat().st_size > 5000
    assert json.loads(Path("dnip-pareto/pareto.json").read_text()) == summary
    assert summary["classes"] == list(NAMES)
    assert [point["beta"] for point in summary["points"]] == list(BETAS)
    assert summary["knee"] in BETAS
    assert summary["expected"] is True
    assert all(point["test"].keys() == METRICS.keys() for point in summary["points"])
    assert "chosen" not in summary
    assert not Path("coefficients.json").exists()
    assert "knee" in dnip("pareto", "opt.csv").out


@pytest.mark.parametrize("choice", ["knee", "0.5", "0.61"])
def test_the_chosen_fit_is_that_of_dnip_fit_at_its_beta(dnip, tables, choice):
    run = dnip("pareto", "opt.csv", "--choose", choice, "--out", "c.json", "--json")
    assert (run.status, run.err) == (0, "")
    beta = run.json["knee"] if choice == "knee" else float(choice)
    assert run.json["chosen"] == {"beta": beta, "out": "c.json"}
    assert run.json["written"][-1] == "c.json"
    [point] = [point for point in run.json["points"] if point["beta"] == beta]
    coefficients = Coefficients.load("c.json")
    assert point["weights"] == dict(zip(NAMES, coefficients.weights.tolist(), strict=True))
    dnip("fit", "opt.csv", "--beta", beta, "--out", "fit.json", "--json")
    fitted = Coefficients.load("fit.json")
    assert fitted.weights.tolist() == coefficients.weights.tolist()
    assert fitted.objective == coefficients.objective
    assert f"chosen: β = {beta:g}, " in dnip("pareto", "opt.csv", "--choose", choice).out


def test_ctrl_c_keeps_the_fits_so_far(dnip, tables, monkeypatch):
    solve, search, calls = Estimator.solve, Coordinate.search, []

    def counted(self, settings, *more):
        calls.append(settings.objective.beta)
        return solve(self, settings, *more)

    def interrupted(*arguments):
        if calls.count(BETAS[1]) == 1:
            raise KeyboardInterrupt
        return search(*arguments)

    monkeypatch.setattr(Estimator, "solve", counted)
    monkeypatch.setattr(Coordinate, "search", interrupted)
    run = dnip("pareto", "opt.csv", "--no-evidence", "--choose", "knee", "--json")
    assert run.status == 0
    assert run.err.startswith("interrupted: 2 fits so far are kept")
    assert [point["beta"] for point in run.json["points"]] == list(BETAS[:2])
    assert Path("coefficients.json").exists()


def test_a_test_table_without_some_class_is_told_of(dnip, tables):
    table = table_of(1, "test")
    labels = np.where(table.labels == 2, 0, table.labels)
    ProbabilityTable(table.probabilities, labels, classes=NAMES).write("test.csv")
    run = dnip("pareto", "opt.csv", "--test", "test.csv", "--no-evidence", "--json")
    assert run.status == 0
    assert run.err == "warning: test.csv: no labelled row of class good: left out\n"


@cases(
    (["opt.csv", "--choose", "best"], "a point is chosen by knee or by a β above 0; got 'best'"),
    (["opt.csv", "--choose", "-1"], "by a β above 0; got '-1'"),
    (["opt.csv", "--out", "c.json"], "but none is chosen. Add --choose knee"),
    (["opt.csv", "--test", "opt.csv"], "90 ids stand in both opt.csv and opt.csv"),
    (["opt.csv", "--choose", "1", "--out", "no/c.json"], "no does not exist"),
    (["opt.csv", "--folder", "opt.csv"], "opt.csv"),
    (["one.csv"], "only one class, 0, has labelled rows"),
)
def test_refusals_leave_nothing_behind(dnip, tables, arguments, told):
    Path("one.csv").write_text("label,p0,p1\n0,0.9,0.1\n0,0.2,0.8\n")
    dnip("pareto", *arguments).assert_refused(told)
    assert not [path for path in Path().rglob("*") if path.suffix != ".csv"]
