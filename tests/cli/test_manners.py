"""Quiet runs, defaults of a project, files that are replaced, progress, and low mass."""

import pytest

from cases import cases
from dnip import Coefficients
from dnip.cli.console import Verbosity, live_progress, search_progress
from dnip.method.solution import TraceEntry


@pytest.fixture
def table(files):
    yield files / "t.csv"
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
    assert "replaced" in dnip("fit", table, "--scale", "30", "--hand-on", "0.3").err
    table.with_name("coefficients.json").write_text("{}")
    named = dnip("fit", table, "--out", "coefficients.json")
    assert "it held something else than coefficients" in named.err


@cases(("{}", "something else"), (Coefficients(["a", "b"], [1, 1], 1).to_json(), "of a, b"))
@pytest.mark.parametrize("command", [("fit",), ("tune",), ("pareto", "--choose", "knee")])
def test_what_would_be_lost_is_replaced_only_by_name(dnip, table, unchanged, command, held, told):
    table.with_name("coefficients.json").write_text(held)
    with unchanged():
        dnip(*command, table).assert_refused("coefficients.json holds", told, "--out")


def test_a_project_has_defaults_which_options_override(dnip, table):
    table.with_name("pyproject.toml").write_text("[tool.dnip.fit]\nscale = 20\ntime-limit = 60\n")
    dnip("fit", table)
    assert Coefficients.load("coefficients.json").scale == 20
    dnip("fit", table, "--scale", "30")
    assert Coefficients.load("coefficients.json").scale == 30


@cases(
    ("[tool.dnip.fit]\nbeto = 1\n", "no option beto"),
    ("[tool.dnip.fitt]\nbeta = 1\n", "[tool.dnip.fitt]"),
    ("[tool]\ndnip = 3\n", "tool.dnip is not a table"),
)
def test_bad_defaults_are_refused(dnip, table, text, told):
    table.with_name("pyproject.toml").write_text(text)
    dnip("fit", table).assert_refused("pyproject.toml", told)


def test_a_damaged_pyproject_is_left_to_other_tools(dnip, table):
    table.with_name("pyproject.toml").write_text("[[[")
    assert dnip("fit", table).status == 0


def test_a_log_has_a_line_now_and_then(monkeypatch, capsys):
    with live_progress("tuning") as show:
        show("1 of 9 fits", 1, 9)
        monkeypatch.setattr("dnip.cli.console._LOG_SECONDS", 0.0)
        show("2 of 9 fits", 2, 9)
        with search_progress(None) as search:  # its objective may be of other rows
            search(TraceEntry(1.0, 10, 0.2, 0.1))
    err = capsys.readouterr().err.splitlines()
    assert err[0].startswith("progress: tuning 2 of 9 fits, about ")
    assert err[1].startswith("progress: searching objective of the search 0.100000 after 10 eval")


LOW = (
    "warning: low.csv: the labels capture less than 0.1 of the probability in 75% of the rows "
    "(3 of 4; median mass 0.02): the prompt or the label words are at fault, coefficients cannot "
    "mend that. Look at both with `dnip audit`\n"
)


@cases(
    ("fit", ("--out", "fitted.json")),
    ("evaluate", ("--coefficients", "c.json")),
    ("apply", ("--coefficients", "c.json", "--out", "out.csv")),
)
def test_low_mass_is_told_and_changes_nothing_else(dnip, files, command, options):
    head, *rows = (files / "t.csv").read_text().splitlines()
    rows = [f"{row},{mass}" for row, mass in zip(rows, (0.02, 0.01, 0.03, 0.5), strict=True)]
    (files / "low.csv").write_text("\n".join([f"{head},mass", *rows, ""]))
    plain = dnip(command, "t.csv", *options, "--json")
    run = dnip(command, "low.csv", *options, "--json")
    assert (run.status, run.err.count(LOW), plain.err) == (0, 1, run.err.replace(LOW, ""))
    assert run.json["mass"] == {"rows": 4, "low": 3, "median": 0.02, "threshold": 0.1}
    assert plain.json["mass"] is None
    if command == "evaluate":
        assert {**run.json, "mass": None} == plain.json
