"""Checks of settings and JSON objects that users give; inside the package, they are trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from dnip.base.errors import InvalidInputError

# The largest number that a setting may be.
_LARGEST = 1e12

#: Far below the least weight of a scale: weights that are moved to another class mix may be farther
#: apart.
LEAST_WEIGHT = 1e-300


def check_number(
    name: str,
    value: float,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = _LARGEST,
    below: float = math.inf,
    hint: str | None = None,
) -> float:
    """Return a finite real setting within its range, or say what the range is.

    Without a bound of its own it is at most 10¹², beyond which sums and counts would overflow.

    Examples
    --------
    >>> check_number("beta", 2.7, at_least=0)
    2.7
    """
    number = _as_float(value)
    if math.isfinite(number) and at_least <= number <= at_most and above < number < below:
        return number
    bounds = [f"at least {at_least:g}"] if at_least > -math.inf else []
    bounds += [f"above {above:g}"] if above > -math.inf else []
    bounds += [f"below {below:g}"] if below < math.inf else []
    bounds += [f"at most {at_most:g}"] if at_most < _LARGEST or number > at_most else []
    raise InvalidInputError(
        f"{name} must be a finite number {' and '.join(bounds)}".rstrip() + f"; got {value!r}",
        hint=hint,
    )


def _as_float(value: object) -> float:
    """Return a real number as float, NaN for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def check_integer(name: str, value: int, *, at_least: int, at_most: int | None = None) -> int:
    """Return a whole-number setting within its range, or say what the range is.

    Examples
    --------
    >>> check_integer("scale", 30, at_least=2)
    30
    """
    if (
        isinstance(value, int | np.integer)
        and not isinstance(value, bool)
        and value >= at_least
        and (at_most is None or value <= at_most)
    ):
        return int(value)
    upper = "" if at_most is None else f" and at most {at_most}"
    raise InvalidInputError(
        f"{name} must be a whole number of at least {at_least}{upper}; got {value!r}"
    )


def check_level(name: str, value: float) -> float:
    """Return a level: between 0 and 1, by more than 1e-9.

    Examples
    --------
    >>> check_level("confidence", 0.9)
    0.9
    """
    hint = "Give a share, such as 0.05 for 5 %"
    return check_number(name, value, above=1e-9, below=1 - 1e-9, hint=hint)


def check_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return a setting that must be one of a few words.

    Examples
    --------
    >>> check_choice("solver", "anneal", ["anneal", "coordinate"])
    'anneal'
    """
    if value not in choices:
        known = f"one of {', '.join(choices)}" if len(choices) > 1 else f'"{choices[0]}"'
        raise InvalidInputError(f"{name} must be {known}; got {value!r}")
    return value


def check_url(name: str, url: str) -> str:
    """Return the address of a server, or refuse it without repeating what may be secret.

    Examples
    --------
    >>> check_url("base_url", "http://127.0.0.1:8000/v1")
    'http://127.0.0.1:8000/v1'
    """
    try:
        parts = urlsplit(url)
        plain = url.isprintable() and " " not in url
        known = plain and parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port, (parts.hostname or "").encode("idna")
    except ValueError:  # also for a host with a part that is empty or too long
        known = False
    if not known:
        shown = repr(url) if "@" not in url and "?" not in url else "another text"
        raise InvalidInputError(
            f"{name} must begin with http:// or https:// and name a host; got {shown}",
            hint="Give it with the version, such as http://127.0.0.1:8000/v1",
        )
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InvalidInputError(
            f"{name} must have no user name, password or query; that of {parts.hostname} has",
            hint="Give the address alone; a key has its own place",
        )
    return url


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
        raise TwiceError("a key is there twice")
    return cells


class TwiceError(ValueError):
    """A JSON object that has a key twice."""
