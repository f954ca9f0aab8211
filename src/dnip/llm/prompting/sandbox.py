"""The environment of prompt templates, which others may have written.

A template can read no file and run no code. What would make a huge number or text at one stroke is
refused: `'x' * 10**9`, `10**10**7`, `text.center(10**9)`, `'%999999999d' % 1`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from jinja2 import StrictUndefined, pass_context
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

# Letters of a text, items of a list, bits of a number.
_MOST = 1_000_000
# They take widths within texts.
_WIDE = {"format", "format_map"}


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja2's sandbox without loader, whose operators and functions make nothing huge."""

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self) -> None:
        # Nothing is computed as a template is compiled: it would be before any of these checks.
        super().__init__(
            undefined=StrictUndefined,
            keep_trailing_newline=True,
            optimized=False,
            finalize=pass_context(lambda _, value: value),
        )
        self.filters = {
            name: _bounded(function) for name, function in self.filters.items() if name not in _WIDE
        }

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401
        """Compute one of the operators that can make much of little."""
        if operator == "%" and isinstance(left, str):
            raise ValueError("% is no operator of texts here")
        if operator == "**" and isinstance(left, int) and left.bit_length() * abs(right) > _MOST:
            raise ValueError("a power is too large")
        for times, many in ((left, right), (right, left)):
            repeats = isinstance(times, int) and isinstance(many, str | bytes | list | tuple)
            if operator == "*" and repeats and len(many) * times > _MOST:
                raise ValueError("a text or list is repeated too often")
        return super().call_binop(context, operator, left, right)

    def call(self, context: Context, function: Any, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        """Call a function or method of a template."""
        return _bounded(super().call)(context, function, *given, **named)

    def wrap_str_format(self, value: Any) -> None:  # noqa: ANN401
        """Leave `format` to what follows, which refuses it."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:  # noqa: ANN401
        """Say whether a template may use an attribute."""
        return attr not in _WIDE and super().is_safe_attribute(obj, attr, value)


def _bounded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that refuses huge numbers, such as widths."""

    @wraps(function)
    def run(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        for value in (*given, *named.values()):
            if isinstance(value, int) and abs(value) > _MOST:
                raise ValueError("a number is too large")
        return function(*given, **named)

    return run
