"""``dnip fit``: keys, options, notes, and the file that it writes."""

import itertools
import json
import re
from contextlib import nullcontext
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

import oracles
from cases import cases
from dnip import Coefficients, Objective, ProbabilityTable, evaluate, solve
from dnip.base import SolverName
from dnip.method.objective import MetricObjective
from dnip.solvers import SOLVERS, Coordinate
from populations import biased_rows
from problems import KNOWN

KEYS = {
    *("weight_indices", "scale", "objective", "terms", "solver", "status", "lower_bound", "gap"),
    *("evaluations", "seconds", "seed", "unfitted"),
}
PROBLEM = KNOWN["three classes"]


@pytest.fixture
def opt(folder):
    """A table whose best weights are not the first."""
    ProbabilityTable(PROBLEM.p, PROBLEM.labels).write(folder / "opt.csv")
    return "opt.csv"


def test_options_are_those_of_the_library():
    assert [SOLVERS[name].name for name in get_args(SolverName)] == list(SOLVERS)


def test_without_labels(dnip, opt):
    run = dnip("fit", opt, "--no-labels", "--out", "c.json")
    assert (run.status, run.err) == (0, "")
    assert "verdict: not judged" in run.out
    assert "80 % of the rows" in " ".join(run.out.split())
    summary = dnip("fit", opt, "--no-labels", "--out", "c.json", "--json").json
    assert summary.keys() >= KEYS
    assert (summary["objective"], summary["evidence"]["verdict"]) == (None, "not judged")
    assert dnip("apply", opt, "--coefficients", "c.json", "--out", "o.csv").status == 0
    assert dnip("check", opt, "--coefficients", "c.json").status == 3  # no scores to compare with
    assert dnip("show", "c.json").status == 0
    dnip("fit", opt, "--no-labels", "--path").assert_wrong_usage("--no-labels is for one fit")


def test_json_has_the_promised_keys_and_the_file_agrees(dnip, opt):
    settings = ("--seed", "3", "--scale", "9", "--robust", "off")
    run = dnip("fit", opt, "--out", "c.json", "--json", *settings)
    assert (run.status, run.err) == (0, "")
    summary = run.json
    assert summary.keys() >= KEYS
    assert {"error", "cobias", "pmi"} <= summary["terms"].keys()
    assert (summary["scale"], summary["seed"], summary["solver"]) == (9, 3, "coordinate")
    assert (summary["lower_bound"], summary["gap"], summary["status"]) == (None, None, "finished")
    assert summary["objective"] == pytest.approx(PROBLEM.optimum)
    confusion = oracles.confusion_at(PROBLEM.p, PROBLEM.labels, summary["weight_indices"])
    assert summary["objective"] == pytest.approx(oracles.objective(confusion))
    fitted = Coefficients.load("c.json")
    assert fitted.weight_indices.tolist() == summary["weight_indices"]
    assert fitted.fit.data.source == "opt.csv"


@cases(
    ([], Objective()),
    (["--beta", "2"], Objective(beta=2.0)),
    (["--preset", "paper", "--solver", "coordinate"], Objective.published()),
    (["--objective", "macro-f1"], MetricObjective("macro-f1")),
)
def test_options_reach_the_objective(dnip, opt, options, objective):
    run = dnip("fit", opt, "--json", "--robust", "off", *options)
    assert run.status == 0
    scale = 30 if "--preset" in options else None
    expected = solve(PROBLEM.p, PROBLEM.labels, objective, scale=scale)
    assert run.json["weight_indices"] == expected.weight_indices.tolist()
    assert run.json["objective"] == expected.value
    stored = Coefficients.load("coefficients.json").objective
    assert stored.items() >= objective.to_dict().items()


