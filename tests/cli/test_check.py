"""``dnip check``: its exit status, its text, its JSON, and the file that counts looks."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from cases import cases
from dnip import ProbabilityTable

KEYS = {
    *("signal", "holds", "alpha", "look", "rows", "rows_at_fit", "distribution", "mass", "level"),
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
        settings = {"task": {}, "demonstrations": [], "scoring": "first"}
        settings["engine"] = {"model": model}
        Path(f"{name}.meta.json").write_text(json.dumps({"settings": settings}))
    dnip("fit", "opt.csv", "--out", "c.json")
    assert json.loads(Path("c.json").read_text())["fit"]["data"]["origin"]["model"] == "small"
    run = dnip("check", "new.csv", "--coefficients", "c.json")
    assert "\nthe model differs: small at the fit, large now\n" in run.out
    assert run.status == 0


LOOK = ("check", "new.csv", "--coefficients", "c.json", "--looks", "looks.json")


@pytest.mark.usefixtures("fitted")
def test_looks_share_one_level_and_a_table_is_looked_at_once(dnip):
    tables = ["new.csv", "other.csv", "again.csv", "new.csv"]
    write("again.csv", 3)
    runs = [dnip(LOOK[0], table, *LOOK[2:], "--json") for table in tables]
    assert [run.status for run in runs] == [0, 3, 0, 0]
    looks = [run.json["look"] for run in runs]
    assert [look["number"] for look in looks] == [1, 2, 3, 1]
    assert [look["level"] for look in looks] == pytest.approx([1 / 40, 1 / 120, 1 / 240, 1 / 40])
    assert [look["left"] for look in looks] == pytest.approx([1 / 40, 1 / 60, 1 / 80, 1 / 40])
    assert [run.json["alpha"] for run in runs] == [look["level"] for look in looks]
    assert runs[3].json == runs[0].json
    told = r"\n +on 300 labelled rows; 99\.86 % intervals\nlook +number 3, at level 0\.0042; "
    assert re.search(told + r"0\.013 of 0\.05 left for later ones\n", dnip(*LOOK).out) is None
    assert re.search(told + r"0\.013 of 0\.05 left", dnip(LOOK[0], "again.csv", *LOOK[2:]).out)


def broken(**changes):
    content = json.loads(Path("looks.json").read_text())
    Path("looks.json").write_text(json.dumps(content | changes))


@pytest.mark.usefixtures("fitted")
@cases(
    (lambda: os.truncate("looks.json", 40), "Expecting value: line 3"),
    (lambda: broken(format="dnip-coefficients"), "its format is 'dnip-coef"),
    (lambda: broken(version=2), "its version is 2, not 1"),
    (lambda: broken(alpha=0.1), "its alpha is 0.1, not 0.05"),
    (lambda: broken(looks=["a", "a"]), "its looks are not different hashes"),
    (lambda: broken(looks=[1]), "its looks are not different hashes"),
    (lambda: broken(looks="ab"), "its looks are not different hashes"),
    (lambda: Path("looks.json").write_text("{}"), "'format' is missing"),
    (lambda: (Path("looks.json").unlink(), os.mkfifo("looks.json")), "it is a pipe"),
    (lambda: Path("c.json").write_text(Path("moved.json").read_text()), "its coefficients is"),
)
def test_looks_that_cannot_be_counted_are_refused(dnip, harm, reason):
    dnip("fit", "other.csv", "--out", "moved.json")
    dnip(*LOOK)
    harm()
    before = Path("looks.json").is_file() and Path("looks.json").read_bytes()
    run = dnip(*LOOK)
    assert (run.status, run.out) == (1, "")
    assert f"looks.json: the look cannot be counted there: {reason}" in run.err
    assert not before or Path("looks.json").read_bytes() == before


@pytest.mark.usefixtures("fitted")
def test_a_look_that_fails_is_not_counted(dnip):
    write("few.csv", 4, n_rows=20)
    assert dnip(LOOK[0], "few.csv", *LOOK[2:]).status == 1
    assert not Path("looks.json").exists()
    run = dnip("check", "new.csv", "--coefficients", "c.json", "--looks", "c.json")
    assert run.status == 1
    assert "coefficients and looks are the same file" in run.err
