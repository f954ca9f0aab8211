"""Figures: their colours, the way to a file, and the bars of class accuracies."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError, load_optional
from dnip.base.escaping import literal
from dnip.base.files import atomic_path, check_writable
from dnip.base.typing import Confusion
from dnip.metrics import accuracy, class_accuracies, cobias
from dnip.presenting.formats import shorten
from dnip.using.evaluation import Evaluation

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

# Room around the points of a front, as a part of their span; and the least span.
_MARGIN, _LEAST_SPAN = 0.15, 0.02
# Letters of a class name in a picture.
_LONGEST_NAME = 22
# Bars above which their values are not written.
_MOST_LABELLED = 24


class Figure(NamedTuple):
    """A figure, drawn when it is saved.

    Attributes
    ----------
    draw : callable
        Receives an empty ``matplotlib.figure.Figure`` and draws into it.
    size : tuple of float
        Width and height in inches.
    title : str
        Stands above all panels; empty for none.
    """

    draw: Callable[[Any], object]
    size: tuple[float, float]
    title: str = ""


def tidy(axes: Any, *, grid: str = "y") -> None:  # noqa: ANN401 - the library's own type
    """Take away what carries no information, and draw a faint grid."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, alpha=0.25)
    axes.set_axisbelow(True)


def frame_front(axes: Any, points: ArrayLike, raw: Sequence[float]) -> None:  # noqa: ANN401
    """End axes of COBias and accuracy where points end; an arrow leads to what lies beyond.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    points : array-like of shape (M, 2)
        COBias and accuracy of what is drawn.
    raw : sequence of two floats
        Those of the raw argmax, which may be far off.
    """
    every = np.asarray(points, np.float64)
    room = _MARGIN * np.maximum(np.ptp(every, axis=0), _LEAST_SPAN)
    low, high = every.min(axis=0) - room, every.max(axis=0) + room
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    axes.set(xlabel="COBias, the mean gap between class accuracies", ylabel="accuracy")
    tidy(axes, grid="both")
    at = (np.asarray(raw) - low) / (high - low)
    side = (at > 1).astype(int) - (at < 0)
    if not side.any():
        axes.plot(*raw, "s", color=GREY, ms=7, mec="white", ls="", label="raw argmax")
        return
    across, up = side.tolist()
    axes.annotate(
        f"raw argmax: accuracy {raw[1]:.3f}, COBias {raw[0]:.3f}",
        np.clip(at, 0.01, 0.99),
        (-24 * across, -8 * up if across else -24 * up),
        "axes fraction",
        "offset points",
        {"arrowstyle": "-|>", "color": GREY, "relpos": ((across + 1) / 2, 0.5)},
        color=FAINT,
        fontsize=8,
        ha=("center", "right", "left")[across],
        va=("center", "top", "bottom")[up],
    )


def legend_beside(axes: Any) -> None:  # noqa: ANN401 - the library's own type
    """Name what is drawn on the right of it, where nothing is hidden."""
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.02))


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
            f"{path} is not the name of a picture: its suffix must be one of {', '.join(SUFFIXES)}",
            hint="Name it classes.png, say",
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


def short_name(name: str) -> str:
    """Return the name of a class for a picture."""
    return literal(shorten(name, _LONGEST_NAME))


def class_accuracy_figure(evaluation: Evaluation) -> Figure:
    """Return the accuracy of every class before and after, with accuracy and COBias above."""
    width = min(15.0, max(7.0, 2.0 + 0.6 * len(evaluation.classes)))
    return Figure(lambda drawn: draw_class_accuracies(drawn.subplots(), evaluation), (width, 3.6))


def draw_class_accuracies(axes: Any, evaluation: Evaluation) -> None:  # noqa: ANN401
    """Draw a bar for each class and side into one set of axes."""
    sides, names = evaluation.sides, [short_name(name) for name in evaluation.classes]
    at, share = np.arange(len(names), dtype=float), 0.84 / len(sides)
    for number, (side, counts) in enumerate(sides.items()):
        shift = (number - (len(sides) - 1) / 2) * share
        rates = 100 * class_accuracies(counts)
        bars = axes.bar(at + shift, rates, share * 0.92, color=FIXED[side], label=side)
        if len(sides) * len(names) <= _MOST_LABELLED:
            shown = ["" if np.isnan(rate) else f"{rate:.1f}" for rate in rates]
            axes.bar_label(bars, shown, fontsize=7, padding=2, color=INK)
            axes.margins(y=0.12)
    axes.set_ylabel("class accuracy, %")
    is_crowded = 0.06 * max(map(len, names)) * len(names) > axes.figure.get_figwidth()
    axes.set_xticks(at, names, fontsize=7.5, rotation=90 if is_crowded else 0)
    axes.set_xlim(-0.6, len(names) - 0.4)
    lines = [_score_line(evaluation, side, counts) for side, counts in sides.items()]
    axes.set_title("\n".join(lines), fontsize=10, loc="left")
    if len(sides) > 1:
        legend_beside(axes)
    tidy(axes)


def _score_line(evaluation: Evaluation, side: str, counts: Confusion) -> str:
    """Return accuracy and COBias of one side of an evaluation."""
    right = accuracy(evaluation.in_population(counts))
    name = f"{side}: " if len(evaluation.sides) > 1 else ""
    return f"{name}accuracy {right:.3f}, COBias {cobias(counts):.3f}"
