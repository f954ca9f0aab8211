"""What all figures share: colours, and the way to a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import cycle
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
BLUE, RED, GREEN, PINK, ORANGE, SKY = COLOURS
YELLOW, BLACK, GREY = "#F0E442", "#000000", "#9aa1ab"
#: Texts, and texts of less weight.
INK, FAINT = "#333333", "#6b7280"

#: Names that have the same colour in every figure.
FIXED = {
    "raw argmax": GREY,
    "before": GREY,
    "after": BLUE,
    "adjusted": GREEN,
    "opt": BLUE,
    "test": RED,
    "paper's annealing": ORANGE,
    "DNIP, ours": BLUE,
    "batch calibration": GREEN,
    "contextual calibration": SKY,
    "linear adapter": PINK,
}

#: Formats of pictures, by suffix.
SUFFIXES = (".png", ".svg", ".pdf")
_DPI = 150


def colours(names: Iterable[str]) -> dict[str, str]:
    """Return a colour for each name: its own where it has one, else the next that is free.

    Examples
    --------
    >>> colours(["raw argmax", "z1"])
    {'raw argmax': '#9aa1ab', 'z1': '#0072B2'}
    """
    listed = list(dict.fromkeys(names))
    taken = {FIXED[name] for name in listed if name in FIXED}
    free = cycle(c for c in (*COLOURS, YELLOW) if c not in taken)
    return {name: FIXED[name] if name in FIXED else next(free) for name in listed}


def tidy(axes: Any, *, grid: str = "y") -> None:  # noqa: ANN401 - the library's own type
    """Take away what carries no information, and draw a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, alpha=0.25)
    axes.set_axisbelow(True)


def legend_below(figure: Any, handles: dict[str, Any], width: float) -> None:  # noqa: ANN401
    """Put one legend below all axes, in as many columns as the figure is wide for.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    handles : dict
        Artists by their names.
    width : float
        Of the figure, in inches.
    """
    longest = max(map(len, handles), default=0)
    columns = max(1, min(len(handles), int(width / (0.6 + 0.08 * longest))))
    look = {"loc": "outside lower center", "frameon": False, "fontsize": 9}
    figure.legend(handles.values(), handles.keys(), ncols=columns, **look)


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
