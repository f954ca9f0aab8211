"""JSON objects: each key once, and nested ones as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flat(content: Mapping[str, Any], within: str = "") -> dict[str, Any]:
    """Return nested mappings as one, its keys joined by dots."""
    whole: dict[str, Any] = {}
    for key, value in content.items():
        inner = flat(value, f"{within}{key}.") if isinstance(value, dict) else None
        whole |= inner or {f"{within}{key}": value}
    return whole


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; one with a key twice, which readers take in two ways, is refused.

    Raises
    ------
    TwiceError
        If there is one.
    """
    cells = dict(pairs)
    if len(cells) < len(pairs):
        raise TwiceError("a key stands there twice")
    return cells


class TwiceError(ValueError):
    """A JSON object that has a key twice."""
