"""``dnip check``: its exit status, its text and its JSON."""

import json
from pathlib import Path

import numpy as np
import pytest

from dnip import ProbabilityTable

KEYS = {
    "holds",
    "alpha",
    "rows",
    "rows_at_fit",
    "distribution",
    "mass",
    "changed_decisions",
    "class_mix",
    "labelled_rows",
    "level",
    "worse",
    "accuracy",
    "cobias",
    "origin",
}


def write(name, seed, n_rows=300, power=1.0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n_rows)
    p = 1 / (1 + np.exp(rng.normal(1.0 - 2.0 * labels, 1)))
    p = np.stack([1 - p**power, p**power], axis=1)
    ProbabilityTable(p, labels, classes=("ham", "spam")).write(name)


@pytest.fixture
def fitted(dnip, folder):
    write("opt.csv", 0)
    write("new.csv", 1)
    write("other.csv", 2, power=2.5)
    fit = dnip("fit", "opt.csv", "--classes", "ham,spam", "--out", "c.json", "--no-evidence")
    assert fit.status == 0
    return folder


@pytest.mark.usefixtures("fitted")
def test_the_exit_status_says_whether_they_hold(dnip):
    same, other = (
        dnip("check", "new.csv", "--coefficients", "c.json"),
        dnip("check", "other.csv", "--coefficients", "c.json"),
    )
    assert (same.status, other.status, same.err, other.err) == (0, 3, "", "")
    assert same.out.endswith("verdict: the coefficients hold\n")
    assert "verdict: the coefficients do not hold: " in other.out


@pytest.mark.usefixtures("fitted")
def test_json_is_one_object_with_its_keys(dnip):
    found = {
        name: dnip("check", name, "--coefficients", "c.json", "--json")
        for name in ("new.csv", "other.csv")
    }
    assert {name: run.status for name, run in found.items()} == {"new.csv": 0, "other.csv": 3}
    for run in found.values():
        assert run.json.keys() == KEYS
        assert run.json["holds"] == (run.status == 0)


@pytest.mark.usefixtures("fitted")
def test_the_origin_of_both_tables_is_compared(dnip):
    for name, model in (("opt.csv", "small"), ("new.csv", "large")):
        settings = {
            "task": {},
            "demonstrations": [],
            "scoring": "first",
            "engine": {"model": model},
        }
        Path(f"{name}.meta.json").write_text(json.dumps({"settings": settings}))
    dnip("fit", "opt.csv", "--classes", "ham,spam", "--out", "c.json", "--no-evidence")
    assert json.loads(Path("c.json").read_text())["fit"]["data"]["origin"]["model"] == "small"
    run = dnip("check", "new.csv", "--coefficients", "c.json")
    assert "\nthe model differs: small at the fit, large now\n" in run.out
    assert run.status == 0
