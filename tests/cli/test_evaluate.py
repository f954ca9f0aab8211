"""``dnip evaluate`` and ``dnip report``: keys, both sides, rows that do not count, and files."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dnip import Coefficients, ProbabilityTable
from dnip.fitting.fit import fit

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
    text = dnip("evaluate", "t.csv", "--coefficients", "c.json").out
    assert re.search(r"\naccuracy     0\.500 \[.*\] -> 1\.000 \[.*\]\n", text)
    assert re.search(r"\nCOBias       1\.000 \[.*\] -> 0\.000 \[.*\]\n", text)
    assert "\nchange       accuracy +0.500 [" in text
    # the worst class is 0.000, outside of its interval: one of few rows may be better
    assert "In brackets: 90 % intervals. A value may be outside of its own: with few\n" in text


def test_the_confusion_matrix_is_printed_where_it_is_asked_for(dnip, files, folder):
    Coefficients(["no", "yes"], [15, 30], 30).save("c.json")
    command = "evaluate", "t.csv", "--coefficients", "c.json"
    assert "rows of" not in dnip(*command).out
    told = dnip(*command, "--confusion").out
    before, after = told.split("\n\n")[-2:]
    assert before.splitlines()[1:] == ["no                2    0", "yes               2    0"]
    assert after.splitlines()[0] == "after, rows of  no  yes"
    long = [f"a rather long name {c}" for c in range(3)]
    ProbabilityTable(np.eye(3), np.arange(3), classes=long).write("long.csv")
    told = dnip("evaluate", "long.csv", "--confusion").out
    lines = ["rows of                 0  1  2", "0 a rather long name 0  1  0  0"]
    assert told.split("\n\n")[-2].splitlines()[:2] == lines


def test_what_looks_at_coefficients_tells_what_they_defer(dnip, folder):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    p = (rng.dirichlet([1, 1], 200) + np.eye(2)[y]) / 2
    ProbabilityTable(p, y, classes=["no", "yes"]).write("t.csv")
    found = fit(ProbabilityTable.read("t.csv"), evidence=True, defer=0.3)
    found.coefficients.save("h.json")
    fitted = Coefficients.load("h.json")
    replace(fitted, defer=None).save("c.json")
    share = fitted.deferred(p).mean()
    now = f"{100 * round(share, 3):.1f} %"
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
    ProbabilityTable(p, classes=["no", "yes"]).write("new.csv")
    assert dnip("report", "new.csv", "--coefficients", "h.json", "--out", "page.html").status == 0
    assert "deferred rows" in Path("page.html").read_text()
    for command, key in (("evaluate", "defer"), ("check", "deferred")):
        found = dnip(command, "t.csv", "--coefficients", "c.json", "--json").json
        assert found.get(key) is None
    apply = "apply t.csv --coefficients h.json --target-prior no=0.9,yes=0.1 --out o.csv"
    refused = dnip(*apply.split())
    refused.assert_refused("thresholds of deferring hold for the class mix of the fit")


def test_alone_it_names_what_starves_and_the_line_to_type(dnip, folder):
    rows = [f"{c},{p},{1 - p}" for c, p in [("cat", 0.9)] * 20 + [("dog", 0.6)] * 20]
    Path("my table.csv").write_text("\n".join(["label,cat,dog", *rows]))
    run = dnip("evaluate", "my table.csv")
    assert "\nStarving: dog. Below the average class, 0.500, by more than chance." in run.out
    assert run.out.endswith("Next, learn coefficients: dnip fit 'my table.csv'\n")
    assert dnip("evaluate", "my table.csv", "--json").json["starving"] == ["dog"]
    assert dnip("fit", "my table.csv").status == 0


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


def test_a_picture_of_the_classes(dnip, files):
    run = dnip("evaluate", "t.csv", "--coefficients", "c.json", "--picture", "p.png", "--json")
    assert run.json["picture"] == "p.png"
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    text = dnip("evaluate", "t.csv", "--picture", "p.svg").out
    assert text.endswith("\npicture written to p.svg\n")


@pytest.fixture
def examples(folder, request):
    """An empty folder with the two tables that ship as examples."""
    for name in ("opt.csv", "test.csv"):
        (folder / name).write_bytes((request.config.rootpath / "examples" / name).read_bytes())
    return folder


def test_a_page_of_coefficients_is_written(dnip, examples):
    dnip("fit", "opt.csv")
    given = ("--coefficients", "coefficients.json")
    done = dnip("report", "test.csv", *given, "--json")
    assert done.json["verdict"].startswith("Apply the coefficients: in the weakest class, ")
    assert " (World), and of all rows " in done.json["verdict"]
    assert done.json["written"] == ["report.html"]
    assert (examples / "report.html").stat().st_size > 10_000


def test_a_table_alone_is_fitted(dnip, examples):
    done = dnip("report", "opt.csv")
    assert done.out.startswith("Apply the coefficients: in the weakest class, ")
    assert done.out.endswith("\nNext, keep the coefficients: dnip fit opt.csv\n")
    dnip("fit", "opt.csv")
    assert dnip("report", "opt.csv").out.endswith("\nwritten: report.html\n")


def test_a_report_by_a_column_shows_its_slices(dnip, examples):
    lines = Path("opt.csv").read_text().splitlines()
    table = [f"{line},{('lang', 'en', 'de')[(n > 0) + (n > 250)]}" for n, line in enumerate(lines)]
    Path("by.csv").write_text("\n".join(table) + "\n")
    assert dnip("report", "by.csv", "--by", "lang").status == 0
    assert "<h2>By lang</h2>" in Path("report.html").read_text()
