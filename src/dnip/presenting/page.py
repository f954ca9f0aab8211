"""A page about a table: what it counts, ready to be drawn, shown in a notebook and saved."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dnip.base.errors import MissingDependencyError, load_optional
from dnip.base.escaping import html
from dnip.base.files import write_text
from dnip.base.typing import Floats, Integers, Labels, Probabilities
from dnip.method.coefficients import Coefficients
from dnip.method.prediction import decide, reweight
from dnip.metrics import CLASS_METRICS, HEADLINE, METRICS, scores
from dnip.metrics.confusion import count_pairs
from dnip.metrics.intervals import wilson
from dnip.presenting.formats import percent

#: Bars of a histogram of probabilities.
BINS = 20


def measure(
    probabilities: Probabilities, labels: Labels, multipliers: Floats, level: float
) -> dict[str, Any]:
    """Count labelled rows under weights: counts, metrics and intervals, ready for JSON.

    The page shows `totals` as they are, `rates` and `details` times 100: none is rounded again.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.
    multipliers : ndarray of shape (N,)
        What probabilities are multiplied by; ones for the plain argmax.
    level : float
        Of the Wilson intervals of class accuracies, between 0 and 1.

    Returns
    -------
    dict
        ``own``: of each class, how many of its rows give it a probability in each of the bins from
        0 to 1. ``sure``: how many wrong and how many right decisions have a probability in each.

    Examples
    --------
    >>> p, y = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1])
    >>> found = measure(p, y, np.array([1.0, 2.0]), 0.9)
    >>> found["confusion"], found["totals"]["accuracy"]
    ([[0, 1], [1, 1]], '100.0 %')
    """
    n_rows, n_classes = probabilities.shape
    predicted = decide(probabilities, multipliers)
    new, rows = reweight(probabilities, multipliers), np.arange(n_rows)
    confusion = count_pairs(labels, predicted, n_classes, n_classes)
    summary = scores(confusion, with_counts=False)
    rates = summary["class_accuracies"]
    bounds = wilson(np.diag(confusion), confusion.sum(axis=1), level).round(4).tolist()
    values = {name: summary[name] for name in HEADLINE}
    shown = {
        METRICS[name].title: f"{value:.3f}" if name == "cobias" else percent(value)
        for name, value in values.items()
    }
    return {
        **values,
        "totals": {**shown, "classes never right": str(rates.count(0))},
        "rates": [
            None if rate is None else [round(rate, 3), *ends]
            for rate, ends in zip(rates, bounds, strict=True)
        ],
        "details": {
            title: [value if value is None else round(value, 3) for value in summary[of.__name__]]
            for title, of in CLASS_METRICS.items()
        },
        "confusion": [_sparse(row) for row in confusion],
        "own": count_pairs(labels, _bin(new[rows, labels]), n_classes, BINS).tolist(),
        "sure": count_pairs(predicted == labels, _bin(new[rows, predicted]), 2, BINS).tolist(),
    }


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
        first the plain argmax, then the coefficients, then the fits of a path over β.
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
        write_text(path, self.to_html())

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
