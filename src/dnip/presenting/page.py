"""A page about a table, ready to be drawn, shown in a notebook and saved."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, TypeAlias

from dnip.base.errors import MissingDependencyError
from dnip.base.escaping import html
from dnip.base.files import atomic_path
from dnip.base.optional import load_optional
from dnip.method.coefficients import Coefficients
from dnip.presenting.artefacts import Figure

#: Headings, and names and values below each.
Facts: TypeAlias = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What a page says and draws.

    Attributes
    ----------
    title : str
    verdict : str
        That of the fit, and what the rows show.
    coefficients : Coefficients
        Those given or fitted.
    data : dict
        What the page draws, ready for JSON. The choices of weights come with all their counts:
        first the plain argmax, then the coefficients, then the front.
    facts : tuple of tuple of str
        Names and values for the tables at the end: rows, fit, provenance.
    figures : tuple of Figure
        The same pictures, for files.
    """

    title: str
    verdict: str
    coefficients: Coefficients
    data: dict[str, Any]
    facts: Facts
    figures: tuple[Figure, ...] = ()

    def to_html(self) -> str:
        """Return one HTML file that loads nothing from elsewhere.

        Raises
        ------
        MissingDependencyError
            If jinja2 is not installed.
        """
        jinja2 = load_optional("jinja2", purpose="write HTML", extra="report")
        # "<" never appears in the text, so nothing in it can end the script element
        data = json.dumps(self.data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader("dnip.presenting"),
            finalize=lambda value: value if value is data else html(str(value)),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        return str(environment.get_template("report.html").render(report=self, data=data))

    def save(self, path: str | os.PathLike[str] = "report.html") -> None:
        """Write the page to a file, whole or not at all.

        Raises
        ------
        MissingDependencyError
            If jinja2 is not installed.
        OutputError
            If the file cannot be written.
        """
        page = self.to_html()
        with atomic_path(path) as temporary:
            temporary.write_text(page, encoding="utf-8")

    def __repr__(self) -> str:
        """Say what the page says first."""
        return f"Report({self.title}. {self.verdict})"

    def _repr_html_(self) -> str:
        """Return the page in a frame, for notebooks; without jinja2, its verdict."""
        try:
            page = html(self.to_html())
        except MissingDependencyError as error:
            return f"<p>{html(self.verdict)}</p><p>{html(str(error))}</p>"
        return f'<iframe srcdoc="{page}" width="100%" height="800" frameborder="0"></iframe>'
