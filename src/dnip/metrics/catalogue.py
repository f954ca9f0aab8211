"""The metrics by name: one entry tells everything that evaluations, choices and reports need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import dnip.metrics.confusion as matrix
import dnip.metrics.intervals as intervals_of
from dnip.base.typing import Counts, Floats
from dnip.base.validation import check_level


@dataclass(frozen=True)
class Metric:
    """One metric of a classifier.

    Attributes
    ----------
    title : str
        How tables and pictures show it.
    of : callable
        From a confusion matrix, rows true, to the value. Its name is the metric's key in JSON and
        in settings.
    interval : callable
        From a confusion matrix and a level to the confidence interval ``[low, high]``.
    depends_on_mix : bool
        Whether it changes when classes become more or less frequent while every class is predicted
        as well as before.
    headline : bool
        Whether the text of evaluations, comparisons and reports shows it; JSON holds all metrics.
    """

    title: str
    of: Callable[[Any], float]
    interval: Callable[[Counts, float], list[float]]
    depends_on_mix: bool = False
    headline: bool = False

    @property
    def name(self) -> str:
        """Its key in JSON and in settings."""
        return self.of.__name__


_METRICS = (
    Metric(
        "accuracy",
        matrix.accuracy,
        intervals_of.accuracy_interval,
        depends_on_mix=True,
        headline=True,
    ),
    Metric("COBias", matrix.cobias, intervals_of.cobias_interval, headline=True),
    Metric("COBias_single", matrix.cobias_single, intervals_of.cobias_single_interval),
    Metric("balanced accuracy", matrix.balanced_accuracy, intervals_of.balanced_accuracy_interval),
    Metric(
        "worst class", matrix.worst_class_accuracy, intervals_of.worst_class_interval, headline=True
    ),
    Metric("macro-F1", matrix.macro_f1, intervals_of.macro_f1_interval, depends_on_mix=True),
)

#: Every metric by its name.
METRICS = {metric.name: metric for metric in _METRICS}

#: Those that every report shows.
HEADLINE = tuple(name for name, metric in METRICS.items() if metric.headline)

#: What tables show of each class beside its accuracy, which is its recall, by title.
CLASS_METRICS = {"precision": matrix.class_precisions, "F1": matrix.class_f1}


def scores(confusion: Counts, *, with_counts: bool = True) -> dict[str, Any]:
    """Return every metric of a confusion matrix, ready for JSON; None where one has no value.

    Parameters
    ----------
    confusion : ndarray of shape (N, N)
        Counts, rows true, columns predicted.
    with_counts : bool, default=True
        Also give the confusion matrix itself.

    Returns
    -------
    dict
        The value of each metric of :data:`METRICS` by its name, and by class ``class_accuracies``
        (recalls), ``class_precisions``, ``class_f1``, ``prediction_ratios`` and ``odd_classes``.

    Examples
    --------
    >>> summary = scores(np.array([[8, 2], [4, 6]]))
    >>> summary["accuracy"], summary["odd_classes"]
    (0.7, [1, 0])
    """
    counts = matrix.as_counts(confusion)
    values: dict[str, Any] = {name: metric.of(counts) for name, metric in METRICS.items()}
    for function in (matrix.class_accuracies, *CLASS_METRICS.values(), matrix.prediction_ratios):
        by_class = function(counts).tolist()
        values[function.__name__] = [None if np.isnan(value) else value for value in by_class]
    values["odd_classes"] = [None if c < 0 else c for c in matrix.odd_classes(counts).tolist()]
    return {**values, "confusion": confusion.tolist()} if with_counts else values


def metric_intervals(
    confusion: Counts, level: float = 0.9, target: Floats | None = None
) -> dict[str, Any]:
    """Return the confidence intervals of the metrics, and of every class accuracy.

    Parameters
    ----------
    confusion : ndarray of shape (N, N)
        Counts of at least two classes, rows true, columns predicted. The coefficients must not
        have been fitted on these rows.
    level : float, default=0.9
        How probably an interval holds the value on endless rows of the same kind.
    target : ndarray of shape (N,), optional
        Class shares that the intervals are for; classes without a share do not count.

    Returns
    -------
    dict
        ``[low, high]`` by the names of :data:`METRICS`, but for those that are not known in another
        mix; under ``class_accuracies`` a list of them, with None for a class without rows.

    Raises
    ------
    InvalidInputError
        For a level outside 0..1.

    Examples
    --------
    >>> intervals = metric_intervals(np.array([[45, 5], [20, 30]]))
    >>> [round(bound, 2) for bound in intervals["accuracy"]]
    [0.67, 0.81]
    >>> [round(bound, 2) for bound in intervals["cobias"]]
    [0.14, 0.4]
    """
    check_level("confidence", level)
    rows = confusion if target is None else confusion * (target > 0)[:, None]
    bounds: dict[str, Any] = {
        name: metric.interval(rows, level)
        for name, metric in METRICS.items()
        if target is None or not metric.depends_on_mix
    }
    if target is not None:
        n_effective = intervals_of.effective_rows(rows.sum(axis=1), target)
        right = matrix.accuracy(matrix.in_mix(confusion, target)) * n_effective
        bounds["accuracy"] = intervals_of.wilson([right], [n_effective], level)[0].tolist()
    return {**bounds, "class_accuracies": intervals_of.class_accuracy_intervals(rows, level)}
