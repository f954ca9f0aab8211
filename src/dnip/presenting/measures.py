"""What one choice of weights does on labelled rows, as counts, and the pictures of a report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from dnip.base.typing import Confusion, Floats, Integers, Labels, Probabilities
from dnip.method.prediction import decide, reweight
from dnip.metrics import accuracy, class_accuracies, cobias, worst_class_accuracy
from dnip.metrics.confusion import count_pairs
from dnip.metrics.intervals import wilson
from dnip.presenting.artefacts import Figure
from dnip.presenting.drawing.bars import draw_histogram
from dnip.presenting.drawing.style import FIXED, tidy
from dnip.presenting.evaluation import class_accuracy_figure, odd_class_figure
from dnip.presenting.formats import percent
from dnip.tables.evaluation import Evaluation

#: Bars of a histogram of probabilities.
BINS = 20

#: The files of all figures, as PNG and SVG.
FILES = tuple(
    f"{name}{suffix}"
    for name in ("class-accuracies", "odd-classes", "front", "probabilities")
    for suffix in (".png", ".svg")
)

_TOTALS = "accuracy", "COBias", "worst class", "classes never right"
_AFTER, _BEFORE = FIXED["after"], FIXED["before"]


@dataclass(frozen=True, eq=False)
class Measured:
    """Counts of labelled rows under one choice of weights.

    Attributes
    ----------
    confusion : ndarray of shape (N, N)
        Rows true, columns predicted.
    own : ndarray of shape (N, BINS)
        For each class, how many of its rows give it a probability in each bin from 0 to 1.
    sure : ndarray of shape (2, BINS)
        How many wrong and how many right decisions have a probability in each bin.
    """

    confusion: Confusion
    own: Integers
    sure: Integers

    def to_dict(self, level: float) -> dict[str, Any]:
        """Return counts, metrics and Wilson intervals of class accuracies, ready for JSON.

        The page shows `totals` as they are, and `rates` times 100: neither is rounded again.

        Parameters
        ----------
        level : float
            Of the intervals, between 0 and 1.
        """
        rates = class_accuracies(self.confusion)
        bounds = wilson(np.diag(self.confusion), self.confusion.sum(axis=1), level)
        right, gap, worst = (f(self.confusion) for f in (accuracy, cobias, worst_class_accuracy))
        totals = [percent(right), f"{gap:.3f}", percent(worst), str((rates == 0).sum())]
        return {
            "accuracy": right,
            "cobias": gap,
            "totals": dict(zip(_TOTALS, totals, strict=True)),
            "rates": [
                None if np.isnan(rate) else [round(float(rate), 3), *ends.round(4).tolist()]
                for rate, ends in zip(rates, bounds, strict=True)
            ],
            "confusion": [_sparse(row) for row in self.confusion],
            "own": self.own.tolist(),
            "sure": self.sure.tolist(),
        }


def measure(probabilities: Probabilities, labels: Labels, multipliers: Floats) -> Measured:
    """Count labelled rows under weights.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.
    multipliers : ndarray of shape (N,)
        What probabilities are multiplied by; ones for the plain argmax.

    Examples
    --------
    >>> p, y = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1])
    >>> found = measure(p, y, np.array([1.0, 2.0]))
    >>> found.confusion
    array([[1, 0],
           [0, 1]])
    """
    n_rows, n_classes = probabilities.shape
    predicted = decide(probabilities, multipliers)
    new = reweight(probabilities, multipliers)
    rows = np.arange(n_rows)
    return Measured(
        count_pairs(labels, predicted, n_classes, n_classes),
        count_pairs(labels, _bin(new[rows, labels]), n_classes, BINS),
        count_pairs(predicted == labels, _bin(new[rows, predicted]), 2, BINS),
    )


def _bin(values: Floats) -> Integers:
    return np.minimum((values * BINS).astype(np.int64), BINS - 1)


def _sparse(row: Integers) -> list[int]:
    """Return places and counts, one after the other, without zeros: most of many classes are 0."""
    places = np.flatnonzero(row)
    return np.column_stack([places, row[places]]).ravel().tolist()


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
