"""Help, version and wrong usage: what the shell sees before any table is read."""

import re
import subprocess
import sys
from shlex import split

import pytest

from cases import cases
from dnip.cli.app import COMMANDS, GROUPS, command_named


def test_the_version_is_that_of_the_package(dnip):
    from dnip import __version__

    run = dnip("--version")
    assert (run.status, run.out, run.err) == (0, f"dnip {__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(dnip, command):
    run = dnip(command, "-h")
    assert run.status == 0
    assert run.out.startswith(f"Usage: dnip {command} ")
    [about] = [names[command] for names in GROUPS.values() if command in names]
    assert about in " ".join(run.out.split())
    assert command == "serve" or "--json" in run.out  # a server has no result
    assert dnip("help", command).out == run.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_two_examples_that_can_be_typed(command):
    parsed = command_named(command)
    assert len(parsed.examples) == 2
    for line in parsed.examples:
        assert len(line) <= 76
        program, name, *arguments = split(line)
        assert (program, name) == ("dnip", command)
        parsed.make_context(name, arguments)


def test_common_options_come_first_and_the_cluster_last(dnip):
    headings = re.findall(r"^(\w[\w ,]*):?", dnip("help", "fit").out, re.MULTILINE)
    assert headings[3:5] == ["Options", "Objective"]
    assert headings[-1] == "Cluster"


def test_no_summary_is_cut_or_broken_at_80_columns(dnip):
    lines = dnip("help").out.splitlines()
    for names in GROUPS.values():
        for name, about in names.items():
            assert any(line.split() == [name, *about.split()] for line in lines), name
    assert max(map(len, lines)) <= 80
    assert dnip("--help").out.splitlines() == lines


SQL, SQLITE = ("export", "c.json", "--to", "sql"), ("--dialect", "sqlite")
SERVE = ("serve", "--upstream", "http://127.0.0.1:9", "--coefficients")
CLASSES = ("--classes", "a,b", "--out", "x.csv")


@cases(
    ([], "Usage: dnip"),
    (["nonsense"], "No such command 'nonsense'"),
    (["fit"], "Missing argument 'TABLE'"),
    (["apply", "t.csv", "--out", "out.csv"], "Missing option '--coefficients'"),
    (["fit", "t.csv", "--nonsense"], "No such option"),
    (["fit", "t.csv", "--scale", "2.5"], "Invalid value for '--scale'"),
    (["fit", "t.csv", "--scale", "log:"], "'log:' is not K or log:K"),
    (["fit", "t.csv", "--beta", "much"], "Invalid value for '--beta'"),
    (["fit", "t.csv", "--solver", "magic"], "'coordinate', 'exact', 'anneal'"),
    (["fit", "t.csv", "--preset", "mine"], "'paper'"),
    (["fit", "-"], "- is no file"),
    (["fit", "t.csv", "--rows", "1e3"], "rows"),
    (["tune", "t.csv", "--taus", "much"], "'much' are not numbers"),
    (["tune", "t.csv", "--weights", "accuracy"], "write them like accuracy=1,cobias=2.7"),
    (["tune", "t.csv", "--weights", "accuracy=x"], "'accuracy=x' are not weights"),
    (["tune", "t.csv", "--criterion", "fair"], "'accuracy', 'cobias', 'weighted'"),
    (["export", "c.json"], "--to"),
    (["export", "c.json", "--to", "csv"], "'csv' is not one of logit-bias, transformers"),
    ([*SQL, "--dialect", "oracle"], "oracle"),
    ([*SQL, "--chat"], "--chat is for logit-bias and transformers, not for sql"),
    (["export", "c.json", "--to", "onnx", *SQLITE], "--dialect is for sql, not for onnx"),
    (["export", "c.json", "--to", "spark", *SQLITE], "--dialect is for sql, not for spark"),
    ([*SERVE, "c.json"], "QUESTION=FILE"),
    ([*SERVE, "q=c.json", "--coefficients", "q=d.json"], "'q' twice"),
    (["import", "a.csv", *CLASSES, "--map", "ham"], "'ham' is not CLASS=NAME"),
    (["import", "a.csv", "-", *CLASSES], "- is no file"),
    (["help", "nonsense"], "No such command 'nonsense'"),
    (["diff", "a.json", "b.json"], "diff is gone: `dnip show A B`"),
    (["reproduce", "all"], "reproduce is gone: it stands beside the package"),
    (["check", "c.json", "--alpha", "1", "a b"], "check 'a b' --coefficients c.json --alpha 1"),
    (["compare", "t.csv", "u.csv"], "options: dnip compare t.csv --test u.csv"),
    (["report", "t.csv", "u.csv", "v.csv"], "unexpected extra argument"),
)
def test_wrong_usage_is_status_2(dnip, files, unchanged, arguments, told):
    with unchanged():
        dnip(*arguments).assert_wrong_usage(told)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["fit", "--help"], ["fit"]])
def test_help_loads_nothing_heavy(arguments):
    code = (
        "import sys\n"
        "from dnip.cli import main\n"
        f"sys.argv = ['dnip', *{arguments}]\n"
        "try: main()\n"
        "finally: print(*{'numpy', 'pyarrow', 'matplotlib'} & set(sys.modules))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.splitlines()[-1] == ""
