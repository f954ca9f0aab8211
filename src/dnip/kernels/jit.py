"""One way to compile: cached on disk where a cache can be written, in memory where not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def jit(function: F) -> F:
    """Compile a function at its first call, and keep the machine code for the next process.

    Division follows IEEE (x / 0 is infinite), so that loops stay free of branches. numba refuses
    to build a cached function when no cache folder can be written (a read-only install without a
    home folder); such a process compiles for itself alone.
    """
    try:
        compiled: F = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:
        compiled = numba.njit(nogil=True, error_model="numpy")(function)
    return compiled
