"""An evaluation as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from rich.cells import cell_len

from dnip.base.errors import listed
from dnip.base.typing import Confusion
from dnip.method.coefficients import Coefficients
from dnip.metrics import CLASS_METRICS, HEADLINE, METRICS, class_accuracies, odd_classes
from dnip.presenting.formats import (
    WIDTH,
    Column,
    Estimate,
    Value,
    columns_to_text,
    percent,
    show,
    to_text,
    wrapped,
)
from dnip.using.evaluation import Evaluation

# Classes with one floor that are named, the lowest.
_FEW = 3


def describe(
    evaluation: Evaluation,
    coefficients: Coefficients | None = None,
    *,
    confidence: float | None = None,
    most: int | None = None,
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
    most : int, optional
        Show this many classes at most, the weakest.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> from dnip.using.evaluation import evaluate
    >>> table = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))
    >>> print(describe(evaluate([table])))
    class  rows  accuracy  precision     F1  taken for
    0         1     1.000      0.500  0.667
    1         1     0.000          -  0.000  0
    <BLANKLINE>
    accuracy     0.500
    COBias       1.000
    worst class  0.000
    """
    numbers = evaluation.to_dict(confidence, with_counts=False)
    names = ("before", "after", "adjusted") if evaluation.reweighted is not None else ("accuracy",)
    sides = dict(zip(names, ("raw", "reweighted", "adjusted"), strict=False))
    columns: dict[Column, Sequence[Value]] = {
        Column("class"): evaluation.classes,
        Column("rows"): evaluation.raw.sum(axis=1).tolist(),
    }
    if coefficients is not None:
        columns[Column("weight", 3)] = coefficients.weights.tolist()
    *before, last = (side for side in sides.items() if side[1] in numbers)
    columns |= {Column(title, 3): numbers[side]["class_accuracies"] for title, side in before}
    columns |= class_columns(last[0], numbers[last[1]])
    counts = [*evaluation.sides.values()][-1]
    columns[Column("taken for")] = taken_for(evaluation.classes, counts)
    left = ""
    if most is not None and len(counts) > most:
        order = np.argsort(class_accuracies(counts), kind="stable")  # without rows: at the end
        columns = {column: [values[c] for c in order[:most]] for column, values in columns.items()}
        left = f"\n… and {len(counts) - most:,} classes that are right more often"
    return f"{columns_to_text(columns, DETAILS)}{left}\n\n{_totals(numbers)}"


#: Columns that a table goes without where it would be too wide, the first one first.
DETAILS = tuple(Column(title, 3) for title in reversed(CLASS_METRICS))


def class_columns(title: str, side: Mapping[str, Any]) -> dict[Column, Sequence[Value]]:
    """Return how often each class is right, with intervals if they are known, and the details.

    Parameters
    ----------
    title : str
        Of the first column.
    side : mapping
        Such as ``evaluation.to_dict()["raw"]``.
    """
    rates = side["class_accuracies"]
    if "intervals" in side:
        bounds = side["intervals"]["class_accuracies"]
        rates = [
            None if rate is None else Estimate(rate, *ends)
            for rate, ends in zip(rates, bounds, strict=True)
        ]
    details = {Column(name, 3): side[of.__name__] for name, of in CLASS_METRICS.items()}
    return {Column(title, 3): rates, **details}


def describe_confusion(evaluation: Evaluation) -> str:
    """Return the confusion matrices, one below the other; columns are numbered if names are long.

    Examples
    --------
    >>> print(describe_confusion(Evaluation(("ham", "spam"), 4, 0, np.array([[2, 0], [1, 1]]))))
    rows of  ham  spam
    ham        2     0
    spam       1     1
    """
    names = evaluation.classes
    tables = []
    for side, counts in evaluation.sides.items():
        first = "rows of" if len(evaluation.sides) == 1 else f"{side}, rows of"
        rows = [(name, *line) for name, line in zip(names, counts.tolist(), strict=True)]
        columns = [Column(first), *map(Column, names)]
        if sum(map(cell_len, names)) > WIDTH // 2:
            columns = [Column(first), *(Column(str(c)) for c in range(len(names)))]
            rows = [(f"{c} {name}", *line) for c, (name, *line) in enumerate(rows)]
        tables.append(to_text(columns, rows))
    return "\n\n".join(tables)


def taken_for(classes: Sequence[str], confusion: Confusion) -> list[str]:
    """Return the class that most errors of each class go to; nothing for one without errors."""
    return ["" if c < 0 else classes[c] for c in odd_classes(confusion)]


def always_sentence(always: tuple[str, float]) -> str:
    """Return what always answering the class of most rows would score.

    Examples
    --------
    >>> always_sentence(("ham", 0.85))
    'Always answering ham would be right on 85.0 % of the rows.'
    """
    return f"Always answering {always[0]} would be right on {percent(always[1])} of the rows."


