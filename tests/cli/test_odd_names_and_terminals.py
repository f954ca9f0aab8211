"""Names and terminals that are hard on a program: nothing breaks or runs out of bounds."""

import os
import pty
import subprocess
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from dnip import Coefficients, ProbabilityTable
from strategies import random_probabilities
from test_process import DNIP, shell

NAMES = (
    '<b onclick="x">&amp;</b>',
    "O'Neil\"; DROP TABLE x; --",
    "🦊🏳️‍🌈",
    "עברית \u202etxt",
    "正" * 10_000,
)
RUNS = {
    "fit": ("o.npz", "--out", "d.json"),
    "evaluate": ("o.npz", "--coefficients", "c.json"),
    "apply": ("o.npz", "--coefficients", "c.json", "--out", "a.csv"),
    "compare": ("o.npz", "--test", "t.npz", "--methods", "raw,dnip-plain", "--seeds", "1"),
    "pareto": ("o.npz", "--test", "t.npz", "--effort", "0.01", "--choose", "knee"),
    "tune": ("o.npz", "--betas", "1", "--taus", "0", "--folds", "2"),
    "report": ("o.npz", "--test", "t.npz"),
    "show": ("c.json",),
}


@pytest.fixture
def tables(folder):
    rng = np.random.default_rng(0)
    for name in ("o.npz", "t.npz"):
        p = random_probabilities(rng, 60, 5, "mixed")
        ProbabilityTable(p, np.arange(60) % 5, classes=NAMES).write(name)
    Coefficients(NAMES, [30, 12, 7, 30, 20], 30).save("c.json")


@pytest.mark.parametrize("command", RUNS)
def test_names_do_not_break_the_lines(dnip, tables, command):
    run = dnip(command, *RUNS[command])
    assert run.status == 0, run.err
    assert "\u202e" not in run.out + run.err
    prose = [line for line in run.out.splitlines() if "正" not in line or "  " in line]
    assert max(map(cell_len, prose)) <= 80
    if command == "apply":
        assert ProbabilityTable.read("a.csv", NAMES).classes == NAMES


def test_names_in_sql_stay_texts(dnip, tables, folder):
    sql = dnip("export", "c.json", "--to", "sql").out
    assert "'O''Neil\"; DROP TABLE x; --'" in sql
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    table = ProbabilityTable.read("o.npz")
    dnip("apply", "o.npz", "--coefficients", "c.json", "--out", "a.csv")
    table.write("o.csv")
    base = duckdb.connect()
    base.execute("CREATE TABLE probabilities AS SELECT * FROM 'o.csv'")
    found = [row[-1] for row in base.execute(sql).fetchall()]
    assert found == Coefficients.load("c.json").predict(table.probabilities, names=True).tolist()


NOBODY = {"COLUMNS": "20", "NO_COLOR": "1", "PYTHONIOENCODING": "ascii", "LC_ALL": "C",
          "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # fmt: skip


def test_a_narrow_terminal_without_colour_and_utf8(files):
    master, slave = pty.openpty()
    line = [DNIP, "tune", "t.csv", "--folds", "2", "--betas", "1,2,3"]
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=slave, env=os.environ | {"TERM": "xterm"} | NOBODY
    )
    os.close(slave)
    out = process.stdout.read().decode()
    shown = os.read(master, 1 << 16).decode()
    os.close(master)
    assert process.wait() == 0, shown
    assert "β" in out
    assert "tuning" in shown
    assert "Traceback" not in shown
    assert "\x1b[3" not in shown  # no colour


@pytest.mark.parametrize("command", ["dnip fit t.csv", "dnip evaluate t.csv", "dnip tune -h"])
def test_any_encoding_will_do(files, command):
    run = shell(f"{command} 2>&1 | cat", **NOBODY)
    assert run.returncode == 0, run.stdout
    assert "Traceback" not in run.stdout


ONE, SINGLE = "label,p0,p1\n0,0.9,0.1\n", "label,p0,p1\n" + "0,0.9,0.1\n" * 40


@pytest.mark.parametrize("table", [ONE, SINGLE])
@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "few.csv", "--out", "new.json"],
        ["evaluate", "few.csv", "--coefficients", "c.json"],
        ["compare", "t.csv", "--test", "few.csv", "--methods", "raw", "--seeds", "1"],
        ["compare", "few.csv", "--test", "t.csv", "--methods", "dnip-plain", "--seeds", "1"],
        ["pareto", "few.csv", "--choose", "knee", "--out", "new.json"],
        ["tune", "few.csv", "--out", "new.json"],
        ["tune", "t.csv", "--dev", "few.csv", "--out", "new.json"],
        ["report", "few.csv", "--out", "new.html"],
    ],
)
def test_one_row_or_one_class_is_refused_with_the_class(dnip, files, arguments, table):
    Path("few.csv").write_text(table)
    dnip(*arguments).assert_refused("class 0 ")
    assert not list(files.glob("new.*"))


def test_one_row_is_decided(dnip, files):
    Path("few.csv").write_text(ONE)
    run = dnip("apply", "few.csv", "--coefficients", "c.json", "--out", "a.csv")
    assert run.out == "1 row, 0 decisions changed, written to a.csv\n"


@pytest.mark.parametrize("command", ["evaluate", "apply", "report"])
def test_coefficients_of_other_classes_are_refused(dnip, files, command):
    Coefficients(["a", "b", "c"], [1, 2, 3], 3).save("other.json")
    out = [] if command == "evaluate" else ["--out", "new.csv"]
    run = dnip(command, "t.csv", "--coefficients", "other.json", *out)
    run.assert_refused("2 class columns, p0, p1, but 3 classes: a, b, c", "coefficients serve only")
    assert not Path("new.csv").exists()
