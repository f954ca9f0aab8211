"""Prompt templates and chat templates, rendered in Jinja2's sandbox as transformers renders them.

A template reads no file, runs no code of Python and changes nothing that it is given.
"""

from __future__ import annotations

import json
from datetime import datetime
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, meta, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment


def prompt_template(source: str) -> Template:
    """Return the template of a task; a field that is not there is an error.

    Examples
    --------
    >>> prompt_template("Message: {{ text|upper }}").render(text="hi")
    'Message: HI'
    """
    return _environment().from_string(source)


def names_in(source: str) -> list[str]:
    """Return the names that a template is to be given, sorted.

    Examples
    --------
    >>> names_in("{% for line in body.split() %}{{ line }}{% endfor %} {{ title }}")
    ['body', 'title']
    """
    environment = _environment()
    asked = meta.find_undeclared_variables(environment.parse(source))
    return sorted(asked - environment.globals.keys())


def render_chat(template: str, **names: Any) -> str:  # noqa: ANN401
    """Render the chat template of a model, with what transformers gives to it.

    Examples
    --------
    >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    >>> render_chat(template, messages=[{"role": "user", "content": "Hi"}])
    '<user>Hi'
    """
    return _chat_template(template).render(tools=None, documents=None, **names)


@lru_cache(maxsize=1)
def _environment() -> ImmutableSandboxedEnvironment:
    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)


@lru_cache(maxsize=8)
def _chat_template(template: str) -> Template:
    extensions = [loopcontrols, _Generation]
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=extensions
    )
    environment.filters["tojson"] = _to_json
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
    return datetime.now().strftime(form)
