"""A page about a table: what it counts, ready to be drawn, shown in a notebook and saved."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dnip.base.errors import MissingDependencyError
from dnip.base.escaping import html
from dnip.base.files import atomic_path
from dnip.base.optional import load_optional
from dnip.base.typing import Confusion, Floats, Integers, Labels, Probabilities
from dnip.method.coefficients import Coefficients
from dnip.method.prediction import decide, reweight
from dnip.metrics import accuracy, class_accuracies, cobias, worst_class_accuracy
from dnip.metrics.confusion import count_pairs
from dnip.metrics.intervals import wilson
from dnip.presenting.formats import percent

#: Bars of a histogram of probabilities.
BINS = 20

_TOTALS = "accuracy", "COBias", "worst class", "classes never right"


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
    """

    title: str
    verdict: str
    coefficients: Coefficients
    data: dict[str, Any]
    facts: Facts

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
            # a no-break space keeps a number and its % on one line
            finalize=lambda v: v if v is data else html(str(v)).replace(" %", "\u00a0%"),
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
