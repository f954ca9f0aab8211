"""``dnip fit``: what it prints and writes, how options reach the fit, and the path over β."""

import itertools
import json
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

import oracles
from cases import cases
from dnip import Coefficients, Constraints, ProbabilityTable
from dnip.base import SolverName
from dnip.fitting.estimate import Estimator
from dnip.fitting.fit import PATH, fit
from dnip.metrics import HEADLINE, METRICS
from dnip.solvers import SOLVERS, Coordinate
from populations import biased_rows
from problems import KNOWN

KEYS = {
    *("weight_indices", "scale", "objective", "terms", "solver", "status", "lower_bound", "gap"),
    *("evaluations", "seconds", "seed", "unfitted"),
}
PROBLEM = KNOWN["three classes"]
PLAIN = ("--robust", "off")  # quick


@pytest.fixture
def opt(folder):
    """A table whose best weights are not the first."""
    ProbabilityTable(PROBLEM.p, PROBLEM.labels).write(folder / "opt.csv")
    return "opt.csv"


def test_options_are_those_of_the_library():
    assert [SOLVERS[name].name for name in get_args(SolverName)] == list(SOLVERS)


def test_json_has_the_promised_keys_and_the_file_agrees(dnip, opt):
    settings = ("--seed", "3", "--scale", "9", *PLAIN)
    run = dnip("fit", opt, "--out", "c.json", "--json", *settings)
    assert (run.status, run.err) == (0, "")
    summary = run.json
    assert summary.keys() >= KEYS
    assert {"error", "cobias", "pmi"} <= summary["terms"].keys()
    assert (summary["scale"], summary["seed"], summary["solver"]) == (9, 3, "coordinate")
    assert (summary["lower_bound"], summary["gap"], summary["status"]) == (None, None, "finished")
    confusion = oracles.confusion_at(PROBLEM.p, PROBLEM.labels, summary["weight_indices"])
    assert summary["objective"] == pytest.approx(oracles.objective(confusion))
    fitted = Coefficients.load("c.json")
    assert fitted.weight_indices.tolist() == summary["weight_indices"]
    assert fitted.fit.data.source == "opt.csv"


