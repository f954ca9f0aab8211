"""Help and wrong usage; quiet runs, replaced files, progress, low mass."""

import re
import sys
from shlex import split

import pytest

from cases import cases
from dnip import Coefficients
from dnip.cli.app import COMMANDS, GROUPS, commands
from dnip.cli.console import Verbosity, live_progress, search_progress
from dnip.cli.gone import GONE
from dnip.method.solution import TraceEntry
from processes import ran


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
def test_all_options_have_words_and_examples_can_be_typed(command):
    parsed = commands.get_command(None, command)
    assert all(parameter.help for parameter in parsed.params)
    assert 2 <= len(parsed.examples) <= 3
    for line in parsed.examples:
        assert len(line) <= 76
        program, name, *arguments = split(line)
        assert (program, name) == ("dnip", command)
        parsed.make_context(name, arguments)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_ten_options_at_most_and_names_the_way_to_the_rest(dnip, command):
    short, long = dnip(command, "--help").out, dnip(command, "--help-all").out
    shown, every = (re.findall(r"^  (--[\w-]+)", text, re.MULTILINE) for text in (short, long))
    assert len(shown) <= 10
    assert set(shown) <= set(every)
    options = [
        one for one in commands.get_command(None, command).params if one.param_type_name == "option"
    ]
    assert [one.opts[0] for one in options if one.opts[0] not in every] == ["--help-all"]
    more = len(every) - len(shown)
    last = f"`dnip {command} --help-all` shows {more} more option{'s' * (more > 1)}."
    assert (short.splitlines()[-1] == last) if more else (short == long)


def test_options_that_most_need_come_first_and_the_cluster_last(dnip):
    headings = re.findall(r"^(\w[\w ,]*):", dnip("prompt", "--help-all").out, re.MULTILINE)
    assert headings[3] == "Options"
    assert headings[-1] == "Cluster"


def test_an_option_has_the_same_default_in_every_command():
    defaults = {}
    for command in COMMANDS:
        for one in commands.get_command(None, command).params:
            words = re.search(r"\[default: (.*)\]", one.help or "")
            text = words[1] if words else one.default
            defaults.setdefault(one.name, set()).add("required" if one.required else str(text))
    different = {name for name, texts in defaults.items() if len(texts - {"required"}) > 1}
    # what is written; what is scored besides; and words that mean something else in a command
    assert different == {"out", "coefficients", "classes", "labels", "on", "timeout"}


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
    (["fti"], "Did you mean 'fit'?"),
    (["fit"], "Missing argument 'TABLE'"),
    (["apply", "t.csv"], "Missing option '--out'"),
    (["fit", "t.csv", "--nonsense"], "No such option"),
    (["fit", "t.csv", "--min-class-accuracy", "Tech"], "'Tech' is not CLASS=RATE"),
    (["fit", "t.csv", *("--min-class-accuracy", "1=0.5") * 2], "gives '1' twice"),
    (["fit", "t.csv", "--beta", "much"], "Invalid value for '--beta'"),
    (["fit", "t.csv", "--solver", "magic"], "'coordinate', 'exact', 'anneal'"),
    (["fit", "t.csv", "--preset", "mine"], "'paper'"),
    (["fit", "-"], "- is not a file"),
    (["fit", "t.csv", "--rows", "1e3"], "rows"),
    (["export", "c.json"], "--to"),
    (["export", "c.json", "--to", "csv"], "'csv' is not one of 'logit-bias', 'transformers'"),
    ([*SQL, "--chat"], "--chat is for logit-bias and transformers, not for sql"),
    (["export", "c.json", "--to", "onnx", *SQLITE], "--dialect is for sql, not for onnx"),
    (["export", "c.json", "--to", "spark", *SQLITE], "--dialect is for sql, not for spark"),
    ([*SERVE, "c.json"], "QUESTION=FILE"),
    ([*SERVE, "q=c.json", "--coefficients", "q=d.json"], "'q' twice"),
    ([*SERVE, "q=c.json", "--max-body", "much"], "'much' is not a size"),
    (["import", "a.csv", *CLASSES, "--map", "ham"], "'ham' is not CLASS=NAME"),
    (["check", "c.json", "--coefficients", "c.json", "a b"], "unexpected extra argument (a b)"),
    (["compare", "a.csv", "b.csv"], "A second file is given with --test or --unlabelled"),
)
def test_wrong_usage_is_status_2(dnip, files, unchanged, arguments, told):
    with unchanged():
        dnip(*arguments).assert_wrong_usage(told)


