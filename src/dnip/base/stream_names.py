"""What users see of the temporary files that hold standard input and output."""

from __future__ import annotations

_names: dict[str, str] = {}


def name_path(path: str, name: str) -> None:
    """Let messages and records show `name` where `path` would stand."""
    _names[path] = name


def with_names(text: str) -> str:
    """Return a text with the paths that have names replaced by these.

    Examples
    --------
    >>> name_path("/tmp/a1/rows.csv", "standard input")
    >>> with_names("/tmp/a1/rows.csv: row 3")
    'standard input: row 3'
    """
    for path, name in _names.items():
        text = text.replace(path, name)
    return text
