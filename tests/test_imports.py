"""What an import may load, and what a room may know."""

import re
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

import dnip
from cases import cases
from processes import ran

HEAVY = [
    *("torch", "ray", "matplotlib", "sklearn", "pandas", "polars", "pyarrow", "httpx2", "openai"),
    *("jinja2", "pydantic", "rich.console", "importlib.metadata", "email", "http", "asyncio"),
    "subprocess",
]
ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


def loaded_after(statement, names=HEAVY):
    """Name the modules that a fresh process holds when it ends after the statement."""
    held = f"print(*[m for m in {names} if m in sys.modules])"
    code = f"import atexit, sys; atexit.register(lambda: {held}); {statement}"
    run = ran(sys.executable, "-c", code)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()[-1].split()


GIVEN = "([[0.9, 0.1], [0.6, 0.4]] * 9, [*'ab'] * 9)"


@cases(
    "import dnip",
    "import dnip, dnip.fitting.fit, dnip.presenting.report; "
    f"dnip.evaluate{GIVEN}; dnip.fit{GIVEN}; dnip.report{GIVEN}",
    "from dnip.comparing import compare",  # what only some methods need
)
def test_imports_and_one_line_on_arrays_load_nothing_heavy(statement):
    assert loaded_after(statement) == []


def test_commands_on_a_small_table_load_nothing_heavy(tmp_path):
    coefficients = ["--coefficients", f"{tmp_path}/c.json"]
    for command in (
        ["fit", f"{EXAMPLES}/opt.csv", "--out", f"{tmp_path}/c.json"],
        ["evaluate", f"{EXAMPLES}/test.csv", *coefficients],
        ["apply", f"{EXAMPLES}/test.csv", *coefficients, "--out", f"{tmp_path}/p.csv"],
        ["check", f"{EXAMPLES}/test.csv", *coefficients],
        ["import", "--help"],
    ):
        assert loaded_after(f"import dnip.cli; sys.argv[1:] = {command}; dnip.cli.main()") == []


@cases(["--help"], ["--version"], ["fit", "--help"])
def test_help_loads_no_library_at_all(arguments):
    code = f"import dnip.cli; sys.argv[1:] = {arguments}; dnip.cli.main()"
    assert loaded_after(code, ["numpy", "pyarrow", "matplotlib"]) == []


def test_every_name_of_the_package_can_be_asked_for():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        dnip.nonsense  # noqa: B018
    assert {"Objective", "solve", "Solution"} <= set(dir(dnip))


DOCS = [*ROOT.glob("README.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.py")]


def test_every_name_that_the_docs_import_is_there():
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS)
    lines = re.findall(r"from (dnip[\w.]*) import \(?([^)\n]*|[^)]*\))", text)
    named = {(module, name) for module, names in lines for name in re.findall(r"\w+", names)}
    named |= {tuple(path.rsplit(".", 1)) for path in re.findall(r":: (dnip\.[\w.]+)", text)}
    assert len(named) > 40
    for module, name in sorted(named):
        with suppress(dnip.base.errors.MissingDependencyError):
            assert hasattr(import_module(module), name), f"from {module} import {name}"