def test_a_metric_as_objective_is_named_and_has_no_other_betas(dnip, folder):
    rows = biased_rows(np.random.default_rng(0), 300, bias=[1.5, 0.0, -1.5])
    ProbabilityTable(rows.probabilities, rows.labels).write(folder / "opt.csv")
    told = dnip("fit", "opt.csv", "--objective", "balanced-accuracy").out
    assert re.search(r"\nbalanced accuracy 0\.\d+ -> 0\.\d+, \d+% sure that it rises\nIn", told)
    met = re.search(r"\nbalanced accuracy (0\.\d+) on the labelled rows\n", told)
    weights = Coefficients.load("coefficients.json")
    after = evaluate("opt.csv", coefficients=weights).to_dict()["reweighted"]
    assert float(met[1]) == pytest.approx(after["balanced_accuracy"], abs=1e-6)
    assert "What other β would give" not in told
    assert "What other β would give" in dnip("fit", "opt.csv").out


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
    run = dnip("fit", opt, "--robust", "off", "--no-evidence", "--json")
    assert (run.status, run.json["status"]) == (0, "interrupted")
    assert run.json["gap"] is None
    stored = Coefficients.load("coefficients.json")
    assert stored.weight_indices.tolist() == run.json["weight_indices"]
    told = dnip("fit", opt, "--robust", "off", "--no-evidence").out
    assert "Interrupted; this is the best found so far." in told


def test_unlabelled_rows_are_noted_and_not_used_where_a_plain_fit_is_asked_for(dnip, files):
    before = dnip("fit", "t.csv", "--robust", "off", "--json").json
    with Path("t.csv").open("a") as file:
        file.write(",0.5,0.5\n,0.1,0.9\n")
    run = dnip("fit", "t.csv", "--robust", "off", "--json")
    assert run.err == "note: rows without a label, not used: 2\n"
    assert run.json["weight_indices"] == before["weight_indices"]
    assert run.json["objective"] == before["objective"]


def test_a_sample_is_fitted_where_fewer_rows_are_asked_for(dnip, opt):
    run = dnip("fit", opt, "--rows", "60", "--beta", "2.7", "--json")
    told = "Fitted on a sample of 60 of 80 rows; the objective is of all."
    assert (run.status, run.json["notes"][0]) == (0, told)
    confusion = oracles.confusion_at(PROBLEM.p, PROBLEM.labels, run.json["weights"])
    assert run.json["objective"] == pytest.approx(oracles.objective(confusion, beta=2.7))
    assert told in dnip("fit", opt, "--rows", "60").out
    for rows in ("all", "80"):
        assert not dnip("fit", opt, "--rows", rows, "--json").json["notes"]


def test_few_labels_are_fitted_robustly_and_told_so(dnip, opt):
    line = "robust: the labels (10 to 45 per class) decide 33% to 69% of each weight,\n"
    asked = "\nRows without labels help, too: --unlabelled NEW.csv, the rows to be corrected.\n"
    text = dnip("fit", opt).out
    assert line in text
    assert asked in text
    ProbabilityTable(PROBLEM.p).write("more.csv")
    assert asked not in dnip("fit", opt, "--unlabelled", "more.csv").out
    assert asked not in dnip("fit", opt, "--robust", "off").out
    told = dnip("fit", opt, "--beta", "2.7", "--json").json
    assert (told["robust"]["mode"], told["robust"]["labels"]) == ("auto", [45.0, 25.0, 10.0])
    confusion = oracles.confusion_at(PROBLEM.p, PROBLEM.labels, told["weights"])
    assert told["objective"] == pytest.approx(oracles.objective(confusion, beta=2.7))
    assert dnip("fit", opt, "--json", "--robust", "off").json["robust"] is None
    assert dnip("fit", opt, "--json", "--preset", "paper").json["robust"] is None
    plain = dnip("fit", opt, "--json", "--solver", "exact", "--scale", "5")
    assert plain.json["robust"] is None


def test_unlabelled_rows_that_cannot_serve_are_refused(dnip, opt):
    ProbabilityTable(np.full((5, 2), 0.5)).write("two.csv")
    given = ("fit", opt, "--unlabelled", "two.csv")
    dnip(*given).assert_refused("two.csv has the classes 0, 1, but opt.csv has 0, 1, 2")
    given = ("fit", opt, "--unlabelled", opt, "--robust", "off")
    dnip(*given).assert_refused("unlabelled rows serve a robust fit only")


