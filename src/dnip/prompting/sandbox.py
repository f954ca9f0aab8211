"""Templates of task files, which others may have written: no code, and no work without end.

A template is rendered in jinja2's sandbox, with few filters and methods, and on a budget: every
value that it names, every round of a loop and every character of output costs. All that is left in
the language takes time and memory in proportion to what it costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import StrictUndefined, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

#: What one rendering may cost: 1 for a character, more for an item or a round of a loop.
BUDGET = 10_000_000
_STEP = 10

_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "int", "items",
    "last", "length", "list", "lower", "map", "max", "min", "reverse", "sort", "string", "title",
    "trim", "truncate", "unique", "upper", "wordcount",
)  # fmt: skip
_CALLED = (
    "capitalize", "endswith", "get", "items", "keys", "lower", "lstrip", "range", "removeprefix",
    "removesuffix", "rstrip", "split", "splitlines", "startswith", "strip", "title", "upper",
    "values",
)  # fmt: skip
_STATEMENTS = {
    nodes.AssignBlock: "{% set %} with a block",
    nodes.Block: "{% block %}",
    nodes.CallBlock: "{% call %}",
    nodes.Extends: "{% extends %}",
    nodes.FilterBlock: "{% filter %}",
    nodes.FromImport: "{% from %}",
    nodes.Import: "{% import %}",
    nodes.Include: "{% include %}",
    nodes.Macro: "{% macro %}",
}
# Names that no template can write.
_SPENT, _NAMED, _ROUNDS = " spent", " named", " rounds"


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of task templates.

    Examples
    --------
    >>> Sandbox().fill(Sandbox().read("{{ text|trim }} {{ '-' * 3 }}"), {"text": " a joy . "})
    'a joy . ---'
    >>> Sandbox().fill(Sandbox().read("{{ 'x' * 10**9 }}"), {})
    Traceback (most recent call last):
    ...
    jinja2.exceptions.SecurityError: it takes more than 10,000,000 characters or 1,000,000 steps
    """

    intercepted_binops = frozenset({"*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
        self.globals = {"range": range}
        self.filters = {name: self.filters[name] for name in _FILTERS}
        self.filters |= {"join": _join, "replace": _replace, _NAMED: _named, _ROUNDS: _rounds}

    def read(self, source: str) -> Any:
        """Compile a template; SecurityError for a statement that no task may use."""
        return self.from_string(_Metered().visit(self.parse(source)))

    def fill(self, template: Any, values: Mapping[str, Any]) -> str:
        """Render a template; SecurityError for what no task may do."""
        spent = [0]
        parts = []
        for part in template.generate({**values, _SPENT: spent}):
            _spend(spent, len(part))
            parts.append(part)
        return "".join(parts)

    def call(self, context: Any, obj: Any, /, *args: Any, **options: Any) -> Any:
        """Call what a template calls, if it may."""
        name = getattr(obj, "__name__", "this")
        if not isinstance(obj, StrictUndefined) and name not in _CALLED:
            raise SecurityError(f"{name}() may not be called, only {', '.join(_CALLED)}")
        return _named(context, super().call(context, obj, *args, **options))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Compute *, ** or %, where the result may be far larger than what it is made of."""
        if operator == "%":
            if isinstance(left, str):
                raise SecurityError("a text may not be formatted with %; use ~")
        else:
            times = next((n for n in (right, left) if isinstance(n, int)), 1)
            other = left if times is right else right
            repeats = operator == "**" or not isinstance(other, int | float)
            _spend(context[_SPENT], _size(other) * (max(times, 0) if repeats else 1))
        return super().call_binop(context, operator, left, right)


class _Metered(NodeTransformer):
    """Put names and loops on the budget."""

    def visit(self, node: Any, *args: Any) -> Any:
        refused = _STATEMENTS.get(type(node))
        if refused:
            raise SecurityError(f"{refused} may not be used")
        return super().visit(node, *args)

    def visit_Name(self, node: Any) -> Any:  # noqa: N802
        return _filtered(node, _NAMED) if node.ctx == "load" else node

    def visit_For(self, node: Any) -> Any:  # noqa: N802
        if node.recursive:
            raise SecurityError("a loop may not be recursive")
        self.generic_visit(node)
        node.iter = _filtered(node.iter, _ROUNDS)
        return node


def _filtered(node: Any, name: str) -> Any:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


@pass_context
def _named(context: Any, value: Any) -> Any:
    _spend(context[_SPENT], _STEP + _size(value))
    return value


@pass_context
def _rounds(context: Any, values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        _spend(context[_SPENT], _STEP + _size(value))
        yield value


@pass_context
def _join(context: Any, values: Iterable[Any], d: str = "") -> str:
    texts = [str(value) for value in values]
    _spend(context[_SPENT], (_STEP + len(d)) * len(texts))
    return d.join(texts)


@pass_context
def _replace(context: Any, text: Any, old: str, new: str) -> str:
    whole = str(text)
    _spend(context[_SPENT], whole.count(old) * len(new))
    return whole.replace(old, new)


def _spend(spent: list[int], cost: int) -> None:
    spent[0] += cost
    if spent[0] > BUDGET:
        raise SecurityError(
            f"it takes more than {BUDGET:,} characters or {BUDGET // _STEP:,} steps"
        )


def _size(value: object) -> int:
    """Return the characters, digits and items of a value, items within items included."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, range):
        return _STEP * len(value)
    if isinstance(value, int):
        return value.bit_length()
    if isinstance(value, dict):
        return _size([*value.keys(), *value.values()])
    if isinstance(value, list | tuple | set):
        return _STEP * len(value) + sum(map(_size, value))
    return 0
