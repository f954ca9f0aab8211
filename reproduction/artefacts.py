"""What an experiment presents, not yet rendered: tables, figures, texts and statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dnip.presenting.artefacts import Column, Estimate, Figure, Row, Spread, Table, Value

__all__ = [
    "Artefact",
    "Column",
    "Estimate",
    "Figure",
    "Row",
    "Section",
    "Spread",
    "Statement",
    "Table",
    "Text",
    "Value",
]


@dataclass(frozen=True)
class Text:
    """A paragraph of Markdown; text of others in it has gone through `escaping.markdown`."""

    markdown: str


@dataclass(frozen=True)
class Statement:
    """Something that the paper, or this project, says, and whether these runs bear it out.

    Attributes
    ----------
    claim : str
        What is said, in one sentence.
    paper : str
        The paper's figures.
    measured : str
        Ours.
    confirmed : bool or None
        None where these runs cannot tell.
    details : dict
        Further plain JSON values, for the machine-readable report.
    ours : bool
        Whether it is this project that says it.
    """

    claim: str
    paper: str
    measured: str
    confirmed: bool | None
    details: dict[str, Any] = field(default_factory=dict)
    ours: bool = False


Artefact: TypeAlias = Table | Figure | Text | Statement


@dataclass(frozen=True)
class Section:
    """What one experiment presents.

    Attributes
    ----------
    name, title, paper : str
        Those of the experiment.
    artefacts : tuple of Artefact
    failures : dict of str to str
        Cells of it that failed, and why.
    """

    name: str
    title: str
    paper: str
    artefacts: tuple[Artefact, ...]
    failures: dict[str, str] = field(default_factory=dict)
