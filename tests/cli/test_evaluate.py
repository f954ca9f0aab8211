"""What looks at tables: ``dnip evaluate``, ``check`` and ``report``; and the line they end with."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cases import cases
from dnip import Coefficients, ProbabilityTable
from dnip.fitting.fit import fit
from strategies import random_probabilities

KEYS = {"accuracy", "cobias", "cobias_single", "class_accuracies", "odd_classes", "confusion"}


def test_json_has_the_promised_keys(dnip, files):
    Coefficients(["no", "yes"], [15, 30], 30).save("c.json")
    run = dnip("evaluate", "t.csv", "--coefficients", "c.json", "--json")
    assert (run.status, run.err) == (0, "")
    summary = run.json
    assert summary["classes"] == ["no", "yes"]
    assert (summary["n"], summary["n_classes"], summary["n_unlabelled"]) == (4, 2, 0)
    assert summary["raw"].keys() >= KEYS
    assert summary["reweighted"].keys() >= KEYS
    assert summary["raw"]["confusion"] == [[2, 0], [2, 0]]
    assert summary["raw"]["class_accuracies"] == [1.0, 0.0]
    assert (summary["raw"]["accuracy"], summary["raw"]["cobias"]) == (0.5, 1.0)
    assert summary["raw"]["odd_classes"] == [None, 0]
    assert summary["reweighted"]["confusion"] == [[2, 0], [0, 2]]


def test_with_coefficients_the_text_shows_both_sides(dnip, files):
    command = "evaluate", "t.csv", "--coefficients", "c.json", "--picture", "p.png"
    text = dnip(*command, "--confusion").out
    assert re.search(r"\naccuracy     0\.500 \[.*\] -> 1\.000 \[.*\]\n", text)
    assert re.search(r"\nCOBias       1\.000 \[.*\] -> 0\.000 \[.*\]\n", text)
    assert "\nchange       accuracy +0.500 [" in text
    # the worst class is 0.000, outside of its interval: one of few rows may be better
    assert "In brackets: 90 % intervals. A value may be outside of its own: with few\n" in text
    assert "\n\nafter, rows of  0  1\n" in text
    assert text.endswith("\n\npicture written to p.png\n")
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")


def test_what_looks_at_coefficients_tells_what_they_defer(dnip, folder):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    p = (rng.dirichlet([1, 1], 200) + np.eye(2)[y]) / 2
    ProbabilityTable(p, y, classes=["no", "yes"]).write("t.csv")
    found = fit(ProbabilityTable.read("t.csv"), evidence=True, defer=0.3)
    found.coefficients.save("h.json")
    fitted = Coefficients.load("h.json")
    replace(fitted, defer=None).save("c.json")
    now = f"{100 * round(fitted.deferred(p).mean(), 3):.1f} %"
    told = [now, "asked for 30.0 %", "remaining", "helper right on 90%"]
    text = dnip("evaluate", "t.csv", "--coefficients", "h.json").out
    assert f"\ndeferred     {told[0]}; {told[1]}\n" in text
    assert all(each in text for each in told)
    checked = dnip("check", "t.csv", "--coefficients", "h.json")
    assert f"\ndeferred           {told[1]}, now {told[0]} of the rows\n" in checked.out
    assert dnip("report", "t.csv", "--coefficients", "h.json", "--out", "page.html").status == 0
    point = next(each for each in found.deferring if each.asked == 0.3)
    front = f"COBias {point.gaps.cobias:.3f} at accuracy {point.accuracy:.3f}"
    page = Path("page.html").read_text().replace("\xa0%", " %")
    assert all(each in page for each in (*told, "expected, 30.0 % deferred", front))
    for command, key in (("evaluate", "defer"), ("check", "deferred")):
        without = dnip(command, "t.csv", "--coefficients", "c.json", "--json").json
        assert without.get(key) is None


def test_alone_it_names_what_starves(dnip, folder):
    rows = [f"{c},{p},{1 - p}" for c, p in [("cat", 0.9)] * 20 + [("dog", 0.6)] * 20]
    Path("my table.csv").write_text("\n".join(["label,cat,dog", *rows]))
    run = dnip("evaluate", "my table.csv")
    assert "\nStarving: dog. Below the average class, 0.500, by more than chance." in run.out
    assert run.out.endswith("Next, learn coefficients: dnip fit 'my table.csv'\n")
    assert dnip("evaluate", "my table.csv", "--json").json["starving"] == ["dog"]


def test_many_classes_fit_on_a_screen_the_weakest_first(dnip, folder):
    p, right = np.full((300, 30), 0.02), np.arange(300)
    y = right % 30
    p[right, np.where(right // 30 < (29 - y) / 3, y, (y + 1) % 30)] += 0.4
    ProbabilityTable(p, y).write("t.csv")
    lines = dnip("evaluate", "t.csv").out.splitlines()
    assert len(lines) <= 24
    weakest = 29, 26, 27, 28, 23, 24, 25, 20, 21, 22, 17, 18  # of equal ones, the first
    assert [line.split()[0] for line in lines[1:14]] == [*map(str, weakest), "…"]


def test_a_class_without_rows_is_warned_of_and_null(dnip, folder):
    Path("t.csv").write_text("label,p0,p1,p2\n0,0.8,0.1,0.1\n2,0.5,0.1,0.4\n")
    run = dnip("evaluate", "t.csv", "--json")
    assert run.err == "warning: no labelled row of class 1: left out\n"
    assert run.json["raw"]["class_accuracies"] == [1.0, None, 0.0]


# --- check ---
CHECKED = {
    *("absent", "groups", "signal", "holds", "alpha", "rows", "rows_at_fit", "distribution"),
    *("mass", "level", "changed_decisions", "class_mix", "labelled_rows", "worse", "accuracy"),
    *("cobias", "origin", "corrected_by", "deferred"),
}


def write(name, seed, power=1.0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=300)
    p = 1 / (1 + np.exp(rng.normal(1.0 - 2.0 * labels, 1)))
    p = np.stack([1 - p**power, p**power], axis=1)
    ProbabilityTable(p, labels, classes=("ham", "spam")).write(name)


@cases(
    (1.0, 0, r"\nverdict: the coefficients hold\n\Z"),
    (2.5, 3, r"\nverdict: the coefficients do not hold: "),
)
def test_the_exit_status_says_whether_they_hold(dnip, folder, power, status, verdict):
    write("opt.csv", 0)
    write("new.csv", 1, power)
    for name, model in (("opt.csv", "small"), ("new.csv", "large")):
        Path(f"{name}.meta.json").write_text(json.dumps({"origin": {"model": model}}))
    dnip("fit", "opt.csv", "--out", "c.json")
    command = ("check", "new.csv", "--coefficients", "c.json")
    run, told = dnip(*command), dnip(*command, "--json")
    assert (run.status, told.status, run.err) == (status, status, "")
    assert re.search(verdict, run.out)
    assert "\nthe model: small at the fit, large now\n" in run.out
    assert told.json.keys() == CHECKED
    assert told.json["holds"] == (status == 0)


# --- report ---
@pytest.fixture
def examples(folder, request):
    """An empty folder with the two tables that ship as examples."""
    for name in ("opt.csv", "test.csv"):
        (folder / name).write_bytes((request.config.rootpath / "examples" / name).read_bytes())
    return folder


def test_a_page_is_written_of_coefficients_or_of_a_fit(dnip, examples):
    done = dnip("report", "opt.csv")
    assert done.out.startswith("Apply the coefficients: in the weakest class, ")
    assert done.out.endswith("\nNext, keep the coefficients: dnip fit opt.csv\n")
    dnip("fit", "opt.csv")
    given = ("--coefficients", "coefficients.json")
    done = dnip("report", "test.csv", *given, "--json")
    assert done.json["verdict"].startswith("Apply the coefficients: in the weakest class, ")
    assert done.json["written"] == ["report.html"]
    assert (examples / "report.html").stat().st_size > 10_000


# --- the line to type next reads the table as the command did ---
@cases(
    "evaluate opt.csv --group user",
    "evaluate opt.csv --by user",
    "report opt.csv --group user --out page.html",
    "report opt.csv --by user --out page.html",
    "evaluate ./-opt.csv --group user",
    "compare opt.csv --test test.csv --group user --methods dnip --seeds 1 --out compared",
)
def test_the_line_can_be_typed(folder, dnip, command):
    rng = np.random.default_rng(0)
    for name in ("opt", "test"):
        labels = rng.integers(0, 3, 150)
        p = random_probabilities(rng, 150, 3) + np.eye(3)[labels] + [1.5, 0, 0]
        frame = pd.DataFrame(p / p.sum(axis=1, keepdims=True), columns=["a", "b", "c"])
        frame["label"] = frame.columns[labels]
        frame.assign(user=[f"u{n // 2}" for n in range(150)]).to_csv(f"{name}.csv", index=False)
    (folder / "-opt.csv").write_bytes((folder / "opt.csv").read_bytes())
    run = dnip(*command.split())
    assert run.status == 0, run.err
    [line] = [line for line in run.out.splitlines() if line.startswith("Next")]
    typed = shlex.split(line.partition(": ")[2])
    assert typed[:3] == ["dnip", "fit", command.split()[1]]
    done = dnip(*typed[1:], "--no-evidence")
    assert done.status == 0, done.err
