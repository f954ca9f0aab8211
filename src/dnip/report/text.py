"""An evaluation as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.metrics import accuracy, class_accuracies, cobias, odd_classes, worst_class_accuracy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.coefficients import Coefficients
    from dnip.evaluation import Evaluation
    from dnip.typing import Counts


def describe(evaluation: Evaluation, coefficients: Coefficients | None = None) -> str:
    """Return accuracy, COBias and every class, before and after.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> from dnip.evaluation import evaluate
    >>> table = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> print(describe(evaluate([table])))
    class  rows  accuracy  taken for
    0         1     1.000
    1         1     0.000  0
    <BLANKLINE>
    accuracy     0.500
    COBias       1.000
    worst class  0.000
    """
    raw, reweighted = evaluation.raw, evaluation.reweighted
    true = [str(size) for size in raw.sum(axis=1)]
    columns = [("class", list(evaluation.classes)), ("rows", true)]
    if coefficients is not None:
        columns.append(("weight", [f"{w:.3f}" for w in coefficients.weights]))
    if reweighted is None:
        columns.append(("accuracy", _rates(class_accuracies(raw))))
    else:
        columns.append(("before", _rates(class_accuracies(raw))))
        columns.append(("after", _rates(class_accuracies(reweighted))))
    last = raw if reweighted is None else reweighted
    odd = ["" if c < 0 else evaluation.classes[c] for c in odd_classes(last)]
    columns.append(("taken for", odd))
    return f"{_align(columns)}\n\n{_totals(raw, reweighted)}"


def _totals(raw: Counts, reweighted: Counts | None) -> str:
    lines = []
    for name, metric in (
        ("accuracy", accuracy),
        ("COBias", cobias),
        ("worst class", worst_class_accuracy),
    ):
        change = "" if reweighted is None else f" -> {metric(reweighted):.3f}"
        lines.append(f"{name:<12} {metric(raw):.3f}{change}")
    return "\n".join(lines)


def _rates(rates: np.ndarray) -> list[str]:
    return ["-" if np.isnan(rate) else f"{rate:.3f}" for rate in rates]


def _align(columns: Sequence[tuple[str, list[str]]]) -> str:
    """Set columns side by side: names to the left, numbers to the right."""
    named = {"class", "taken for"}
    padded = []
    for title, cells in columns:
        width = max(len(title), *map(len, cells))
        side = "<" if title in named else ">"
        padded.append([f"{cell:{side}{width}}" for cell in (title, *cells)])
    return "\n".join("  ".join(row).rstrip() for row in zip(*padded, strict=True))
