"""Pictures: class accuracies and the path over β, in files and in notebooks.

A `Figure` is drawn when it is saved. Displays are in the manner of scikit-learn's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import load_optional
from dnip.base.escaping import literal
from dnip.base.files import atomic_path, check_suffix, check_writable
from dnip.base.typing import Counts
from dnip.method.coefficients import CoefficientsLike
from dnip.metrics import accuracy, class_accuracies, cobias
from dnip.presenting.formats import shorten
from dnip.using.evaluation import Evaluation, evaluate

if TYPE_CHECKING:
    from dnip.fitting.path import Path as FitPath

#: Okabe and Ito's colours, which colour-blind readers can distinguish. Of their eight, yellow is
#: too faint for lines and black hides the whiskers of bars.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BLUE, RED, GREEN = COLOURS[:3]
BLACK, GREY = "#000000", "#9aa1ab"
#: Texts, and texts of less weight.
INK, FAINT = "#333333", "#6b7280"

#: Names that have the same colour in every figure.
FIXED = {"before": GREY, "after": BLUE, "adjusted": GREEN}

#: Formats of pictures, by suffix.
SUFFIXES = (".png", ".svg", ".pdf")
_DPI = 150

# Room around the points of a front, as a part of their span; and the least span.
_MARGIN, _LEAST_SPAN = 0.15, 0.02
# Letters of a class name in a picture.
_LONGEST_NAME = 22
# Lines of more classes than these would hide one another.
_CLASS_COLOURS = (*COLOURS, GREY)
_MOST_NAMED = len(_CLASS_COLOURS)
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


def legend_right(axes: Any) -> None:  # noqa: ANN401 - the library's own type
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
    MissingDependencyError
        If matplotlib is not installed.
    OutputError
        If the file cannot be written, or has another suffix than .png, .svg and .pdf.
    """
    check_suffix(path, *SUFFIXES)
    load_matplotlib("figure")
    check_writable(path)