def next_step(evaluation: Evaluation, level: float, command: str) -> str:
    """Return which classes starve, and what to type next.

    Parameters
    ----------
    evaluation : Evaluation
    level : float
        How sure it must be, between 0 and 1.
    command : str
        A line that learns coefficients.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> from dnip.using.evaluation import evaluate
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]]).repeat(9, axis=0)
    >>> table = ProbabilityTable(p, np.array([0, 1]).repeat(9), classes=["ham", "spam"])
    >>> print(next_step(evaluate(table), 0.9, "dnip fit opt.csv"))
    Starving: spam. Below the average class, 0.500, by more than chance.
    Next, learn coefficients: dnip fit opt.csv
    """
    if evaluation.signal is False:
        step = "" if evaluation.cause else "\nNext, look at the prompt: dnip prompt TEXTS --check"
        return wrapped(f"No signal. {evaluation.no_signal}{step}")
    weak = evaluation.starving(level)
    text = "No class is below the average class by more than chance."
    if weak:
        mean = np.nanmean(class_accuracies(evaluation.raw))
        text = f"Starving: {listed(weak, _FEW)}. "
        text += f"Below the average class, {mean:.3f}, by more than chance."
    if evaluation.always is not None:
        text = f"{always_sentence(evaluation.always)}\n{text}"
    return f"{wrapped(text)}\nNext, learn coefficients: {command}"


def describe_constraints(constraints: Mapping[str, Any]) -> str:
    """Return what was asked for and what was reached on the rows of the fit, in one line.

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
    'kept on these rows: accuracy loss -0.020 (at most 0.01); dog 0.625 (at least 0.6); frozen: cat'
    """
    parts = []
    if "max_accuracy_loss" in constraints:
        loss, most = constraints["accuracy_loss"], constraints["max_accuracy_loss"]
        parts.append(f"accuracy loss {loss:.3f} (at most {most:g})")
    floors = constraints.get("min_class_accuracies", {})
    for least in dict.fromkeys(floors.values()):
        reached = {c: constraints["class_accuracies"][c] for c in floors if floors[c] == least}
        lowest = sorted(reached, key=lambda c: reached[c])
        shown = listed([f"{c} {reached[c]:.3f}" for c in lowest], most=_FEW)
        parts.append(f"{shown} (at least {least:g})")
    if "freeze" in constraints:
        parts.append(f"frozen: {', '.join(constraints['freeze'])}")
    return f"kept on these rows: {'; '.join(parts)}"


def served_facts(served: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what is deferred, and how what remains and the system are served, by name.

    Parameters
    ----------
    found : mapping
        What :func:`dnip.method.coefficients.served` returns.
    """
    yield "deferred", f"{percent(served['share'])}; asked for {percent(served['asked'])}"
    for side, end in (("remaining", ""), ("system", "; helper right on {helper_accuracy:.0%}")):
        scores = served.get(side, {}).items()
        texts = [f"{METRICS[name].title} {show(value, Column(name, 3))}" for name, value in scores]
        if texts:
            yield side, ", ".join(texts) + end.format(**served)


def _totals(numbers: dict[str, Any]) -> str:
    sides = [numbers[side] for side in ("raw", "reweighted", "adjusted") if side in numbers]
    lines = []
    for metric in HEADLINE:
        values = " -> ".join(with_interval(side, metric) for side in sides)
        lines.append(f"{METRICS[metric].title:<12} {values}")
    if "confidence" in numbers and "difference" in numbers:
        changes = [
            f"{METRICS[metric].title} {with_interval(numbers['difference'], metric, signed=True)}"
            for metric in HEADLINE
            if metric in numbers["difference"]["intervals"]
        ]
        lines.append(f"{'change':<12} {', '.join(changes)}")
    if "defer" in numbers:
        lines += [f"{name:<12} {text}" for name, text in served_facts(numbers["defer"])]
    if "confidence" not in numbers:
        return "\n".join(lines)
    level = f"In brackets: {100 * numbers['confidence']:g} % intervals."
    ends = [(side[m], *side["intervals"].get(m, (0, 1))) for side in sides for m in HEADLINE]
    if any(not round(low, 3) <= round(value, 3) <= round(high, 3) for value, low, high in ends):
        level += (
            " A value may be outside of its own: with few\nrows, chance sets classes apart, or "
            "spares them all errors."
        )
    return "\n".join([*lines, "", level])


def with_interval(side: Mapping[str, Any], metric: str, *, signed: bool = False) -> str:
    """Return a metric of a side of an evaluation, with its interval if it has one."""
    bounds = side.get("intervals", {}).get(metric)
    value = side[metric] if bounds is None else Estimate(side[metric], *bounds)
    return show(value, Column(metric, 3, signed=signed))
