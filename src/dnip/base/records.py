"""Frozen dataclasses as JSON, and back by the types of their fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from dnip.base.errors import CoefficientsFormatError

T = TypeVar("T")

#: What to do where something that only a fit leaves behind is missing or damaged.
REFIT = "Fit again with `dnip fit`"

_PLAIN = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def as_plain(record: Any) -> dict[str, Any]:  # noqa: ANN401 - any frozen dataclass
    """Return the fields of a dataclass that are there, and those within it, ready for JSON.

    What is None or empty is left out.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> as_plain(make_dataclass("Row", ["name", "weights", "note"])("a", np.ones(2), None))
    {'name': 'a', 'weights': [1.0, 1.0]}
    """
    plain = {each.name: _plain(getattr(record, each.name)) for each in fields(record)}
    return {name: value for name, value in plain.items() if value is not None and value != {}}


def _plain(value: Any) -> Any:  # noqa: ANN401 - any part of a dataclass
    if hasattr(value, "to_dict"):  # it has a form of its own
        return value.to_dict()
    if is_dataclass(value):
        return as_plain(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(each) for each in value] or None if isinstance(value, tuple) else value


def from_plain(kind: type[T], content: Any) -> T:  # noqa: ANN401 - any JSON value
    """Return the dataclass that `as_plain` wrote; what it has no field for is left out.

    Raises
    ------
    TypeError, ValueError
        For a value of another kind, a missing one, or one that the class itself refuses.

    Examples
    --------
    >>> from dataclasses import make_dataclass
    >>> Row = make_dataclass("Row", [("name", str), ("n", int | None, None)])
    >>> from_plain(Row, {"name": "a", "more": 1})
    Row(name='a', n=None)
    >>> from_plain(Row, {"name": 7})
    Traceback (most recent call last):
    TypeError: name is 7, not a text
    >>> from_plain(Row, {"n": 7})
    Traceback (most recent call last):
    TypeError: name missing
    """
    if not isinstance(content, Mapping):
        raise TypeError(f"{content!r} is not an object")
    hints, known, missing = get_type_hints(kind), {}, []
    for field in fields(kind):  # type: ignore[arg-type]
        if field.name in content:
            known[field.name] = _read(field.name, hints[field.name], content[field.name])
        elif field.default is MISSING and field.default_factory is MISSING:
            missing.append(field.name)
    if missing:
        raise TypeError(f"{', '.join(missing)} missing")
    return kind(**known)


def _read(name: str, kind: Any, value: Any) -> Any:  # noqa: ANN401 - any type, any JSON value
    """Return a value of this type."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kind = next(each for each in inner if each is not NoneType)
        return None if value is None else _read(name, kind, value)
    if is_dataclass(kind):
        own = getattr(kind, "from_dict", None)
        return own(value) if own else from_plain(kind, value)  # type: ignore[arg-type]
    if origin is np.ndarray:
        array = np.asarray(value)
        if array.ndim != 1 or array.dtype.kind not in "iuf" or not np.isfinite(array).all():
            raise ValueError(f"{name} is {value!r:.60}, not a list of numbers")
        return array.astype(np.float64)
    if origin is tuple:
        if not isinstance(value, list):
            raise TypeError(f"{name} is {value!r:.60}, not a list")
        return tuple(_read(name, inner[0], each) for each in value)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise TypeError(f"{name} is {value!r:.60}, not an object")
        if inner[1] is not Any:
            value = {key: _read(f"{name}.{key}", inner[1], each) for key, each in value.items()}
        return dict(value)
    numbers = (int, float) if kind is float else kind
    if not isinstance(value, numbers) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{name} is {value!r:.60}, not {_PLAIN[kind]}")
    return kind(value)


def complete(record: object, **values: Any) -> None:  # noqa: ANN401 - of any field
    """Set fields of a frozen dataclass while it is made: what was given, as it is to be read."""
    for name, value in values.items():
        object.__setattr__(record, name, value)


@contextmanager
def reading(part: str) -> Iterator[None]:
    """Say which part of the record of a fit is damaged, where it cannot be read."""
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise CoefficientsFormatError(
            f"coefficients: fit.{part} is damaged: {error}", hint=REFIT
        ) from error