PLAIN = ("--robust", "off")  # quick


def test_evidence_is_shown_and_kept(dnip, opt):
    run = dnip("fit", opt, *PLAIN, "--json")
    evidence = run.json["evidence"]
    assert (run.status, run.err) == (0, "")
    assert evidence["verdict"] in ("apply", "keep")
    assert dnip("evaluate", opt, "--json").json["signal"]
    gains = evidence["objective"]["after"] < evidence["objective"]["before"]
    assert (evidence["verdict"] == "apply") == gains
    for side in ("raw", "reweighted", "difference"):
        assert {"accuracy", "cobias", "class_accuracies"} <= evidence[side]["intervals"].keys()
    kept = json.loads(Path("coefficients.json").read_text())["fit"]["evidence"]
    assert kept["verdict"].startswith(evidence["verdict"])
    assert f"{evidence['objective']['after']:.3f}" in kept["reason"]
    text = dnip("fit", opt, *PLAIN).out
    assert text.startswith("On other rows, by 15 refits that each left labels out:\nworst class  ")
    assert "\nIn brackets: 90 % intervals." in text
    assert "\nverdict: " in text
    assert "coefficients written to coefficients.json" in text


def test_other_beta_are_told_and_the_chosen_one_is_marked(dnip, opt):
    found = dnip("fit", opt, "--beta", "0.7", "--json").json["evidence"]["alternatives"]
    assert [(each["beta"], each["is_chosen"]) for each in found] == [
        (beta, beta == 0.7) for beta in (0.5, 0.7, 1.0, 2.7)
    ]
    text = dnip("fit", opt, "--beta", "0.7").out
    lines = text.partition("What other β would give on other rows (* this fit):\n")[2].splitlines()
    for line, each in zip(lines[1:5], found, strict=True):
        mark = ["*"] if each["is_chosen"] else []
        numbers = [f"{each[name]:.3f}" for name in ("accuracy", "cobias", "worst")]
        assert line.split() == [*mark, f"{each['beta']:g}", *numbers]


def test_evidence_waits_to_be_asked_for_where_it_would_take_long(dnip, opt, monkeypatch):
    monkeypatch.setattr("dnip.fitting.fit._MOST_PRODUCTS", 1)
    run = dnip("fit", opt, *PLAIN, "--json")
    assert run.json["evidence"] == {"verdict": "not judged", "choice": None, "alternatives": []}
    told = dnip("fit", opt, *PLAIN).out
    assert "\nverdict: not judged\n" in told
    assert f"\nNext, ask for a verdict: dnip fit {opt} --evidence\n" in told
    told = dnip("fit", opt, *PLAIN, "--out", "c.json").out
    assert f"dnip fit {opt} --out c.json --evidence\n" in told
    judged = dnip("fit", opt, *PLAIN, "--evidence", "--json").json["evidence"]
    assert judged["verdict"] in ("apply", "keep", "no signal")


@pytest.mark.parametrize("verdict", ["apply", "keep", "no signal", "not judged"])
def test_the_choice_is_written_and_the_same_for_the_classifier(dnip, folder, verdict, monkeypatch):
    sklearn = pytest.importorskip("dnip.sklearn.classifier")
    rows = biased_rows(np.random.default_rng(7), 240, bias=[1.5, 0.0, -1.5])
    p, labels = rows.probabilities, rows.labels
    if verdict == "keep":  # nothing is wrong
        labels = p.argmax(axis=1)
    elif verdict == "no signal":
        labels = np.random.default_rng(0).permutation(labels)
    elif verdict == "not judged":
        monkeypatch.setattr(Coordinate, "search", _interrupted)
    ProbabilityTable(p, labels).write("t.csv")
    classifier = sklearn.DNIPClassifier()
    with pytest.warns(match="say nothing") if verdict == "no signal" else nullcontext():
        classifier.fit(p, labels)
    run = dnip("fit", "t.csv", "--json")
    assert run.json["evidence"]["verdict"] == classifier.verdict_ == verdict
    weights = Coefficients.load("coefficients.json").weights.tolist()
    assert run.json["weights"] == classifier.weights_.tolist() == weights
    assert run.json["holds"] == ("raw" if weights == [1, 1, 1] else "fitted")
    if verdict in ("apply", "keep"):
        assert (weights == [1, 1, 1]) == (verdict == "keep")
    if verdict == "keep":
        text = dnip("fit", "t.csv").out
        assert "verdict: keep the raw argmax\nWeights of 1: " in text
        assert text.endswith("of 1 written to coefficients.json: the raw argmax stays in force\n")
        plain = dnip("fit", "t.csv", *PLAIN, "--scale", "30")
        assert "keep the raw argmax" in plain.out


