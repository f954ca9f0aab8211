"""Answers that name one class only, and classes that are never named."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.metrics import scores
from reproduction.artefacts import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dnip.base.typing import Counts
    from reproduction.artefacts import Value

#: β of `cost`: the paper's.
BETA = 2.7
#: The heading of `cost`.
COST_TITLE = "Error + 2.7·COBias"


def score(confusion: Counts, classes: Sequence[str]) -> dict[str, Any]:
    """Return every metric of a confusion matrix, and whether its predictions leave classes out.

    Returns
    -------
    dict
        The keys of :func:`dnip.metrics.scores`; ``cost``, the error + 2.7·COBias;
        ``never_predicted``, the number of classes that have rows and are never predicted; and
        ``constant``, the name of the class that all rows are predicted as, or None.

    Examples
    --------
    >>> found = score(np.array([[9, 0], [1, 0]]), ["no", "yes"])
    >>> found["never_predicted"], found["constant"], round(found["cost"], 2)
    (1, 'no', 2.8)
    """
    counts = np.asarray(confusion)
    named = np.flatnonzero(counts.sum(axis=0))
    found = scores(confusion)
    return {
        **found,
        "cost": 1 - found["accuracy"] + BETA * found["cobias"],
        "never_predicted": int(((counts.sum(axis=1) > 0) & (counts.sum(axis=0) == 0)).sum()),
        "constant": str(classes[named[0]]) if len(named) == 1 else None,
    }


def is_constant(scored: Mapping[str, Any] | None) -> bool:
    """Say whether all rows were predicted as one class."""
    return scored is not None and scored.get("constant") is not None


def never_predicted(runs: Sequence[Mapping[str, Any]]) -> Value:
    """Return how many classes some runs never predict, as a cell of a table.

    Examples
    --------
    >>> two, fixed = {"never_predicted": 2}, {"never_predicted": 4, "constant": "no"}
    >>> never_predicted([two, two]), never_predicted([fixed]), never_predicted([fixed, two])
    (2, 'constant: no', 'constant in 1 of 2')
    """
    constant = [run["constant"] for run in runs if is_constant(run)]
    if constant and len(constant) == len(runs) and len(set(constant)) == 1:
        return f"constant: {constant[0]}"
    if constant:
        return f"constant in {len(constant)} of {len(runs)}"
    counts = [run.get("never_predicted", 0) for run in runs]
    if not counts:
        return None
    return counts[0] if len(set(counts)) == 1 else f"{fmean(counts):.1f}"


def any_silent(values: Iterable[Value]) -> bool:
    """Say whether any cell of a table, by `never_predicted`, has such a class.

    Examples
    --------
    >>> any_silent([0, None]), any_silent([0, "constant: no"])
    (False, True)
    """
    return any(value not in (0, None) for value in values)


def with_never_predicted(
    columns: Sequence[Column],
    rows: Sequence[Sequence[Value]],
    titles: Sequence[str],
    runs: Sequence[Sequence[Mapping[str, Any]]],
) -> tuple[list[Column], list[list[Value]]]:
    """Return columns and rows of a table with one more column for each run, by `never_predicted`.

    If all classes are predicted everywhere, there is nothing to add.
    """
    found = [[never_predicted([run]) for run in of_row] for of_row in runs]
    if not any_silent(value for values in found for value in values):
        return list(columns), [list(row) for row in rows]
    more = [Column(title, group="Never predicted", right=True) for title in titles]
    return [*columns, *more], [[*row, *new] for row, new in zip(rows, found, strict=True)]


def left_out_in_words(n_left_out: int, n: int) -> str:
    """Say how many cells are left out of a judgement, in words to put behind it; "" for none.

    Examples
    --------
    >>> left_out_in_words(2, 21)
    '; 2 of 21 cells left out, where a method always answers with one class'
    """
    if n_left_out == 0:
        return ""
    return f"; {n_left_out} of {n} cells left out, where a method always answers with one class"
