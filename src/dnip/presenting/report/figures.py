"""The page's pictures as figures, for slides and papers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.presenting.artefacts import Figure
from dnip.presenting.drawing.histogram import draw_histogram
from dnip.presenting.drawing.style import FIXED, tidy
from dnip.presenting.evaluation import class_accuracy_figure, odd_class_figure

if TYPE_CHECKING:
    from dnip.tables.evaluation import Evaluation

#: The files of all figures, as PNG and SVG.
FILES = tuple(
    f"{name}{suffix}"
    for name in ("class-accuracies", "odd-classes", "front", "probabilities")
    for suffix in (".png", ".svg")
)

_AFTER, _BEFORE = FIXED["after"], FIXED["before"]


def report_figures(evaluation: Evaluation, choices: list[dict[str, Any]]) -> list[Figure]:
    """Return class accuracies, flows, the front, and histograms of probabilities.

    Parameters
    ----------
    evaluation : Evaluation
        Of the rows that the page shows, before and after.
    choices : list of dict
        Of the page: the plain argmax, the coefficients, then the front.
    """
    return [
        class_accuracy_figure(evaluation),
        odd_class_figure(evaluation),
        Figure("front", "", partial(_draw_front, choices=choices), (6.0, 4.5)),
        Figure("probabilities", "", partial(_draw_histograms, choices=choices[:2]), (9.0, 3.6)),
    ]


def _draw_front(figure: Any, choices: list[dict[str, Any]]) -> None:  # noqa: ANN401 - matplotlib's
    axes = figure.subplots()
    at = np.array([(choice["accuracy"], choice["cobias"]) for choice in choices])
    axes.plot(*at[2:].T, ".", color=_AFTER, label="front")
    axes.plot(*at[0], "X", color=_BEFORE, ms=9, ls="", label="before")
    axes.plot(*at[1], "o", color=_AFTER, ms=9, ls="", label="coefficients")
    axes.set_xlabel("accuracy")
    axes.set_ylabel("COBias")
    axes.legend(frameon=False)
    tidy(axes, grid="both")


def _draw_histograms(figure: Any, choices: list[dict[str, Any]]) -> None:  # noqa: ANN401
    titles = "probability of the true class", "probability of wrong decisions"
    for axes, title, part in zip(figure.subplots(1, 2), titles, ("own", "sure"), strict=True):
        found = [np.array(choice[part]) for choice in choices]
        counts = [each.sum(axis=0) if part == "own" else each[0] for each in found]
        draw_histogram(axes, dict(zip(("before", "after"), counts, strict=True)), title)
    axes.legend(frameon=False)
