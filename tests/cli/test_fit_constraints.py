"""``dnip fit`` with constraints and costs: kept, told, stored, or refused."""

import json

import numpy as np
import pytest

import oracles
from dnip import Coefficients, ProbabilityTable
from problems import KNOWN

PROBLEM = KNOWN["four classes"]
NAMES = ("World", "Sports", "Business", "Tech")


@pytest.fixture
def opt(folder):
    """A table on which an equal fit costs accuracy."""
    ProbabilityTable(PROBLEM.p, PROBLEM.labels, classes=NAMES).write(folder / "opt.csv")
    return "opt.csv"


def kept(summary, max_loss=None, least=None):
    confusion = oracles.confusion_at(PROBLEM.p, PROBLEM.labels, summary["weights"])
    raw = oracles.confusion_at(PROBLEM.p, PROBLEM.labels, [1, 1, 1, 1])
    return oracles.keeps(confusion, raw, max_loss, least)


@pytest.mark.parametrize("robust", ["auto", "on", "off"])
def test_constraints_are_kept_told_and_stored(dnip, opt, robust):
    asked = ("--max-accuracy-loss", "0.05", "--min-class-accuracy", "Tech=0.45")
    asked += ("--min-class-accuracy", "1=0.5", "--freeze", "World")
    run = dnip("fit", opt, *asked, "--robust", robust, "--json")
    assert (run.status, run.err) == (0, "")
    assert kept(run.json, 0.05, {3: 0.45, 1: 0.5})
    assert run.json["weights"][0] == 1.0
    told = run.json["constraints"]
    assert told["min_class_accuracies"] == {"Sports": 0.5, "Tech": 0.45}
    assert (told["max_accuracy_loss"], told["freeze"]) == (0.05, ["World"])
    assert Coefficients.load("coefficients.json").fit["constraints"] == told


def test_constraints_that_cannot_be_kept_write_nothing(dnip, opt, folder):
    asked = ("--min-class-accuracy", "all=0.95", "--max-accuracy-loss", "0")
    run = dnip("fit", opt, *asked, "--json")
    run.assert_refused("no weights were found that satisfy all", "at least 0.95 is asked")
    assert not (folder / "coefficients.json").exists()
    run = dnip("fit", opt, *asked, "--solver", "exact")
    run.assert_refused("no weights on this scale satisfy all constraints")


def test_costs_come_from_a_file_by_name_and_from_the_coefficients_again(dnip, opt, folder):
    costs = np.ones((4, 4)) - np.eye(4)
    costs[3, 0] = 8
    rows = [",".join(["", *NAMES[::-1]])]
    rows += [",".join([name, *map(str, costs[i, ::-1])]) for i, name in enumerate(NAMES)]
    (folder / "costs.csv").write_text("\n".join(rows))
    settings = ("--beta", "0", "--tau", "0", "--robust", "off", "--json")
    run = dnip("fit", opt, "--costs", "costs.csv", *settings, "--out", "c.json").json
    confusion = oracles.confusion_at(PROBLEM.p, PROBLEM.labels, run["weights"])
    assert run["objective"] == pytest.approx(oracles.mean_cost(confusion, costs))
    stored = json.loads((folder / "c.json").read_text())
    assert stored["objective"]["costs"] == costs.tolist()
    again = dnip("fit", opt, "--costs", "c.json", *settings).json
    assert again["weight_indices"] == run["weight_indices"]


def test_costs_of_other_classes_are_refused(dnip, opt, folder):
    (folder / "other.csv").write_text(",A,B,C,D\nA,0,1,1,1\nB,1,0,1,1\nC,1,1,0,1\nD,1,1,1,0\n")
    told = "costs is of the classes A, B, C, D, but the classes are"
    dnip("fit", opt, "--costs", "other.csv").assert_refused(told)
    assert not (folder / "coefficients.json").exists()