@pytest.fixture
def grouped(folder):
    """A table of 90 rows with columns of groups and of weights; costs, and rows without labels."""
    rows = biased_rows(np.random.default_rng(3), 90, bias=[1.2, 0.0, -1.2])
    frame = pd.DataFrame(rows.probabilities, columns=["a", "b", "c"])
    frame["label"] = np.array(["a", "b", "c"])[rows.labels]
    frame = frame.assign(user=np.arange(90) // 3, w=1 + np.arange(90) % 4)
    frame.to_csv("t.csv", index=False)
    frame.drop(columns=["label", "user", "w"]).to_csv("more.csv", index=False)
    Path("costs.csv").write_text(",b,a,c\na,1,0,1\nb,0,1,2\nc,5,1,0\n")


COSTS = [[0, 1, 1], [1, 0, 2], [1, 5, 0]]


@cases(
    ("--beta 2", {"beta": 2.0}),
    ("--preset paper", {"preset": "paper"}),
    ("--objective macro-f1", {"objective": "macro-f1"}),
    ("--costs costs.csv --beta 0", {"costs": COSTS, "beta": 0.0}),
    (
        "--max-accuracy-loss 0.05 --min-class-accuracy c=0.3 --min-class-accuracy 1=0.2",
        {"constraints": Constraints(0.05, {"c": 0.3, "1": 0.2})},
    ),
    ("--group user", {"groups": "user"}),
    ("--weight w", {"weights": "w"}),
    ("--target-prior a=0.2,b=0.3,c=0.5", {"target_prior": {"a": 0.2, "b": 0.3, "c": 0.5}}),
    ("--unlabelled more.csv --target-prior estimate", {"target_prior": "estimate"}),
    ("--rows 60 --seed 3 --scale log:40", {"rows": 60, "seed": 3, "scale": "log:40"}),
    ("--robust off --solver exact --scale 5", {"robust": "off", "solver": "exact", "scale": 5}),
    ("--defer 0.25 --no-evidence", {"defer": 0.25, "evidence": False}),
    ("--no-labels", {"no_labels": True}),
)
def test_options_are_the_keywords_of_the_library(dnip, grouped, options, keywords):
    run = dnip("fit", "t.csv", "--classes", "a,b,c", *options.split(), "--json")
    assert run.status == 0, run.err
    if "--unlabelled" in options:
        keywords = {**keywords, "unlabelled": "more.csv"}
    expected = fit("t.csv", classes=["a", "b", "c"], **keywords)
    assert run.json["weights"] == expected.weights.tolist()
    assert run.json["evidence"]["verdict"] == expected.verdict
    stored = Coefficients.load("coefficients.json")
    assert stored.objective == expected.coefficients.objective
    assert stored.fit.constraints == expected.coefficients.fit.constraints
    deferrals = [each and each.to_dict() for each in (stored.defer, expected.coefficients.defer)]
    assert deferrals[0] == deferrals[1]


def test_the_exact_solver_proves_its_optimum(dnip, opt):
    proven = dnip("fit", opt, "--solver", "exact", "--json").json
    assert (proven["status"], proven["gap"]) == ("optimal", 0.0)
    assert proven["lower_bound"] == proven["objective"]
    assert "Proven optimal" in dnip("fit", opt, "--solver", "exact").out


def test_ctrl_c_in_a_search_keeps_the_best_so_far(dnip, opt, monkeypatch):
    search = Coordinate.search

    def interrupted(*arguments):
        yield from itertools.islice(search(*arguments), 2)
        raise KeyboardInterrupt

    monkeypatch.setattr(Coordinate, "search", interrupted)
    run = dnip("fit", opt, *PLAIN, "--no-evidence", "--json")
    assert (run.status, run.json["status"], run.json["gap"]) == (0, "interrupted", None)
    stored = Coefficients.load("coefficients.json")
    assert stored.weight_indices.tolist() == run.json["weight_indices"]
    told = dnip("fit", opt, *PLAIN, "--no-evidence").out
    assert "Interrupted; this is the best found so far." in told


def test_rows_without_labels_are_noted_where_they_are_not_used(dnip, opt):
    before = dnip("fit", opt, *PLAIN, "--json").json
    with Path(opt).open("a") as file:
        file.write(",0.5,0.25,0.25\n,0.1,0.8,0.1\n")
    run = dnip("fit", opt, *PLAIN, "--json")
    assert run.err.startswith("note: rows without a label, not used: 2\n")
    assert run.json["weight_indices"] == before["weight_indices"]


def test_a_sample_is_fitted_where_fewer_rows_are_asked_for(dnip, opt):
    run = dnip("fit", opt, "--rows", "60", "--json")
    told = "Fitted on a sample of 60 of 80 rows; the objective is of all."
    assert (run.status, run.json["notes"][0]) == (0, told)
    assert told in dnip("fit", opt, "--rows", "60").out
    assert not dnip("fit", opt, "--rows", "all", "--json").json["notes"]


def test_few_labels_are_fitted_robustly_and_told_so(dnip, opt):
    line = "robust: the labels (10 to 45 per class) decide 33% to 69% of each weight,\n"
    asked = "\nRows without labels help, too: --unlabelled NEW.csv, the rows to be corrected.\n"
    text = dnip("fit", opt).out
    assert line in text
    assert asked in text
    ProbabilityTable(PROBLEM.p).write("more.csv")
    assert asked not in dnip("fit", opt, "--unlabelled", "more.csv").out
    assert asked not in dnip("fit", opt, *PLAIN).out
    told = dnip("fit", opt, "--beta", "2.7", "--json").json["robust"]
    assert (told["mode"], told["labels"]) == ("auto", [45.0, 25.0, 10.0])
    assert dnip("fit", opt, "--json", "--preset", "paper").json["robust"] is None


def test_evidence_is_shown_and_kept(dnip, opt):
    run = dnip("fit", opt, *PLAIN, "--json")
    evidence = run.json["evidence"]
    assert (run.status, run.err, evidence["verdict"]) == (0, "", "apply")
    for side in ("raw", "reweighted", "difference"):
        assert {"accuracy", "cobias", "class_accuracies"} <= evidence[side]["intervals"].keys()
    kept = json.loads(Path("coefficients.json").read_text())["fit"]["evidence"]
    assert kept["verdict"].startswith(evidence["verdict"])
    assert f"{evidence['objective']['after']:.3f}" in kept["reason"]
    text = dnip("fit", opt, *PLAIN).out
    assert text.startswith("On other rows, by 15 refits that each left labels out:\nworst class  ")
    assert "\nIn brackets: 90 % intervals." in text
    assert "\nverdict: apply" in text
    assert text.endswith("coefficients written to coefficients.json\n")


def test_other_beta_are_told_and_the_chosen_one_is_marked(dnip, opt):
    found = dnip("fit", opt, "--json").json["evidence"]["alternatives"]
    assert [each["beta"] for each in found] == [0.5, 1.0, 2.7]
    assert sum(each["is_chosen"] for each in found) == 1
    text = dnip("fit", opt).out
    lines = text.partition("What other β would give on other rows (* this fit):\n")[2].splitlines()
    for line, each in zip(lines[1:4], found, strict=True):
        mark = ["*"] if each["is_chosen"] else []
        numbers = [f"{each[name]:.3f}" for name in ("accuracy", "cobias", "worst")]
        assert line.split() == [*mark, f"{each['beta']:g}", *numbers]
    assert "What other β would give" not in dnip("fit", opt, "--beta", "0.7").out


def test_a_metric_as_objective_is_named(dnip, folder):
    rows = biased_rows(np.random.default_rng(0), 300, bias=[1.5, 0.0, -1.5])
    ProbabilityTable(rows.probabilities, rows.labels).write(folder / "opt.csv")
    told = dnip("fit", "opt.csv", "--objective", "balanced-accuracy").out
    assert re.search(r"\nbalanced accuracy 0\.\d+ -> 0\.\d+, \d+% sure that it rises\nIn", told)
    assert re.search(r"\nbalanced accuracy (0\.\d+) on the labelled rows\n", told)


def test_evidence_waits_to_be_asked_for_where_it_would_take_long(dnip, opt, monkeypatch):
    monkeypatch.setattr("dnip.fitting.fit._MOST_PRODUCTS", 1)
    run = dnip("fit", opt, *PLAIN, "--json")
    assert run.json["evidence"] == {"verdict": "not judged", "choice": None, "alternatives": []}
    told = dnip("fit", opt, *PLAIN, "--out", "c.json").out
    assert "\nverdict: not judged\n" in told
    assert f"\nNext, ask for a verdict: dnip fit {opt} --out c.json --evidence\n" in told
    judged = dnip("fit", opt, *PLAIN, "--evidence", "--json").json["evidence"]
    assert judged["verdict"] == "apply"


def test_where_nothing_gains_weights_of_1_are_written(dnip, opt):
    ProbabilityTable(PROBLEM.p, PROBLEM.p.argmax(axis=1)).write(opt)
    text = dnip("fit", opt).out
    assert "verdict: keep the raw argmax\nWeights of 1: " in text
    assert text.endswith("of 1 written to coefficients.json: the raw argmax stays in force\n")
    run = dnip("fit", opt, "--json").json
    assert (run["holds"], run["evidence"]["verdict"]) == ("raw", "keep")
    assert Coefficients.load("coefficients.json").weights.tolist() == run["weights"] == [1, 1, 1]


def test_without_labels(dnip, opt):
    run = dnip("fit", opt, "--no-labels", "--out", "c.json")
    assert run.status == 0
    assert "verdict: not judged" in run.out
    summary = dnip("fit", opt, "--no-labels", "--out", "c.json", "--json").json
    assert summary.keys() >= KEYS
    assert (summary["objective"], summary["evidence"]["verdict"]) == (None, "not judged")
    assert dnip("apply", opt, "--coefficients", "c.json", "--out", "o.csv").status == 0
    assert dnip("check", opt, "--coefficients", "c.json").status == 3  # no scores to compare with
    assert dnip("show", "c.json").status == 0


def test_deferring_is_told_and_saved(dnip, folder):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1], 400)
    ProbabilityTable(p, (rng.random(400) < p[:, 1]).astype(int)).write("t.csv")
    told = dnip("fit", "t.csv", "--defer", "0.25", "--json").json["defer"]
    assert Coefficients.load("coefficients.json").defer.to_dict().items() <= told.items()
    assert (told["share"], told["helper_accuracy"]) == (0.25, 0.9)
    front = {point["asked"]: point for point in told["front"]}
    text = dnip("fit", "t.csv", "--defer", "0.25").out
    assert "Expected on other rows, 25% of them deferred to a helper, right on 90%:" in text
    lines = [line.split() for line in text.splitlines()]
    metrics = ("share", "accuracy", "cobias", "worst_class_accuracy")
    for asked in (0.0, 0.25):
        expected = [f"{front[asked][metric]:.3f}" for metric in metrics]
        assert any(shown[:3] + shown[-1:] == expected for shown in lines)
    assert "and a threshold written to coefficients.json" in text


