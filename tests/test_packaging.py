"""The package builds from its source archive; where it cannot, or is half-built, it says so."""

import os
import shutil
import sys
import tarfile
import tomllib
import zipfile
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from cases import cases
from processes import ran

PROJECT = Path(__file__).resolve().parents[1]
FIT = "import sys; sys.argv[1:] = ['fit', 'table.csv']; from dnip.cli import main; main()"
REQUIRED = "import setup; print(setup.get_requires_for_build_wheel())"
#: The oldest releases without a known advisory, of libraries that read what others send.
SAFE = {"jinja2": "3.1.6", "starlette": "1.3.1", "uvicorn": "0.34", "aiohttp": "3.14.3"}


def run(code, folder, *, without=(), **environment):
    """Run Python code in a folder, in an environment that lacks some variables."""
    kept = {name: value for name, value in os.environ.items() if name not in without}
    return ran(sys.executable, "-c", code, cwd=folder, env=kept | environment)


@cases(({}, []), ({"PATH": ""}, ["ziglang"]), ({"PATH": "", "CC": "my-compiler"}, []))
def test_a_compiler_is_required_where_there_is_none(environment, required):
    done = run(REQUIRED, PROJECT, without=["CC"], **environment)
    assert done.stdout.strip() == str(required)


def test_missing_headers_are_named():
    code = f"import sysconfig; sysconfig.get_path = lambda name: 'nowhere'; {REQUIRED}"
    done = run(code, PROJECT)
    assert done.returncode == 1
    assert done.stderr.startswith("Building dnip needs a C compiler and Python's headers")
    assert "nowhere" in done.stderr


def test_no_extra_admits_a_release_with_a_known_advisory():
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    wanted = map(Requirement, chain(*project["optional-dependencies"].values()))
    floors = [
        (one.name, min(part.version for part in one.specifier if part.operator == ">="))
        for one in wanted
        if one.name in SAFE
    ]
    assert {name for name, _ in floors} == set(SAFE)
    assert [one for one in floors if Version(one[1]) < Version(SAFE[one[0]])] == []


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """The source archive, unpacked."""
    folder = tmp_path_factory.mktemp("source")
    done = run(f"import setup; setup.build_sdist({str(folder)!r})", PROJECT)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    assert done.returncode == 0
    return folder / archive.name.removesuffix(".tar.gz")


def test_a_wheel_of_the_source_archive_has_kernels_without_source_and_templates(source, tmp_path):
    quick = {"CFLAGS": "-O0"}
    done = run(f"import setup; setup.build_wheel({str(tmp_path)!r})", source, **quick)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.iterdir()
    names = zipfile.ZipFile(wheel).namelist()
    compiled = [name for name in names if not name.endswith(".py") and "/kernels/" in name]
    assert all(name.endswith((".so", ".pyd")) for name in compiled)
    assert len(compiled) == len([*PROJECT.glob("src/dnip/solvers/kernels/*.pyx")]) + 1
    templates = {
        str(path.relative_to(PROJECT / "src")) for path in PROJECT.glob("src/**/templates/*")
    }
    assert len(templates) >= 7
    assert templates <= set(names)


def test_without_any_compiler_one_sentence_says_what_to_install(source, tmp_path):
    code = f"import setup; setup.build_wheel({str(tmp_path)!r})"
    done = run(code, source, without=["CC"], PATH="")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("Building dnip needs a C compiler")
    assert "Traceback" not in done.stderr


@cases(
    (Path.unlink, "error: the compiled kernels do not load"),
    (lambda unit: unit.write_bytes(b""), "error: the compiled kernels do not load"),
    (lambda unit: os.utime(unit, (0, 0)), "error: the kernels have changed"),
)
def test_damaged_kernels_are_told_in_one_line(tmp_path, damage, told):
    shutil.copytree(PROJECT / "src/dnip", tmp_path / "dnip")
    for kernel in tmp_path.glob("dnip/solvers/kernels/*.*[od]"):
        damage(kernel)
    (tmp_path / "table.csv").write_text("label,a,b\na,.9,.1\nb,.6,.4\n")
    done = run(FIT, tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(told)
    assert len(done.stderr.splitlines()) == 1
