"""A user who owns nothing: a home folder that is read-only, and inputs of someone else."""

import os
import pwd
import sys
from pathlib import Path

import numpy
import pytest

from dnip import __file__ as package
from fuzzing import BUDGET, workshop
from processes import ran
from test_extreme_options import FILES

SOURCES = os.pathsep.join(str(Path(file).parents[1]) for file in (package, numpy.__file__))
CASES = {
    "apply": (["t.csv", "--coefficients", "c.json", "--out", "mine/o.csv"], 0),
    "evaluate": (["t.csv", "--coefficients", "c.json"], 0),
    "evaluate --picture": (["t.csv", "--picture", "mine/p.png"], 0),
    "apply elsewhere": (["t.csv", "--coefficients", "c.json", "--out", "o.csv"], 1),
    "fit elsewhere": (["t.csv", "--out", "o.json"], 1),
    "fit secrets": (["secret.csv", "--out", "mine/o.json"], 1),
    "evaluate --coefficients": (["t.csv", "--coefficients", "secret.csv"], 1),
    "fit": (["t.csv", "--out", "mine/o.json"], 0),
    "fit --path": (["t.csv", "--path", "--picture", "mine/p.png"], 0),
    "demo": (["--out", "mine/demo"], 0),
}


def as_nobody(python, *arguments):
    nobody = pwd.getpwnam("nobody")
    home = {"PATH": os.environ["PATH"], "HOME": str(Path.cwd()), "PYTHONPATH": SOURCES}
    alone = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    return ran(python, *arguments, env=home, timeout=500, **alone)


@pytest.fixture(scope="module")
def python():
    """A Python that everyone may run, with this package."""
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    for one in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        try:
            if as_nobody(one, "-c", "import dnip.cli.app, numpy").returncode == 0:
                return one
        except OSError:  # it may not be run
            continue
    pytest.skip("the user nobody may not run this Python")


@pytest.mark.parametrize("name", CASES if BUDGET > 1 else ["apply"])
def test_a_user_who_owns_nothing(python, name):
    options, status = CASES[name]
    with workshop(FILES | {"secret.csv": FILES["t.csv"]}) as folder:
        folder.chmod(0o755)
        (folder / "secret.csv").chmod(0o600)
        (folder / "mine").mkdir()
        (folder / "mine").chmod(0o777)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        run = as_nobody(python, "-m", "dnip", name.split()[0], *options)
        assert run.returncode == status, run.stderr
        assert "Traceback" not in run.stderr
        assert "internal error" not in run.stderr
        assert before == {path: path.read_bytes() for path in before}
        if status:
            assert run.stderr.startswith("error: ")
            assert before.keys() == {path for path in folder.rglob("*") if path.is_file()}
