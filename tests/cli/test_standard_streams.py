"""``-`` for standard input and output, in every command that reads or writes a file."""

import io
import json
import sys
import tempfile
from pathlib import Path

import pytest

from dnip import Coefficients, ProbabilityTable
from dnip.cli.standard_streams import OUTPUTS
from test_inputs_and_outputs import WRITES, reads_of
from test_process import shell


@pytest.fixture
def piped(dnip, files, monkeypatch):
    """Run ``dnip`` with a file as standard input; no temporary file may be left."""
    folder = files / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def run(path, *arguments):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(path).read_bytes())))
        outcome = dnip(*arguments)
        assert not list(folder.iterdir())
        return outcome

    return run


@pytest.mark.parametrize("command", WRITES)
def test_every_single_file_that_is_written_may_be_standard_output(command):
    files = {name for name, suffix in WRITES[command].items() if isinstance(suffix, str)}
    assert files <= OUTPUTS.keys()
    assert not OUTPUTS.keys() & reads_of(command).keys()


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".npz", ".parquet"])
def test_apply_reads_any_format_and_writes_csv(dnip, piped, suffix):
    ProbabilityTable.read("t.csv").write(f"in{suffix}")
    dnip("apply", "t.csv", "--coefficients", "c.json", "--out", "expected.csv")
    run = piped(f"in{suffix}", "apply", "-", "--coefficients", "c.json", "--out", "-")
    assert (run.status, run.out) == (0, Path("expected.csv").read_text())
    assert run.err == "4 rows, 2 decisions changed, written to standard output\n"


def test_fit_reads_twice_and_writes_what_it_writes_to_a_file(dnip, piped):
    options = ("--scale", "30", "--robust", "off", "--no-evidence")
    dnip("fit", "t.csv", *options, "--out", "expected.json")
    run = piped("t.csv", "fit", "-", *options, "--out", "-")
    found, expected = json.loads(run.out), json.loads(Path("expected.json").read_text())
    assert found["fit"]["data"].pop("source") == "standard input"
    assert found["weight_indices"] == expected["weight_indices"]
    assert "coefficients written to standard output" in run.err


def test_a_mix_is_estimated_in_a_pass_of_its_own(dnip, piped):
    dnip("fit", "t.csv", "--out", "c.json")
    line = ("evaluate", "--coefficients", "c.json", "--target-prior", "estimate", "--json")
    assert piped("t.csv", *line, "-").json == dnip(*line, "t.csv").json


def test_coefficients_come_from_standard_input(dnip, piped):
    assert piped("c.json", "show", "-", "--json").json == dnip("show", "c.json", "--json").json
    run = piped("c.json", "export", "-", "--to", "sql", "--out", "-")
    assert run.out.rstrip() == dnip("export", "c.json", "--to", "sql").out.rstrip()


def test_imported_answers_go_on_to_the_next_command(piped):
    Path("answers.csv").write_text("label,ham,spam\nham,0.9,0.1\nspam,0.4,0.6\n")
    run = piped("answers.csv", "import", "-", "--classes", "ham,spam", "--out", "-")
    Path("table.csv").write_text(run.out)
    assert "1.000" in piped("table.csv", "evaluate", "-", "--classes", "ham,spam").out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["compare", "-", "-"], "OPT and TEST cannot both be standard input"),
        (["fit", "t.csv", "--out", "-", "--trace", "-"], "cannot both be standard output"),
        (["fit", "t.csv", "--out", "-", "--json"], "--json and --out - would both write"),
        (["compare", "t.csv", "-", "--out", "-"], "--out: - is one file"),
        (["import", "-", "t.csv", "--classes", "a,b", "--out", "x.csv"], "FILE: - is one file"),
        (["evaluate", "-", "--classes", "a,b,c"], "standard input: there are 2 class columns"),
        (["evaluate", "-", "--coefficients", "-"], "TABLE and --coefficients cannot both be"),
    ],
)
def test_what_cannot_be_is_refused(piped, arguments, told):
    piped("t.csv", *arguments).assert_refused(told)


def test_a_refused_table_writes_nothing(piped):
    Path("bad.csv").write_text("p0,p1\n0.5,0.5\n0.5,-1\n")
    run = piped("bad.csv", "apply", "-", "--coefficients", "c.json", "--out", "-")
    run.assert_refused("standard input: row 2, column p1")


def test_in_a_pipe_of_processes(files):
    Coefficients(["0", "1"], [15, 30], 30).save("c.json")
    line = "dnip apply - --coefficients c.json --out -"
    run = shell(f"cat t.csv | {line} | dnip evaluate - --json")
    assert json.loads(run.stdout)["raw"]["accuracy"] == 1.0
    with Path("t.csv").open("a") as file:
        file.write("0,0.7,0.3\n" * 50_000)
    run = shell(f"cat t.csv | {line} | head -1")
    assert run.stdout == "label,prediction,p0,p1\n"
    assert run.stderr == "50,004 rows, 2 decisions changed, written to standard output\n"
    assert shell("dnip evaluate - <&-").stderr.startswith("error: standard input is closed")