def _interrupted(*_):
    raise KeyboardInterrupt


def test_what_chose_by_the_verdict_is_gone(dnip, opt):
    run = dnip("fit", opt, "--only-if-better")
    assert run.status == 2
    assert "dnip fit writes weights of 1 where nothing is expected to gain" in run.err


def test_deferring_is_told_and_saved(dnip, folder):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1], 400)
    ProbabilityTable(p, (rng.random(400) < p[:, 1]).astype(int)).write("t.csv")
    run = dnip("fit", "t.csv", "--defer", "0.25", "--json")
    told = run.json["defer"]
    assert Coefficients.load("coefficients.json").defer.to_dict().items() <= told.items()
    assert (told["share"], told["helper_accuracy"]) == (0.25, 0.9)
    front = {point["asked"]: point for point in told["front"]}
    assert 0.25 in front
    text = dnip("fit", "t.csv", "--defer", "0.25").out
    assert "Expected on other rows, 25% of them deferred to a helper, right on 90%:" in text
    lines = [line.split() for line in text.splitlines()]
    metrics = ("share", "accuracy", "cobias", "worst_class_accuracy")
    for asked in (0.0, 0.25):
        expected = [f"{front[asked][metric]:.3f}" for metric in metrics]
        assert any(shown[:3] + shown[-1:] == expected for shown in lines)
    assert "and a threshold written to coefficients.json" in text
    Path("t.csv").write_text("label,p0,p1\n" + "0,0.9,0.1\n1,0.1,0.9\n" * 20)  # all right
    run = dnip("fit", "t.csv", "--defer", "0.25", "--out", "raw.json")
    assert run.out.endswith(
        "of 1 and a threshold written to raw.json: the raw argmax stays in force\n"
    )
    plain = dnip("fit", "t.csv", "--no-evidence", "--json", "--out", "c.json")
    assert plain.json["defer"] is None


# --- constraints and costs: kept, told, stored, or refused ---
FOUR = KNOWN["four classes"]
NAMES = ("World", "Sports", "Business", "Tech")


@pytest.fixture
def four(folder):
    """A table on which an equal fit costs accuracy."""
    ProbabilityTable(FOUR.p, FOUR.labels, classes=NAMES).write(folder / "opt.csv")
    return "opt.csv"


def kept(summary, max_loss=None, least=None):
    confusion = oracles.confusion_at(FOUR.p, FOUR.labels, summary["weights"])
    raw = oracles.confusion_at(FOUR.p, FOUR.labels, [1, 1, 1, 1])
    return oracles.keeps(confusion, raw, max_loss, least)


@pytest.mark.parametrize("robust", ["auto", "on", "off"])
def test_constraints_are_kept_told_and_stored(dnip, four, robust):
    asked = ("--max-accuracy-loss", "0.05", "--min-class-accuracy", "Tech=0.45")
    asked += ("--min-class-accuracy", "1=0.5")
    run = dnip("fit", four, *asked, "--robust", robust, "--json")
    assert (run.status, run.err) == (0, "")
    assert kept(run.json, 0.05, {3: 0.45, 1: 0.5})
    told = run.json["constraints"]
    assert told["min_class_accuracies"] == {"Sports": 0.5, "Tech": 0.45}
    assert told["max_accuracy_loss"] == 0.05
    assert Coefficients.load("coefficients.json").fit.constraints == told