def test_constraints_that_cannot_be_kept_write_nothing(dnip, opt, folder):
    asked = ("--min-class-accuracy", "all=0.95", "--max-accuracy-loss", "0")
    run = dnip("fit", opt, *asked, "--json")
    run.assert_refused("no weights were found that satisfy all", "at least 0.95 is asked")
    assert not (folder / "coefficients.json").exists()


# --- the path ---
def test_json_text_and_picture_hold_every_beta_and_no_coefficients_are_written(dnip, opt):
    run = dnip("fit", opt, "--path", "--picture", "path.png", "--json")
    assert (run.status, run.err, run.json["picture"]) == (0, "", "path.png")
    assert Path("path.png").stat().st_size > 5000
    assert (run.json["classes"], run.json["expected"]) == (["0", "1", "2"], True)
    assert [point["beta"] for point in run.json["points"]] == list(PATH)
    lines = dnip("fit", opt, "--path").out.splitlines()
    assert lines[0].split() == ["on", "other", "rows"]
    assert lines[2].split() == ["raw", *(f"{run.json['raw'][name]:.3f}" for name in HEADLINE)]
    for line, point in zip(lines[3:15], run.json["points"], strict=True):
        numbers = [f"{point[name]:.3f}" for name in HEADLINE]
        assert line.split() == [f"{point['beta']:g}", *numbers]
    assert not Path("coefficients.json").exists()
    assert lines[-1].endswith("To take one: dnip fit opt.csv --beta BETA")
    [point] = [point for point in run.json["points"] if point["beta"] == 0.5]
    fitted = dnip("fit", opt, "--beta", 0.5, "--json").json["evidence"]
    weights = Coefficients.load("coefficients.json").weights.tolist()
    assert point["weights"] == dict(zip("012", weights, strict=True))
    assert point["verdict"] == fitted["verdict"]
    assert {name: fitted["reweighted"][name] for name in METRICS} == {n: point[n] for n in METRICS}


