"""What results depend on: hashes of values, of files and of our code; versions of libraries."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dnip

if TYPE_CHECKING:
    from collections.abc import Iterable

# Of a file above this size, only size, beginning and end are hashed.
_WHOLE = 64 * 2**20
_EDGE = 2**20


def hash_values(content: dict[str, Any]) -> str:
    """Return the SHA-256 of plain JSON values; the order of keys does not matter.

    Examples
    --------
    >>> hash_values({"a": 1, "b": 2}) == hash_values({"b": 2, "a": 1})
    True
    """
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_files(paths: Iterable[Path]) -> str:
    """Return a hash of the names and contents of files; of a large one, parts are enough."""
    return hash_values({path.name: _quick_hash(path) for path in paths})


def _quick_hash(path: Path) -> str:
    size = path.stat().st_size
    if size <= _WHOLE:
        return hash_file(path)
    with path.open("rb") as file:
        begin = file.read(_EDGE)
        file.seek(-_EDGE, 2)
        return hashlib.sha256(begin + file.read()).hexdigest() + f" {size}"


def hash_package() -> str:
    """Return the SHA-256 of all source files of the package, and of this one."""
    return " ".join(hash_sources(Path(one).parent) for one in (dnip.__file__, __file__))


@cache
def hash_sources(folder: Path) -> str:
    """Return the SHA-256 of the Python files in a folder and its subfolders."""
    sources = sorted(folder.rglob("*.py"))
    return hash_values({path.relative_to(folder).as_posix(): hash_file(path) for path in sources})


def installed_versions(*libraries: str) -> dict[str, str | None]:
    """Return the versions of libraries; None for one that is not installed.

    Examples
    --------
    >>> installed_versions("no-such-library")
    {'no-such-library': None}
    """
    found: dict[str, str | None] = {}
    for library in libraries:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = None
    return found