def test_constraints_that_cannot_be_kept_write_nothing(dnip, four, folder):
    asked = ("--min-class-accuracy", "all=0.95", "--max-accuracy-loss", "0")
    run = dnip("fit", four, *asked, "--json")
    run.assert_refused("no weights were found that satisfy all", "at least 0.95 is asked")
    assert not (folder / "coefficients.json").exists()
    run = dnip("fit", four, *asked, "--solver", "exact")
    run.assert_refused("no weights on this scale satisfy all constraints")


def test_costs_come_from_a_file_by_name_and_from_the_coefficients_again(dnip, four, folder):
    costs = np.ones((4, 4)) - np.eye(4)
    costs[3, 0] = 8
    rows = [",".join(["", *NAMES[::-1]])]
    rows += [",".join([name, *map(str, costs[i, ::-1])]) for i, name in enumerate(NAMES)]
    (folder / "costs.csv").write_text("\n".join(rows))
    settings = ("--beta", "0", "--robust", "off", "--json")
    run = dnip("fit", four, "--costs", "costs.csv", *settings, "--out", "c.json").json
    confusion = oracles.confusion_at(FOUR.p, FOUR.labels, run["weights"])
    assert run["objective"] == pytest.approx(oracles.mean_cost(confusion, costs))
    stored = json.loads((folder / "c.json").read_text())
    assert stored["objective"]["costs"] == costs.tolist()
    again = dnip("fit", four, "--costs", "c.json", *settings).json
    assert again["weight_indices"] == run["weight_indices"]


# --- rows that belong together ---
def write_answers(path, times):
    """60 prompts, as many answers to each that differ little."""
    rng = np.random.default_rng(3)
    rows = biased_rows(rng, 60, bias=[1.2, 0.0, -1.2])
    lines = ["label,a,b,c,prompt"]
    for number, (p, label) in enumerate(zip(rows.probabilities, rows.labels, strict=True)):
        for _ in range(times):
            answer = p * (1 + 1e-6 * rng.random(3))
            answer = ",".join(map(repr, (answer / answer.sum()).tolist()))
            lines.append(f"{'abc'[label]},{answer},text {number:02}")
    Path(path).write_text("\n".join(lines))


def test_rows_of_a_group_lie_in_one_fold_and_count_once(dnip, folder):
    write_answers("once.csv", 1)
    write_answers("often.csv", 5)
    fit = ("--out", "coefficients.json", "--json")
    once = dnip("fit", "once.csv", "--group", "prompt", *fit).json
    often = dnip("fit", "often.csv", "--group", "prompt", *fit).json
    loose = dnip("fit", "often.csv", "--classes", "a,b,c", *fit).json
    assert often["weights"] == pytest.approx(once["weights"], rel=1e-3)
    told, expected, alone = (run["evidence"] for run in (often, once, loose))
    assert told["verdict"] == expected["verdict"]
    for metric in ("accuracy", "cobias", "worst_class_accuracy"):
        interval = told["reweighted"]["intervals"][metric]
        assert interval == pytest.approx(expected["reweighted"]["intervals"][metric], abs=0.02)
    low, high = told["reweighted"]["intervals"]["accuracy"]
    narrow = np.subtract(*alone["reweighted"]["intervals"]["accuracy"][::-1])
    assert narrow < 0.6 * (high - low)


def test_a_column_that_is_not_of_groups_is_refused(dnip, folder):
    write_answers("t.csv", 2)
    given = ("fit", "t.csv", "--classes", "a,b,c", "--group")
    dnip(*given, "label").assert_refused("label is no column of t.csv to divide")
    dnip(*given, "prompt", "--rows", "50").assert_refused("a sample does not keep groups")
    Path("t.csv").write_text("label,p0,p1,prompt\n0,0.9,0.1,x\n1,0.6,0.4,x\n")
    dnip("fit", "t.csv", "--group", "prompt").assert_refused("all rows are of one group, 'x'")
    assert not Path("coefficients.json").exists()
