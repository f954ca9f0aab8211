"""What all figures share: colours, and the way to a file."""

from __future__ import annotations

import os
from pathlib import Path
from types import ModuleType
from typing import Any

from dnip.base.errors import InvalidInputError
from dnip.base.escaping import literal
from dnip.base.files import atomic_path, check_writable
from dnip.base.optional import load_optional
from dnip.presenting.artefacts import Figure

#: Okabe and Ito's colours, which colour-blind readers can tell apart. Of their eight, yellow is
#: too faint for lines and black hides the whiskers of bars.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BLUE, RED, GREEN = COLOURS[:3]
BLACK, GREY = "#000000", "#9aa1ab"
#: Texts, and texts of less weight.
INK, FAINT = "#333333", "#6b7280"

#: Names that have the same colour in every figure.
FIXED = {"before": GREY, "after": BLUE, "adjusted": GREEN, "opt": BLUE, "test": RED}

#: Formats of pictures, by suffix.
SUFFIXES = (".png", ".svg", ".pdf")
_DPI = 150


def tidy(axes: Any, *, grid: str = "y") -> None:  # noqa: ANN401 - the library's own type
    """Take away what carries no information, and draw a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, alpha=0.25)
    axes.set_axisbelow(True)


def load_matplotlib(module: str) -> ModuleType:
    """Return a module of matplotlib.

    Raises
    ------
    MissingDependencyError
        If it is not installed.
    """
    return load_optional(f"matplotlib.{module}", purpose="draw pictures", extra="plot")


def check_picture(path: str | os.PathLike[str]) -> None:
    """Check that a picture can be drawn and written there, before long work.

    Raises
    ------
    InvalidInputError
        For another suffix than .png, .svg and .pdf.
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written.
    """
    if Path(path).suffix not in SUFFIXES:
        raise InvalidInputError(
            f"{path} is no name of a picture: its suffix must be one of {', '.join(SUFFIXES)}",
            hint="Name it flows.png, say",
        )
    load_matplotlib("figure")
    check_writable(path)


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Draw a figure into a .png, .svg or .pdf file, whole or not at all, and return the path.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written.
    """
    drawn = load_matplotlib("figure").Figure(figsize=figure.size, layout="constrained")
    figure.draw(drawn)
    if figure.title:
        drawn.suptitle(literal(figure.title), fontsize=11, x=0.01, ha="left")
    with atomic_path(path) as temporary:
        drawn.savefig(temporary, dpi=_DPI)
    return Path(path)
