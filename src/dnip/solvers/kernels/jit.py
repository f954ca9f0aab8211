"""One way to compile: cached on disk where a cache can be written, in memory where not."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def _load_without_scipy() -> None:
    """Load numba's array functions, but not scipy.linalg, which takes half as long as numba.

    They import it only to see whether it is there. A function that needs it imports it when it is
    compiled.
    """
    seen, module = "scipy.linalg.cython_blas", "numba.np.arraymath"
    if seen in sys.modules or module in sys.modules:
        return
    sys.modules[seen] = None  # type: ignore[assignment]  # an import of it fails at once
    try:
        functions: Any = import_module(module)
    finally:
        del sys.modules[seen]
    functions._HAVE_BLAS = find_spec("scipy") is not None


_load_without_scipy()


def jit(function: F) -> F:
    """Compile a function at its first call, and keep the machine code for the next process.

    Division follows IEEE (x / 0 is infinite), so that loops stay free of branches. Where no cache
    folder can be written (a read-only install without a home folder), each process compiles for
    itself.
    """
    return _compile(function)


def lean(function: F) -> F:
    """Compile a function that allocates nothing.

    It does not count references to the arrays it is given, which would take several times as long
    as a short loop over them does. An allocation in it is refused while it is compiled.
    """
    return _compile(function, _nrt=False)


def inner(function: F) -> F:
    """Compile a function that only compiled ones call.

    It has no way in from Python, which takes long to compile where many arrays are passed.
    """
    return _compile(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def _compile(function: F, **options: bool) -> F:
    folder = _cache_folder()
    provided = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = "" if folder is None else str(folder)
    try:
        compiled: F = numba.njit(
            cache=folder is not None, nogil=True, error_model="numpy", **options
        )(function)
    finally:
        numba.config.CACHE_DIR = provided
    return compiled


@cache
def _cache_folder() -> Path | None:
    """Return the folder for the machine code of exactly these sources, None if there is none.

    numba looks only at the file of a function to tell whether its cached code is current, but
    kernels are compiled into one another across files: the folder is named after all sources.
    Each version of numba has its own. In a shared one, a process could load what another version
    left there, while a second process replaces it.
    """
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(here.glob("*.py")):
        digest.update(source.read_bytes())
    prefix = f"machine-code-{numba.__version__}-"
    name = prefix + digest.hexdigest()[:16]
    for base in _bases(here):
        folder = base / name
        try:
            if not folder.is_dir():
                folder.mkdir(parents=True)
                for outdated in base.glob(f"{prefix}*"):
                    if outdated != folder:
                        shutil.rmtree(outdated, ignore_errors=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    return None


def _bases(here: Path) -> list[Path]:
    provided = numba.config.CACHE_DIR
    if provided:
        return [Path(provided) / "dnip"]
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")  # noqa: PTH111
    return [here / "__pycache__", Path(home) / "dnip"]
