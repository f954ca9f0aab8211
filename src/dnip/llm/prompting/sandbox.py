"""The environment of prompt templates and chat templates, which others may have written.

A template can read no file and run no code. It has some seconds, and a budget of characters for all
that it makes: texts joined by `~` and `+`, results of filters and calls, what is printed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache, wraps
from time import monotonic
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, nodes, pass_context
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.runtime import Context, str_join
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

# Characters and seconds of one rendering.
_MOST_CHARACTERS, _SECONDS = 10_000_000, 5.0
# Letters of a text, items of a list, bits of a number that one step makes of little.
_MOST = 1_000_000
# A width of a text to be filled that is given beside it.
_OPEN_WIDTH = re.compile(r"\{[^{}]*\{|%[^a-zA-Z%]*\*")
# A width within the form of a date.
_PADDED = re.compile(r"%[^a-zA-Z%]*[0-9]")
# They may write one of their arguments once for each character of another.
_GROWING = {"replace", "join", "expandtabs", "translate", "indent", "wordwrap", "urlize", "xmlattr"}


class _Budget:
    """What one rendering may still use."""

    def __init__(self) -> None:
        self.characters, self._end = _MOST_CHARACTERS, monotonic() + _SECONDS

    def use(self, characters: int) -> None:
        """Count characters, and look at the clock."""
        self.characters -= characters
        if self.characters < 0:
            raise ValueError(f"it makes more than {_MOST_CHARACTERS:,} characters")
        if monotonic() > self._end:
            raise ValueError(f"it takes more than {_SECONDS:g} s")

    def size(self, values: Iterable[Any]) -> int:
        """Return about how long values are as texts, or a number beyond what is left."""
        size, waiting = 0, list(values)
        while waiting and size <= self.characters:
            value = waiting.pop()
            size += len(value) if isinstance(value, str | bytes) else 1
            if isinstance(value, dict):
                waiting += value.keys()
                waiting += value.values()
            elif isinstance(value, list | tuple | set):
                waiting += value
        return size


class _Template(Template):
    """A template of which each rendering has a budget of its own."""

    def render(self, *values: Any, **named: Any) -> str:  # noqa: ANN401
        vars(self.environment)["budget"] = _Budget()
        return super().render(*values, **named)


class _Generator(CodeGenerator):
    """Code that counts what `~` and lists make, and the rounds of loops."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.joined(")
        self.visit(nodes.Tuple(node.nodes, "load"), frame)
        self.write(")")

    def visit_List(self, node: nodes.List, frame: Frame) -> None:  # noqa: N802
        self.write("environment.counted(")
        super().visit_List(node, frame)
        self.write(")")

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802
        written = sum(len(text.data) for text in node.find_all(nodes.TemplateData))
        turn = nodes.EnvironmentAttribute("turn")
        count = nodes.Call(turn, [nodes.Const(1 + written)], [], None, None)
        node.body.insert(0, nodes.ExprStmt(count))
        super().visit_For(node, frame)


