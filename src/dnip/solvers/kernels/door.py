"""The one door to compiled code: arrays become addresses, records become C structs of addresses.

Kernels see no Python objects and check nothing. Here every array is checked for its type and its
layout. A *record* is a named tuple of arrays, numbers and records. Its struct has the same fields
in the same order, eight bytes each: an array is its address and its length, a record its address.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dnip.solvers.kernels.compiled import unit as plain

try:
    from dnip.solvers.kernels.compiled.wide import unit as wide
except ImportError:  # not built for this kind of processor
    wide = plain

T = TypeVar("T")

#: The kernels, with the widest instructions that this processor has.
kernels: Any = wide if plain.has_wide_instructions() else plain

#: What arrays hold, by the annotation of their field in a record.
_TYPES = {
    "Floats": np.dtype(np.float64),
    "Integers": np.dtype(np.int64),
    "Confusion": np.dtype(np.int64),
    "SmallIntegers": np.dtype(np.uint32),
    "ShortIntegers": np.dtype(np.uint16),
    "Booleans": np.dtype(np.bool_),
    "Hashes": np.dtype(np.uint64),
}


class Struct:
    """The C struct of a record, which it keeps alive.

    Parameters
    ----------
    record : named tuple

    Attributes
    ----------
    address : int
        What kernels are given.

    Raises
    ------
    TypeError
        For an array of another type than its annotation says, or that is not contiguous.
    """

    def __init__(self, record: Any) -> None:  # noqa: ANN401
        self.record = record
        self._within: list[Struct] = []
        self._slots = np.array([*self._fill()], np.int64)
        self.address: int = self._slots.ctypes.data

    def _fill(self) -> Iterator[int]:
        for (name, kind), value in zip(_fields(type(self.record)), self.record, strict=True):
            if isinstance(value, np.ndarray):
                yield _address(value, _TYPES[kind], name)
                yield len(value)
            elif isinstance(value, tuple):
                self._within.append(Struct(value))
                yield self._within[-1].address
            elif kind == "float":
                yield int(np.float64(value).view(np.int64))
            else:
                yield int(value)


@cache
def _fields(record: Any) -> list[tuple[str, str]]:
    """Return the names of a record's fields, and what they are annotated with."""
    return [(name, kind.__forward_arg__) for name, kind in record.__annotations__.items()]


def call(kernel: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401
    """Call a kernel; arrays of float64 and int64 may be given as they are, and records, too."""
    kept = [Struct(given) if isinstance(given, tuple) else given for given in arguments]
    return kernel(
        *(
            given.address
            if isinstance(given, Struct)
            else _address(given, given.dtype, "an array")
            if isinstance(given, np.ndarray)
            else given
            for given in kept
        )
    )


def _address(array: NDArray[Any], kind: np.dtype[Any], name: str) -> int:
    if array.dtype != kind or not array.flags.c_contiguous:
        raise TypeError(f"{name} must be a contiguous array of {kind}; got {array.dtype}")
    return array.ctypes.data
