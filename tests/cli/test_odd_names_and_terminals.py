"""Names and terminals that are hard on a program: nothing breaks or runs out of bounds."""

import os
import pty
import subprocess

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
