"""The one door to compiled code: arrays become addresses, records become C structs of addresses.

Kernels see no Python objects and check nothing. Here every array is checked for its type and its
layout. A *record* is a named tuple of numbers, arrays and records. Its struct has the same fields
in the same order, eight bytes each: an array is its address, and its length if the annotation gives
that a name; a record is the address of its own struct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from ctypes import CFUNCTYPE, c_double, c_int64, c_void_p
from functools import cache
from types import NoneType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dnip.solvers.kernels.compiled import ADDRESSES

T = TypeVar("T")

_NUMBERS: dict[Any, Any] = {int: c_int64, bool: c_int64, float: c_double, NoneType: None}


class Struct:
    """The C struct of a record, which it keeps alive.

    Parameters
    ----------
    record : named tuple

    Raises
    ------
    TypeError
        For an array of another type than its annotation says, or that is not contiguous.
    """

    def __init__(self, record: Any) -> None:  # noqa: ANN401
        self.record = record
        self._within: list[Struct] = []
        self._slots = np.array([*self._fill()], np.int64)
        self._as_parameter_: int = self._slots.ctypes.data

    def _fill(self) -> Iterator[int]:
        fields = _fields(self.record.__class__)
        for value, (name, kind, has_length) in zip(self.record, fields, strict=True):
            if isinstance(kind, np.dtype):
                yield _address(value, kind, name)
            elif kind in _NUMBERS:
                yield int(np.float64(value).view(np.int64)) if kind is float else int(value)
            else:
                self._within.append(_struct(value, kind))
                yield self._within[-1]._as_parameter_
            if has_length:
                yield len(value)


def kernel(name: str, gives: type[T], *takes: Any) -> Callable[..., T]:  # noqa: ANN401
    """Return a kernel as a function of numbers, arrays, and records or their structs.

    Parameters
    ----------
    name : str
    gives : type
        What it returns: a number, or None.
    *takes : type
        What it takes: int, float, a type of arrays or of records.
    """
    kinds = [_kind(annotation) for annotation in takes]
    types: list[Any] = [_NUMBERS.get(kind, c_void_p) for kind in kinds]
    function = CFUNCTYPE(_NUMBERS[gives], *types)(ADDRESSES[name])

    def call(*given: Any) -> T:  # noqa: ANN401
        arguments = [_argument(value, kind) for value, kind in zip(given, kinds, strict=True)]
        result: T = function(*arguments)
        return result

    return call


def _argument(value: Any, kind: Any) -> Any:  # noqa: ANN401
    if isinstance(kind, np.dtype):
        return _address(value, kind, "an array")
    return value if kind in _NUMBERS else _struct(value, kind)


def _address(array: NDArray[Any], kind: np.dtype[Any], name: str) -> int:
    if array.dtype != kind or not array.flags.c_contiguous:
        raise TypeError(f"{name} must be contiguous and of {kind}; got {array.dtype}")
    return array.ctypes.data


def _struct(record: Any, kind: type) -> Struct:  # noqa: ANN401
    struct = record if isinstance(record, Struct) else Struct(record)
    if not isinstance(struct.record, kind):
        raise TypeError(f"a kernel takes {kind.__name__} here; got {type(struct.record).__name__}")
    return struct


@cache
def _fields(record: Any) -> list[tuple[str, Any, bool]]:  # noqa: ANN401
    """Return the name and kind of each field, and whether its length goes along."""
    return [
        (name, _kind(annotation), get_origin(annotation) is Annotated)
        for name, annotation in get_type_hints(record, include_extras=True).items()
    ]


def _kind(annotation: Any) -> Any:  # noqa: ANN401
    """Return a type of numbers or records as it is, and for one of arrays what these hold."""
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (np.ndarray, NDArray):
        held = get_args(annotation)[-1]  # np.float64, or np.dtype[np.float64] before numpy 2.5
        return np.dtype(get_args(held)[0] if get_args(held) else held)
    return annotation
