"""Quiet runs, defaults of a project, files that are replaced, and the time that is left."""

import io
import sys
import time

import pytest

from dnip import Coefficients
from dnip.cli.console import TimeLeft, Verbosity, live_progress


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "opt.csv"
    path.write_text("label,p0,p1\n0,0.9,0.1\n0,0.8,0.2\n1,0.6,0.4\n1,0.55,0.45\n")
    yield path
    Verbosity.quiet = False


def test_quiet_keeps_the_result_and_drops_notes(dnip, table):
    dnip("fit", table, "--scale", "30")
    assert "note: " in dnip("fit", table).err
    quiet = dnip("--quiet", "fit", table, "--scale", "30")
    assert quiet.err == ""
    assert "accuracy" in quiet.out


def test_a_replaced_file_is_named_with_what_it_held(dnip, table):
    dnip("fit", table)
    assert "replaced" not in dnip("fit", table).err  # by the same
    other = dnip("fit", table, "--scale", "30")
    assert f"it held coefficients of 0, 1, fitted on {table}" in other.err
    table.with_name("coefficients.json").write_text("{}")
    assert "it held something else than coefficients" in dnip("fit", table).err


def test_a_project_has_defaults_which_options_override(dnip, table):
    table.with_name("pyproject.toml").write_text("[tool.dnip.fit]\nscale = '20'\ntime-limit = 60\n")
    dnip("fit", table)
    assert Coefficients.load("coefficients.json").scale == 20
    dnip("fit", table, "--scale", "30")
    assert Coefficients.load("coefficients.json").scale == 30


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tool.dnip.fit]\nbeto = 1\n", "no option beto"),
        ("[tool.dnip.fitt]\nbeta = 1\n", "[tool.dnip.fitt]"),
        ("[tool]\ndnip = 3\n", "tool.dnip is not a table"),
    ],
)
def test_bad_defaults_are_refused(dnip, table, text, told):
    table.with_name("pyproject.toml").write_text(text)
    dnip("fit", table).assert_refused("pyproject.toml", told)


def test_a_damaged_pyproject_is_left_to_other_tools(dnip, table):
    table.with_name("pyproject.toml").write_text("[[[")
    assert dnip("fit", table).status == 0


def test_time_left_is_in_proportion():
    clock = TimeLeft()
    assert clock.text(0, 3, now=5.0) == ""
    assert clock.text(1, 3, now=15.0) == ", about 20 s left"
    assert clock.text(3, 3, now=35.0) == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_log_has_a_line_now_and_then(monkeypatch, capsys):
    with live_progress("tuning") as show:
        show("1 of 9 fits", 1, 9)
        monkeypatch.setattr("dnip.cli.console._LOG_SECONDS", 0.0)
        show("2 of 9 fits", 2, 9)
    assert capsys.readouterr().err.startswith("progress: tuning 2 of 9 fits, about ")


def test_progress_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with live_progress("tuning") as show:
        show("[2] of 9 fits")
        time.sleep(0.3)  # a line is drawn a few times a second
        shown = sys.stderr.getvalue()
    assert "tuning [2] of 9 fits" in shown
    assert shown.isascii()