def save_figure(figure: Figure, *paths: str | os.PathLike[str]) -> list[Path]:
    """Draw a figure into .png, .svg and .pdf files, each whole or not at all; return the paths.

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
    for path in paths:
        with atomic_path(path) as temporary:
            drawn.savefig(temporary, dpi=_DPI)
    return [*map(Path, paths)]


def short_name(name: str) -> str:
    """Return the name of a class for a picture."""
    return literal(shorten(name, _LONGEST_NAME))


def class_accuracy_figure(evaluation: Evaluation) -> Figure:
    """Return the accuracy of every class before and after, with accuracy and COBias above."""
    width = min(15.0, max(7.0, 2.0 + 0.6 * len(evaluation.classes)))
    return Figure(lambda drawn: _draw_class_accuracies(drawn.subplots(), evaluation), (width, 3.6))


def _draw_class_accuracies(axes: Any, evaluation: Evaluation) -> None:  # noqa: ANN401
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
        legend_right(axes)
    tidy(axes)


def _score_line(evaluation: Evaluation, side: str, counts: Counts) -> str:
    """Return accuracy and COBias of one side of an evaluation."""
    right = accuracy(evaluation.in_population(counts))
    name = f"{side}: " if len(evaluation.sides) > 1 else ""
    return f"{name}accuracy {right:.3f}, COBias {cobias(counts):.3f}"


def path_figure(path: FitPath) -> Figure:
    """Return accuracy against COBias on the left, and every class along the path on the right."""

    def draw(figure: Any) -> None:  # noqa: ANN401 - matplotlib's
        left, right = figure.subplots(1, 2)
        _draw_path(left, path, None)
        _draw_classes(right, path)

    return Figure(draw, (12.4, 4.4))


def _draw_path(axes: Any, path: FitPath, chosen: int | None) -> None:  # noqa: ANN401
    """Draw accuracy against COBias into one set of axes, which end where the path does."""
    points = np.array([(p.expected["cobias"], p.expected["accuracy"]) for p in path.points])
    label = "on other rows, expected" if path.is_expected else "on the fitted rows"
    axes.plot(*points.T, "-o", color=BLUE, lw=1, ms=4)
    axes.set_title(label, loc="left", fontsize=10)
    if chosen is not None:
        beta = path.points[chosen].beta
        look = {"color": BLACK, "ms": 15, "mec": "white", "ls": "", "zorder": 4}
        axes.plot(*points[chosen], "*", **look, label=f"chosen: β = {beta:g}")
    for end in (0, -1):
        look = {"textcoords": "offset points", "fontsize": 8, "color": BLACK, "ha": "center"}
        axes.annotate(f"β = {path.points[end].beta:g}", points[end], (0, -16), **look)
    raw = path.points[0].raw
    frame_front(axes, points, (raw["cobias"], raw["accuracy"]))
    if axes.get_legend_handles_labels()[0]:
        legend_right(axes)


def _draw_classes(axes: Any, path: FitPath) -> None:  # noqa: ANN401
    """Draw how often every class is right, by β; of many classes the worst and the median."""
    betas = [point.beta for point in path.points]
    sides = [(p.fit.evidence or p.fit).evaluation.reweighted for p in path.points]
    rates = np.array([class_accuracies(side) for side in sides if side is not None])
    present = np.flatnonzero(~np.isnan(rates[0]))
    if len(present) <= _MOST_NAMED:
        for c, colour in zip(present, _CLASS_COLOURS, strict=False):
            axes.plot(
                betas, rates[:, c], "-o", color=colour, ms=3, label=short_name(path.classes[c])
            )
    else:
        low, middle, high = np.quantile(rates[:, present], [0.0, 0.5, 1.0], axis=1)
        axes.fill_between(betas, low, high, color=BLUE, alpha=0.15)
        axes.plot(betas, middle, color=BLUE, label="median class")
        axes.plot(betas, low, "-o", color=RED, ms=3, label="worst class")
    axes.set_xscale("log")
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("β (weight of COBias)")
    axes.set_ylabel("class accuracy")
    axes.set_title("classes along the path", loc="left", fontsize=10)
    legend_right(axes)
    tidy(axes, grid="both")


# --- displays ---
class ClassAccuracyDisplay:
    """Bars: the accuracy of every class, before and after coefficients.

    Parameters
    ----------
    evaluation : Evaluation
        As :func:`dnip.evaluate` returns it.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from dnip import ClassAccuracyDisplay, Coefficients
    >>> p, y = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["ham", "spam", "spam"]
    >>> coefficients = Coefficients(["ham", "spam"], [1, 2], 2)
    >>> shown = ClassAccuracyDisplay.from_predictions(y, p, coefficients)
    >>> print(shown.ax_.get_title(loc="left"))
    before: accuracy 0.667, COBias 0.500
    after: accuracy 1.000, COBias 0.000
    """

    def __init__(self, evaluation: Evaluation) -> None:
        self.evaluation = evaluation

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,  # noqa: ANN401 - anything like a classifier
        X: Any,  # noqa: ANN401 - whatever the estimator takes
        y: ArrayLike,
        *,
        ax: Any = None,  # noqa: ANN401 - matplotlib's
    ) -> Self:
        """Draw what a fitted classifier does on labelled examples.

        Parameters
        ----------
        estimator : classifier with ``predict_proba`` or ``decision_function``
            A :class:`~dnip.DNIPClassifier` shows its coefficients on the probabilities of the
            classifier inside.
        X : array-like of shape (M, n_features)
        y : array-like of shape (M,)
            True classes.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        from dnip.sklearn.classifier import probabilities_of  # noqa: PLC0415 - only here

        coefficients = getattr(estimator, "coefficients_", None)
        inner = estimator if coefficients is None else estimator.estimator_
        probabilities = X if inner is None else probabilities_of(inner, X)
        names = [str(name) for name in np.asarray(estimator.classes_).tolist()]
        return cls.from_predictions(y, probabilities, coefficients, classes=names, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        probabilities: ArrayLike,
        coefficients: CoefficientsLike | None = None,
        *,
        classes: Sequence[str] | None = None,
        ax: Any = None,  # noqa: ANN401 - matplotlib's
    ) -> Self:
        """Draw class probabilities against true classes.

        Parameters
        ----------
        y_true : array-like of shape (M,)
            True classes.
        probabilities : array-like of shape (M, N)
        coefficients : Coefficients, Fit or path, optional
            Show them too.
        classes : sequence, optional
            The class of each column, as for :func:`dnip.evaluate`.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Raises
        ------
        InvalidInputError
            For input that breaks its contract, or labels of fewer than two classes.
        CoefficientsFormatError
            For coefficients of other classes.
        """
        shown = evaluate(probabilities, y_true, coefficients, classes=classes)
        return cls(shown).plot(ax)

    def plot(self, ax: Any = None) -> Self:  # noqa: ANN401 - matplotlib's
        """Draw.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        self
            With the attributes `ax_` and `figure_`.

        Raises
        ------
        MissingDependencyError
            If matplotlib is not installed.
        """
        self.ax_, self.figure_ = _axes(ax)
        _draw_class_accuracies(self.ax_, self.evaluation)
        return self


class PathDisplay:
    """Dots: accuracy against COBias of the fits at a dozen β.

    Parameters
    ----------
    path : Path
        As :func:`dnip.fitting.trace_path` returns it.
    chosen : int, optional
        The place of a point to mark, counted from 0.

    Attributes
    ----------
    ax_ : matplotlib.axes.Axes
    figure_ : matplotlib.figure.Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from dnip import PathDisplay
    >>> from dnip.fitting import trace_path
    >>> p, y = [[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["ham", "spam", "spam"]
    >>> PathDisplay(trace_path(p, y)).plot().ax_.get_ylabel()
    'accuracy'
    """

    def __init__(self, path: FitPath, chosen: int | None = None) -> None:
        self.path = path
        self.chosen = chosen

    def plot(self, ax: Any = None) -> Self:  # noqa: ANN401 - matplotlib's
        """Draw into axes, those of a new figure by default, as `ax_` and `figure_`."""
        self.ax_, self.figure_ = _axes(ax)
        _draw_path(self.ax_, self.path, self.chosen)
        return self


def _axes(ax: Any) -> tuple[Any, Any]:  # noqa: ANN401 - matplotlib's
    """Return axes and their figure, which is new where none are given."""
    if ax is None:
        pyplot = load_matplotlib("pyplot")
        _, ax = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    return ax, ax.figure
