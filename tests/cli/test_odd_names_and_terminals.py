"""Names and terminals that are hard on a program: nothing breaks or runs out of bounds."""

import os
import pty
import subprocess

import numpy as np
import pytest
from rich.cells import cell_len

from cases import cases
from dnip import Coefficients, ProbabilityTable
from dnip.cli.app import COMMANDS
from strategies import random_probabilities
from test_process import DNIP, shell

NAMES = (
    '<b onclick="x">&amp;</b>',
    "O'Neil\"; DROP TABLE x; --",
    "🦊🏳️‍🌈",
    "עברית \u202etxt",
    "正" * 10_000,
    "Life",
    "Weather",
)
RUNS = {
    "fit": ("o.parquet", "--out", "d.json", "--evidence"),
    "evaluate": ("o.parquet", "--coefficients", "c.json"),
    "apply": ("o.parquet", "--coefficients", "c.json", "--out", "a.csv"),
    "compare": ("o.parquet", "--test", "t.parquet", "--methods", "raw,dnip-paper", "--seeds", "1"),
    "report": ("o.parquet",),
    "check": ("o.parquet", "--coefficients", "d.json"),
    "export": ("c.json", "--to", "json-bias"),
    "show": ("c.json",),
}
#: They need a model, a server or minutes, and are tried in files of their own.
ELSEWHERE = {"demo", "prompt", "import", "serve"}


@pytest.fixture
def tables(folder):
    rng = np.random.default_rng(0)
    for name in ("o.parquet", "t.parquet"):
        p = random_probabilities(rng, 70, 7, "mixed")
        ProbabilityTable(p, np.arange(70) % 7, classes=NAMES).write(name)
    Coefficients(NAMES, [30, 12, 7, 30, 30, 20, 30], 30).save("c.json")


def has_a_list_per_class(content):
    parts = content.values() if isinstance(content, dict) else content
    if isinstance(content, list) and len(content) == len(NAMES):
        return True
    nested = isinstance(content, dict | list)
    return nested and any(map(has_a_list_per_class, parts))


def test_every_command_is_tried():
    assert set(COMMANDS) == RUNS.keys() | ELSEWHERE


@pytest.mark.parametrize("command", RUNS)
def test_names_do_not_break_the_lines_and_stand_beside_lists_per_class(dnip, tables, command):
    if command == "check":
        dnip("fit", *RUNS["fit"])
    run = dnip(command, *RUNS[command])
    assert run.status == (3 if command == "check" else 0), run.err  # its labels are random
    assert "\u202e" not in run.out + run.err
    prose = [line for line in run.out.splitlines() if "正" not in line or "  " in line]
    long = [line for line in prose if cell_len(line) > 80]
    assert command == "export" or not long
    if command == "apply":
        assert ProbabilityTable.read("a.csv", NAMES).classes == NAMES
    told = dnip(command, *RUNS[command], "--json")
    assert told.status == run.status, told.err
    content = told.json
    named = content.pop("classes", None)
    if has_a_list_per_class(content):
        assert named == list(NAMES)


NOBODY = {"COLUMNS": "20", "NO_COLOR": "1", "PYTHONIOENCODING": "ascii", "LC_ALL": "C",
          "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}  # fmt: skip


def test_a_narrow_terminal_without_colour_and_utf8(files):
    master, slave = pty.openpty()
    line = [DNIP, "fit", "t.csv", "--path"]
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=slave, env=os.environ | {"TERM": "xterm"} | NOBODY
    )
    os.close(slave)
    out = process.stdout.read().decode()
    shown = os.read(master, 1 << 16).decode()
    os.close(master)
    assert process.wait() == 0, shown
    assert "COBias" in out
    assert "fitting" in shown
    assert shown.rstrip("\x1b[?25h").endswith("\x1b[2K")  # the line of progress vanishes
    assert "Traceback" not in shown
    assert "\x1b[3" not in shown  # no colour


@cases(("dnip fit t.csv", "ascii"), ("dnip evaluate t.csv", "cp1252"), ("dnip fit -h", "ascii"))
def test_any_encoding_will_do(files, command, encoding):
    run = shell(f"{command} 2>&1 | cat -v", **NOBODY | {"PYTHONIOENCODING": encoding})
    assert run.returncode == 0, run.stdout
    assert "Traceback" not in run.stdout
