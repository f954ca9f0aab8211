"""Libraries that need not be there, and the errors that name them."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

from dnip.base.errors import MissingDependencyError, load_optional

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
#: What installs a module, where that is not a library of its name.
INSTALLERS = {
    "sklearn": {"scikit-learn"},
    "threadpoolctl": {"scikit-learn"},
    "scipy": {"scipy", "scikit-learn"},
    "huggingface_hub": {"transformers", "datasets"},
}


def installed_by(extra):
    """The libraries of an extra."""
    inner = [re.fullmatch(r"dnip\[(.*)\]", one) for one in EXTRAS[extra]]
    names = {re.match(r"[\w-]+", one)[0] for one in EXTRAS[extra]}
    return names.union(*(installed_by(name) for one in inner if one for name in one[1].split(",")))


def calls():
    """Every call that names an optional library and its extra, with constants filled in."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {"EXTRA": "transformers"}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
                constants |= {t.id: node.value.value for t in node.targets if hasattr(t, "id")}
        for node in ast.walk(tree):
            named = isinstance(node, ast.Call) and getattr(node.func, "id", None)
            if named != "load_optional":
                continue
            extra = next(one.value for one in node.keywords if one.arg == "extra")
            module = node.args[0]
            if isinstance(module, ast.JoinedStr):
                module = module.values[0]
            name = getattr(extra, "value", None)
            if not isinstance(name, str):
                name = constants.get(getattr(extra, "id", getattr(extra, "attr", None)))
            if isinstance(getattr(module, "value", None), str) and name is not None:
                yield pytest.param(module.value, name, id=f"{path.stem}-{module.value}-{name}")


@pytest.mark.parametrize(("module", "extra"), list(calls()))
def test_the_extra_that_a_message_names_installs_the_library(module, extra):
    library = module.partition(".")[0]
    assert INSTALLERS.get(library, {library}) & installed_by(extra)


def test_a_missing_submodule_names_its_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingDependencyError) as caught:
        load_optional("pyarrow.parquet", purpose="read Parquet", extra="parquet")
    assert str(caught.value) == (
        "pyarrow is needed to read Parquet and is not installed. "
        "Install it with: pip install '.[parquet]'"
    )


def test_a_package_that_was_installed_from_a_wheel_is_named(monkeypatch, tmp_path):
    installed = f"{tmp_path}/site-packages/dnip/base/errors.py"
    monkeypatch.setattr("dnip.base.errors.__file__", installed)
    assert str(MissingDependencyError("x", purpose="do y", extra="z")).endswith(
        "Install it with: pip install 'dnip[z]'"
    )