def test_without_evidence_it_says_that_the_rows_are_those_of_the_fit(dnip, opt):
    text = dnip("fit", opt, "--path", "--no-evidence").out
    assert text.splitlines()[0].split() == ["on", "the", "fitted", "rows"]
    assert "as refits expect" not in text


def test_ctrl_c_keeps_the_fits_so_far(dnip, opt, monkeypatch):
    solve, search, calls = Estimator.solve, Coordinate.search, []

    def counted(self, settings, *more):
        calls.append(settings.objective.beta)
        return solve(self, settings, *more)

    def interrupted(*arguments):
        if calls.count(PATH[1]) == 1:
            raise KeyboardInterrupt
        return search(*arguments)

    monkeypatch.setattr(Estimator, "solve", counted)
    monkeypatch.setattr(Coordinate, "search", interrupted)
    run = dnip("fit", opt, "--path", "--no-evidence", "--json")
    assert run.status == 0
    assert run.err.startswith("interrupted: 2 fits so far are kept")
    assert [point["beta"] for point in run.json["points"]] == list(PATH[:2])


@cases(
    ("--path --beta 1", 2, "--beta is for one fit"),
    ("--path --out c.json", 2, "--out is for one fit"),
    ("--path --defer 0.1", 2, "--defer is for one fit"),
    ("--path --no-labels", 2, "--no-labels is for one fit"),
    ("--picture p.png", 2, "--picture draws the path: add --path"),
    ("--path --objective macro-f1", 1, "has no β"),
    ("--path --picture opt.csv", 1, "the same file"),
    ("--path --picture path.bmp", 1, "its name must end in .png or .svg or .pdf"),
)
def test_refusals_leave_nothing_behind(dnip, opt, options, status, told):
    run = dnip("fit", opt, *options.split())
    assert (run.status, run.out, told in run.err) == (status, "", True)
    assert [path.name for path in Path().iterdir()] == ["opt.csv"]