@cases(
    ("fit t.csv --out no/c.json", "no/c.json cannot be written: the folder no does not exist"),
    ("apply t.csv --coefficients c.json --out .", "it is a folder"),
    ("apply t.csv --coefficients c.json --out out.txt", "The known suffixes are .csv"),
    ("apply t.csv --coefficients c.json --out /dev/stdout", "is that of no known table format"),
    ("check t.csv --coefficients c.json --alpha 1e-308", "got 1e-308. Give a share, such as"),
    ("evaluate t.csv --picture p.bmp", "its name must end in .png or .svg or .pdf"),
    ("report t.csv --out r.pdf", "r.pdf cannot be written: its name must end in .html. Name it r"),
    ("fit t.csv --out model.csv", "its name must end in .json. Name it model.json"),
    ("export c.json --to javascript --out x.py", "must end in .js or .mjs. Name it x.js"),
    ("evaluate t.csv --picture no/p.png", "no/p.png cannot be written"),
    ("apply t.csv --coefficients c.json --out q.xls", "The known suffixes are .csv"),
)
def test_bad_input_is_status_1(dnip, files, unchanged, words, told):
    with unchanged():
        dnip(*words.split()).assert_refused(told)


@cases(
    "evaluate t.csv --coefficients bad.csv",
    "evaluate t.csv --target-prior bad.json",
    "fit t.csv --costs bad.csv",
    "import bad.json --classes 0,1 --out out.csv",
    "import bad-a.json --classes 0,1 --out out.csv --gold bad.csv",
)
def test_a_device_without_end_is_refused(dnip, files, words):
    (files / "bad-a.json").write_text('{"answers": {"q": {"type": "choice", "choice": "0"}}}')
    for name in ("bad.csv", "bad.json"):
        (files / name).symlink_to("/dev/zero")
    dnip(*words.split()).assert_refused("this is a device, not a file")


def test_help_is_shown_beside_a_stray_file(dnip):
    assert "Show which classes starve" in dnip("evaluate", "a.csv", "b.csv", "--help").out


# --- manners ---
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
    assert "replaced" in dnip("fit", table, "--scale", "30", "--defer", "0.3").err
    table.with_name("coefficients.json").write_text("{}")
    named = dnip("fit", table, "--out", "coefficients.json")
    assert "it held something else than coefficients" in named.err


@cases(("{}", "something else"), (Coefficients(["a", "b"], [1, 1], 1).to_json(), "of a, b"))
def test_what_would_be_lost_is_replaced_only_by_name(dnip, table, unchanged, held, told):
    table.with_name("coefficients.json").write_text(held)
    folder = table.with_name("parts")
    folder.mkdir()
    (folder / "one.jsonl").write_text('{"p_0": 0.9, "p_1": 0.1, "label": "0"}\n')
    with unchanged():
        for rows in (table, folder):
            dnip("fit", rows).assert_refused("coefficients.json holds", told, "--out")


def test_a_log_has_a_line_now_and_then(monkeypatch, capsys):
    with live_progress("tuning") as show:
        show("1 of 9 fits", 1, 9)
        monkeypatch.setattr("dnip.cli.console._LOG_SECONDS", 0.0)
        show("2 of 9 fits", 2, 9)
        with search_progress(None) as search:  # its objective may be of other rows
            search(TraceEntry(1.0, 10, 0.2, 0.1))
    err = capsys.readouterr().err.splitlines()
    assert err[0] == "progress: tuning 2 of 9 fits"
    assert err[1].startswith(
        "progress: searching for weights: 10 choices tried, the lowest objective is 0.1000"
    )


LOW = (
    "warning: low.csv: the labels capture less than 0.1 of the probability in 75% of the rows "
    "(3 of 4; median mass 0.02): the prompt or the label words are at fault, coefficients cannot "
    "mend that. Look at both with `dnip prompt --check`\n"
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


@pytest.mark.parametrize(("command", "typed"), GONE)
def test_what_is_gone_names_what_to_type_instead(dnip, command, typed):
    words = [command, *typed.split()] if "FILE" in typed else [command, "FILE", *typed.split()]
    run = dnip(*words)
    line = f"dnip {command} {typed}".rstrip()
    assert run.err == f"Error: `{line}` is gone. Instead: {GONE[command, typed]}\n"
    assert (run.status, run.out) == (2, "")
    parsed = commands.get_command(None, command)
    flags = {flag for one in parsed.params for flag in one.opts} if parsed else set()
    assert typed not in flags
    if typed.startswith("--"):
        equals = typed.replace(" ", "=") if " " in typed else f"{typed}=1"
        assert dnip(command, "FILE", equals).err == run.err


def test_help_is_whole_without_docstrings():
    printed = [
        ran(sys.executable, *flags, "-m", "dnip", "fit", "--help-all").stdout
        for flags in ([], ["-OO"])
    ]
    assert printed[0] == printed[1]
    assert "Learn coefficients" in printed[0]