class _Namespace(Namespace):
    """A namespace in which no name begins with _, as in that of transformers."""

    def __init__(*values: Any, **named: Any) -> None:  # noqa: ANN401 - "self" may be a name
        self, *mapping = values
        Namespace.__init__(self)
        for name, value in dict(*mapping, **named).items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:  # noqa: ANN401
        if name.startswith("_"):
            raise SecurityError(f"{name!r} cannot be a name here")
        super().__setitem__(name, value)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja2's sandbox without loader, whose templates end soon and make nothing huge."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})
    code_generator_class = _Generator
    template_class = _Template

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401
        # Nothing is computed as a template is compiled: it would be before any of these checks.
        super().__init__(
            optimized=False,
            finalize=pass_context(lambda _, value: self.counted(value)),
            **(settings or {"undefined": StrictUndefined, "keep_trailing_newline": True}),
        )
        self.budget = _Budget()
        self.globals["namespace"] = _Namespace
        self.globals.pop("lipsum")
        self.filters = {
            name: self._bounded(name, function) for name, function in self.filters.items()
        }

    def counted(self, value: Any) -> Any:  # noqa: ANN401
        """Return a value whose characters are counted."""
        self.budget.use(self.budget.size([value]))
        return value

    def joined(self, parts: tuple[Any, ...]) -> str:
        """Join what stands beside `~`."""
        self.budget.use(self.budget.size(parts))
        return str_join(parts)

    def turn(self, characters: int) -> None:
        """Count a round of a loop, and the text that stands in it."""
        self.budget.use(characters)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401
        """Compute one of the operators that can make much of little."""
        if operator == "%" and isinstance(left, str):
            self._check_form(left, (right,))
        if operator == "**" and isinstance(left, int) and left.bit_length() * abs(right) > _MOST:
            raise ValueError("a power is too large")
        for times, many in ((left, right), (right, left)):
            repeats = isinstance(times, int) and isinstance(many, str | bytes | list | tuple)
            if operator == "*" and repeats and len(many) * times > _MOST:
                raise ValueError("a text or list is repeated too often")
        return self.counted(super().call_binop(context, operator, left, right))

    def call(self, context: Context, function: Any, *values: Any, **named: Any) -> Any:  # noqa: ANN401
        """Call a function or method of a template."""
        name, subject = getattr(function, "__name__", ""), getattr(function, "__self__", None)
        self._check(name, (subject, *values, *named.values()))
        return self.counted(super().call(context, function, *values, **named))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:  # noqa: ANN401
        """Return what stands for the method `format` of a text, within bounds."""
        fill = super().wrap_str_format(value)
        if fill is None:
            return None

        @wraps(fill)
        def run(*values: Any, **named: Any) -> str:  # noqa: ANN401
            self._check_form(value.__self__, (*values, *named.values()))
            return fill(*values, **named)

        return run

    def _bounded(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a filter that makes nothing huge."""

        @wraps(function)
        def run(*values: Any, **named: Any) -> Any:  # noqa: ANN401
            self._check(name, (*values, *named.values()))
            if name == "format":
                self._check_form(str(values[0]), (*values[1:], *named.values()))
            return self.counted(function(*values, **named))

        return run

    def _check_form(self, form: str, values: tuple[Any, ...]) -> None:
        """Refuse a text to be filled whose widths, or these values in its fields, make too much."""
        if _OPEN_WIDTH.search(form.replace("{{", "").replace("}}", "")):
            raise ValueError("a width must stand in the text that is filled")
        widths = sum(int(number[:9]) for number in re.findall("[0-9]+", form))
        n_fields = form.count("{") + form.count("%")
        if widths + n_fields * self.budget.size(values) > self.budget.characters:
            raise ValueError(f"it makes more than {_MOST_CHARACTERS:,} characters")

    def _check(self, name: str, values: tuple[Any, ...]) -> None:
        """Refuse huge numbers, such as widths, and arguments that a function would multiply."""
        numbers = [abs(value) for value in values if isinstance(value, int)]
        if any(number > _MOST for number in numbers):
            raise ValueError("a number is too large")
        sizes = [self.budget.size([value]) for value in values]
        *_, second, first = sorted([1, 1, *numbers, *sizes])
        if max(first, first * second * (name in _GROWING)) > self.budget.characters:
            raise ValueError(f"it makes more than {_MOST_CHARACTERS:,} characters")


def render_chat(template: str, **names: Any) -> str:  # noqa: ANN401
    """Render the chat template of a model, with what transformers gives to it.

    Examples
    --------
    >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    >>> render_chat(template, messages=[{"role": "user", "content": "Hi"}])
    '<user>Hi'
    """
    return _chat_template(template).render(tools=None, documents=None, **names)


@lru_cache(maxsize=8)
def _chat_template(template: str) -> Template:
    extensions = [loopcontrols, _Generation]
    environment = Sandbox(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    environment.filters["tojson"] = environment._bounded("tojson", _to_json)
    environment.globals |= {"raise_exception": _fail, "strftime_now": _now}
    return environment.from_string(template)


class _Generation(Extension):
    """The statement around what an assistant writes; here it changes nothing."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _to_json(value: Any, *, ensure_ascii: bool = False, **settings: Any) -> str:  # noqa: ANN401
    return json.dumps(value, ensure_ascii=ensure_ascii, **settings)


def _fail(message: str) -> None:
    raise TemplateError(message)


def _now(form: str) -> str:
    if _PADDED.search(form):
        raise ValueError("a date has no widths here")
    return datetime.now().strftime(form)
