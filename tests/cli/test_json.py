"""Where --json prints a list with an entry per class, it names the classes."""

import numpy as np
import pytest

from dnip import Coefficients, ProbabilityTable
from dnip.cli.app import COMMANDS
from strategies import random_probabilities

NAMES = ("World", "Sports", "Business", "Tech", "Life", "Local", "Weather")
CLASSES = ("--classes", ",".join(NAMES))
RUNS = {
    "fit": ("o.csv", *CLASSES, "--out", "d.json", "--evidence"),
    "tune": ("o.csv", *CLASSES, "--out", "d.json", "--betas", "1", "--taus", "0", "--folds", "2"),
    "pareto": ("o.csv", "--test", "t.csv", *CLASSES, "--effort", "0.01", "--cross-fit", "off"),
    "evaluate": ("o.csv", "--coefficients", "c.json"),
    "report": ("o.csv", "--coefficients", "c.json"),
    "check": ("o.csv", "--coefficients", "d.json"),
    "apply": ("o.csv", "--coefficients", "c.json", "--out", "a.csv"),
    "export": ("c.json", "--to", "json-bias"),
    "show": ("c.json",),
    "compare": ("o.csv", "--test", "t.csv", *CLASSES, "--methods", "raw", "--seeds", "1"),
}  # fmt: skip
#: They need a model, a server or minutes, and are tried in files of their own.
ELSEWHERE = {"demo", "audit", "prompt", "import", "serve"}


@pytest.fixture
def tables(folder):
    rng = np.random.default_rng(0)
    for name in ("o.csv", "t.csv"):
        p = random_probabilities(rng, 70, 7, "mixed")
        ProbabilityTable(p, np.arange(70) % 7, classes=NAMES).write(name)
    for name, last in (("c.json", 30), ("d.json", 10)):
        Coefficients(NAMES, [30, 12, 7, 30, 30, 20, last], 30).save(name)


def has_a_list_per_class(content):
    parts = content.values() if isinstance(content, dict) else content
    if isinstance(content, list) and len(content) == len(NAMES):
        return True
    nested = isinstance(content, dict | list)
    return nested and any(map(has_a_list_per_class, parts))


def test_every_command_is_tried():
    assert set(COMMANDS) == RUNS.keys() | ELSEWHERE


@pytest.mark.parametrize("command", RUNS)
def test_lists_per_class_come_with_the_names(dnip, tables, command):
    if command == "check":
        dnip("fit", *RUNS["fit"])
    run = dnip(command, *RUNS[command], "--json")
    assert run.status == 0, run.err
    content = run.json
    named = content.pop("classes", None)
    if has_a_list_per_class(content):
        assert named == list(NAMES)
