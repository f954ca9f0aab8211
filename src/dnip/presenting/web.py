"""HTML from the templates beside this file.

Every value is escaped by ``escaping.html``, but for what is HTML already: rendered tables, and
Markdown that markdown-it has rendered.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from dnip.base.escaping import html, printable
from dnip.base.optional import load_optional

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def render(template: str, **values: Any) -> str:  # noqa: ANN401 - whatever the template takes
    """Return a template, filled.

    Raises
    ------
    MissingDependencyError
        If jinja2 or markdown-it-py is not installed.
    """
    filled: str = _environment().get_template(template).render(values)
    return filled


@cache
def _environment() -> Any:  # noqa: ANN401 - jinja2's own type
    jinja2, markupsafe = _load("jinja2"), _load("markupsafe")
    parser = _load("markdown_it").MarkdownIt("commonmark", {"html": False})
    as_html: Callable[[str], Any] = markupsafe.Markup

    def escaped(value: Any) -> Any:  # noqa: ANN401
        return value if hasattr(value, "__html__") else as_html(html(str(value)))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dnip.presenting"),
        autoescape=True,
        finalize=escaped,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["markdown"] = lambda text: as_html(parser.renderInline(printable(text)))
    environment.filters["html"] = as_html
    return environment


def _load(module: str) -> ModuleType:
    return load_optional(module, purpose="write HTML", extra="report")
