"""``dnip check``: its exit status, its text, and its JSON."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip import ProbabilityTable

KEYS = {
    "absent",
    "groups",
    *("signal", "holds", "alpha", "rows", "rows_at_fit", "distribution", "mass", "level"),
    *("changed_decisions", "class_mix", "labelled_rows", "worse", "accuracy", "cobias", "origin"),
    *("corrected_by", "deferred"),
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
    fit = dnip("fit", "opt.csv", "--out", "c.json")
    assert fit.status == 0
    return folder


@pytest.mark.usefixtures("fitted")
@cases(
    ("new.csv", 0, r"\nverdict: the coefficients hold\n\Z"),
    ("other.csv", 3, r"\nverdict: the coefficients do not hold: "),
)
def test_the_exit_status_says_whether_they_hold(dnip, name, status, verdict):
    command = ("check", name, "--coefficients", "c.json")
    run, told = dnip(*command), dnip(*command, "--json")
    assert (run.status, told.status, run.err) == (status, status, "")
    assert re.search(verdict, run.out)
    assert told.json.keys() == KEYS
    assert told.json["holds"] == (status == 0)


@pytest.mark.usefixtures("fitted")
def test_the_origin_of_both_tables_is_compared(dnip):
    for name, model in (("opt.csv", "small"), ("new.csv", "large")):
        Path(f"{name}.meta.json").write_text(json.dumps({"origin": {"model": model}}))
    dnip("fit", "opt.csv", "--out", "c.json")
    assert json.loads(Path("c.json").read_text())["fit"]["data"]["origin"]["model"] == "small"
    run = dnip("check", "new.csv", "--coefficients", "c.json")
    assert "\nthe model: small at the fit, large now\n" in run.out
    assert run.status == 0
