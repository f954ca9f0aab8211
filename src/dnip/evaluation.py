"""Accuracy and COBias of a table, before and after reweighting, in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.decisions import decide
from dnip.errors import CoefficientsFormatError, InvalidInputError
from dnip.intervals import difference_intervals, metric_intervals
from dnip.metrics import (
    accuracy,
    balanced_accuracy,
    class_accuracies,
    cobias,
    cobias_single,
    macro_f1,
    odd_classes,
    prediction_ratios,
    worst_class_accuracy,
)
from dnip.metrics.confusion import count_pairs
from dnip.validation import check_level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dnip.coefficients import Coefficients
    from dnip.tables import Rows
    from dnip.typing import Confusion, Counts


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Confusion counts of a table under the raw argmax and under coefficients.

    Attributes
    ----------
    classes : tuple of str
    n : int
        Labelled rows.
    n_unlabelled : int
        Rows without a label; they are not counted.
    raw : ndarray of shape (N, N)
        Counts of the plain argmax, rows true, columns predicted.
    reweighted : ndarray of shape (N, N) or None
        Counts under the coefficients, if any were given.
    agreement : ndarray of shape (N, 2, 2) or None
        Rows of each class by whether the raw argmax and whether the coefficients got them right:
        what a difference on the same rows is known from.
    """

    classes: tuple[str, ...]
    n: int
    n_unlabelled: int
    raw: Confusion
    reweighted: Confusion | None
    agreement: Confusion | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the classes without a labelled row; they have no accuracy."""
        true = self.raw.sum(axis=1)
        return tuple(name for name, size in zip(self.classes, true, strict=True) if size == 0)

    def to_dict(self, confidence: float | None = None) -> dict[str, Any]:
        """Return what ``dnip evaluate --json`` prints.

        Parameters
        ----------
        confidence : float, optional
            Add the intervals of this level, between 0 and 1. They hold for rows that the
            coefficients were not fitted on.

        Raises
        ------
        InvalidInputError
            For a level outside 0..1.
        """
        summary: dict[str, Any] = {
            "n": self.n,
            "n_unlabelled": self.n_unlabelled,
            "n_classes": len(self.classes),
            "classes": list(self.classes),
            "raw": scores(self.raw),
        }
        if self.reweighted is not None:
            summary["reweighted"] = scores(self.reweighted)
        if confidence is not None:
            summary["confidence"] = check_level("confidence", confidence)
            summary["raw"]["intervals"] = metric_intervals(self.raw, confidence)
        if self.reweighted is None or self.agreement is None:
            return summary
        summary["difference"] = _differences(summary["raw"], summary["reweighted"])
        if confidence is not None:
            summary["reweighted"]["intervals"] = metric_intervals(self.reweighted, confidence)
            intervals = difference_intervals(self.agreement, confidence)
            summary["difference"]["intervals"] = intervals
        return summary


def scores(confusion: Counts) -> dict[str, Any]:
    """Return every metric of a confusion matrix, ready for JSON; None where one has no value.

    Examples
    --------
    >>> import numpy as np
    >>> summary = scores(np.array([[8, 2], [4, 6]]))
    >>> summary["accuracy"], summary["odd_classes"]
    (0.7, [1, 0])
    """
    return {
        "accuracy": accuracy(confusion),
        "cobias": cobias(confusion),
        "cobias_single": cobias_single(confusion),
        "balanced_accuracy": balanced_accuracy(confusion),
        "worst_class_accuracy": worst_class_accuracy(confusion),
        "macro_f1": macro_f1(confusion),
        "class_accuracies": [
            None if np.isnan(a) else a for a in class_accuracies(confusion).tolist()
        ],
        "prediction_ratios": [
            None if np.isnan(r) else r for r in prediction_ratios(confusion).tolist()
        ],
        "odd_classes": [None if c < 0 else c for c in odd_classes(confusion).tolist()],
        "confusion": confusion.tolist(),
    }


def _differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return after less before."""
    by_class = zip(before["class_accuracies"], after["class_accuracies"], strict=True)
    return {
        **{name: after[name] - before[name] for name in ("accuracy", "cobias")},
        "class_accuracies": [None if a is None else b - a for a, b in by_class],
    }


def check_same_classes(rows: Rows, coefficients: Coefficients) -> None:
    """Refuse coefficients that were fitted for other classes than the table's."""
    if rows.classes != coefficients.classes:
        raise CoefficientsFormatError(
            f"{rows.source} has the classes {', '.join(rows.classes)}, but the coefficients "
            f"were fitted for {', '.join(coefficients.classes)}",
            hint="Apply coefficients to the task that they were fitted on",
        )


def evaluate(
    chunks: Iterable[Rows],
    coefficients: Coefficients | None = None,
    *,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Count a table, given whole or in chunks, under the raw argmax and under coefficients.

    Parameters
    ----------
    chunks : iterable of ProbabilityTable or Chunk
        The table: a `Scan` of one on disk, ``[table]`` for one in memory.
    coefficients : Coefficients, optional
        Fitted for the table's classes.
    progress : callable, optional
        Receives the number of rows done after each chunk.

    Returns
    -------
    Evaluation

    Raises
    ------
    InvalidInputError
        If fewer than two classes have labelled rows: there is no accuracy gap to speak of.
    CoefficientsFormatError
        If the coefficients were fitted for other classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import Coefficients, ProbabilityTable
    >>> table = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> result = evaluate([table], Coefficients(["0", "1"], [15, 30], scale=30))
    >>> result.raw.tolist(), result.reweighted.tolist()
    ([[1, 0], [1, 0]], [[1, 0], [0, 1]])
    """
    n_rows = n_unlabelled = 0
    raw: Confusion | None = None
    reweighted: Confusion | None = None
    agreement: Confusion | None = None
    for chunk in chunks:
        if coefficients is not None:
            check_same_classes(chunk, coefficients)
        p, classes, source = chunk.probabilities, chunk.classes, chunk.source
        n_classes = len(classes)
        if raw is None:
            raw = np.zeros((n_classes, n_classes), np.int64)
            if coefficients is not None:
                reweighted = np.zeros_like(raw)
                agreement = np.zeros((n_classes, 2, 2), np.int64)
        n_rows += len(p)
        if chunk.labels is None:
            n_unlabelled += len(p)
        else:
            true = chunk.labels + 1  # unlabelled rows are counted as 0
            unweighted = decide(p)
            counts = count_pairs(true, unweighted, n_classes + 1, n_classes)
            n_unlabelled += int(counts[0].sum())
            raw += counts[1:]
            if coefficients is not None and reweighted is not None and agreement is not None:
                predictions = decide(p, coefficients.multipliers)
                reweighted += count_pairs(true, predictions, n_classes + 1, n_classes)[1:]
                rights = 2 * (unweighted == chunk.labels) + (predictions == chunk.labels)
                both = count_pairs(true, rights, n_classes + 1, 4)[1:]
                agreement += both.reshape(n_classes, 2, 2)
        if progress is not None:
            progress(n_rows)
    if raw is None:
        raise InvalidInputError("there are no rows to evaluate")
    present = np.flatnonzero(raw.sum(axis=1))
    if len(present) < 2:
        found = f"only class {classes[present[0]]}" if len(present) else "no class"
        raise InvalidInputError(
            f"{source}: {found} has labelled rows, but COBias compares at least 2 classes",
            hint="Give a table with a label column that holds several classes",
        )
    return Evaluation(classes, int(raw.sum()), n_unlabelled, raw, reweighted, agreement)
