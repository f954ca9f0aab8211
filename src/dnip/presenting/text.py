"""An evaluation as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnip.metrics import HEADLINE, METRICS, odd_classes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnip.deploying.evaluation import Evaluation
    from dnip.method.coefficients import Coefficients

# Classes with one floor that are named, the lowest.
_FEW = 3


def describe(
    evaluation: Evaluation,
    coefficients: Coefficients | None = None,
    *,
    confidence: float | None = None,
) -> str:
    """Return accuracy, COBias and every class, before and after.

    Parameters
    ----------
    evaluation : Evaluation
    coefficients : Coefficients, optional
        Also show their weights.
    confidence : float, optional
        Also show confidence intervals of this level, which hold for rows that the coefficients
        were not fitted on.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> from dnip.deploying.evaluation import evaluate
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
    raw, reweighted, adjusted = evaluation.raw, evaluation.reweighted, evaluation.adjusted
    true = [str(size) for size in raw.sum(axis=1)]
    columns = [("class", list(evaluation.classes)), ("rows", true)]
    if coefficients is not None:
        columns.append(("weight", [f"{w:.3f}" for w in coefficients.weights]))
    told = evaluation.to_dict(confidence, with_counts=False)
    sides = [("accuracy", "raw")]
    if reweighted is not None:
        sides = [("before", "raw"), ("after", "reweighted")]
    if adjusted is not None:
        sides.append(("adjusted", "adjusted"))
    for title, side in sides:
        columns.append((title, rates(told[side]["class_accuracies"])))
        if confidence is not None:
            intervals = told[side]["intervals"]["class_accuracies"]
            columns.append(("", [interval(bounds) for bounds in intervals]))
    last = next(counts for counts in (adjusted, reweighted, raw) if counts is not None)
    odd = ["" if c < 0 else evaluation.classes[c] for c in odd_classes(last)]
    columns.append(("taken for", odd))
    return f"{align(columns)}\n\n{_totals(told)}"


def describe_constraints(constraints: Mapping[str, Any]) -> str:
    """Return what was asked for and what was reached, in one line.

    Parameters
    ----------
    constraints : mapping
        As `Solution.constraints`.

    Examples
    --------
    >>> describe_constraints(
    ...     {"max_accuracy_loss": 0.01, "accuracy_loss": -0.02, "freeze": ["cat"],
    ...      "min_class_accuracies": {"dog": 0.6}, "class_accuracies": {"dog": 0.625}}
    ... )
    'constraints kept: accuracy loss -0.020 (at most 0.01); dog 0.625 (at least 0.6); frozen: cat'
    """
    parts = []
    if "max_accuracy_loss" in constraints:
        loss, most = constraints["accuracy_loss"], constraints["max_accuracy_loss"]
        parts.append(f"accuracy loss {loss:.3f} (at most {most:g})")
    floors = constraints.get("min_class_accuracies", {})
    for least in dict.fromkeys(floors.values()):
        reached = {c: constraints["class_accuracies"][c] for c in floors if floors[c] == least}
        lowest = sorted(reached, key=lambda c: reached[c])
        told = ", ".join(f"{c} {reached[c]:.3f}" for c in lowest[:_FEW])
        more = f" and {len(lowest) - _FEW} more" if len(lowest) > _FEW else ""
        parts.append(f"{told}{more} (at least {least:g})")
    if "freeze" in constraints:
        parts.append(f"frozen: {', '.join(constraints['freeze'])}")
    return f"constraints kept: {'; '.join(parts)}"


def _totals(told: dict[str, Any]) -> str:
    sides = [told[side] for side in ("raw", "reweighted", "adjusted") if side in told]
    lines = []
    for metric in HEADLINE:
        values = []
        for side in sides:
            bounds = side["intervals"].get(metric) if "intervals" in side else None
            values.append(f"{side[metric]:.3f} {interval(bounds)}".rstrip())
        lines.append(f"{METRICS[metric].title:<12} {' -> '.join(values)}")
    if "confidence" not in told:
        return "\n".join(lines)
    level = f"In brackets: {100 * told['confidence']:g} % intervals."
    if any(side["cobias"] > side["intervals"]["cobias"][1] for side in sides):
        level += " COBias of few rows is more than that of many: chance sets classes apart."
    if "difference" not in told:
        return "\n".join([*lines, "", level])
    intervals = told["difference"]["intervals"]
    changes = [
        f"{METRICS[metric].title} {told['difference'][metric]:+.3f} "
        f"{interval(intervals[metric], '+')}"
        for metric in HEADLINE
        if metric in intervals
    ]
    return "\n".join([*lines, f"{'change':<12} {', '.join(changes)}", "", level])


def rates(values: Sequence[float | None]) -> list[str]:
    """Return rates as cells; a dash for none."""
    return ["-" if rate is None else f"{rate:.3f}" for rate in values]


def interval(bounds: Sequence[float] | None, sign: str = "") -> str:
    """Return an interval in brackets; nothing for none."""
    return "" if bounds is None else f"[{bounds[0]:{sign}.3f}, {bounds[1]:{sign}.3f}]"


def align(
    columns: Sequence[tuple[str, list[str]]],
    named: frozenset[str] = frozenset({"class", "taken for"}),
) -> str:
    """Set columns side by side: those of names to the left, numbers to the right.

    Examples
    --------
    >>> print(align([("class", ["yes", "no"]), ("rows", ["9", "10"])]))
    class  rows
    yes       9
    no       10
    """
    padded = []
    for title, cells in columns:
        width = max(len(title), *map(len, cells))
        side = "<" if title in named else ">"
        padded.append([f"{cell:{side}{width}}" for cell in (title, *cells)])
    return "\n".join("  ".join(row).rstrip() for row in zip(*padded, strict=True))
