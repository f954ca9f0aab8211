"""Answers that name one class only, and classes that are never named."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.metrics import scores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnip.base.typing import Counts
    from dnip.presenting.artefacts import Value

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
