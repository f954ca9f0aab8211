"""What to know of single classes, of a sample and of limits: one sentence each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dnip.base.errors import listed
from dnip.base.typing import Booleans, Integers
from dnip.base.validation import MAX_SCALE
from dnip.method.problem import Problem
from dnip.method.scales import Spacing
from dnip.method.solution import Solution
from dnip.using.evaluation import Evaluation

# Names in one note.
_MOST_NAMES = 8


def notes_on_classes(
    problem: Problem, solution: Solution, evaluation: Evaluation
) -> tuple[str, ...]:
    """Return notes on single classes, one sentence each; none if all is well.

    Parameters
    ----------
    problem : Problem
        The labelled rows, or a sample of them that counts for all.
    solution : Solution
        Of a fit to these rows.
    evaluation : Evaluation
        Of all labelled rows, before and after.

    Examples
    --------
    >>> from dnip import Coefficients, ProbabilityTable, evaluate, solve
    >>> p, y = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2]]), np.array([0, 1, 0])
    >>> found = solve(p, y)
    >>> coefficients = Coefficients.from_solution(found, ["ham", "spam"])
    >>> evaluation = evaluate(p, y, coefficients)
    >>> print(*notes_on_classes(Problem.of(p, y), found, evaluation))
    Never right before: spam is right on 1 of 1 rows now.
    """
    names = evaluation.classes
    assert evaluation.reweighted is not None
    rows = evaluation.raw.sum(axis=1)
    before, after = np.diag(evaluation.raw), np.diag(evaluation.reweighted)
    notes = []
    silent = (rows > 0) & (before == 0)
    positive, reachable = _at_best(problem, solution, silent)
    hopeless = silent & (positive == 0)
    if hopeless.any():
        notes.append(
            f"No weight can lift class {_named(names, hopeless)}: its probability is 0 in all of "
            "its labelled rows."
        )
    gained = silent & (after > 0)
    if gained.any():
        counts = "; ".join(
            f"{names[c]} is right on {after[c]:,} of {rows[c]:,} rows now"
            for c in np.flatnonzero(gained)[:_MOST_NAMES].tolist()
        )
        notes.append(f"Never right before: {counts}.")
    lacking = silent & (after == 0) & ~hopeless
    beyond = lacking & (reachable == 0)
    if beyond.any():
        notes.append(
            f"Out of reach: class {_named(names, beyond)}. No weights on this scale make any of "
            "its labelled rows right."
        )
    lacking &= reachable > 0
    if lacking.any():
        counts = "; ".join(
            f"{names[c]} (weights could make {reachable[c]:,} of {rows[c]:,} rows right)"
            for c in np.flatnonzero(lacking)[:_MOST_NAMES].tolist()
        )
        notes.append(f"Never right, before and after: {counts}.")
    end = np.isin(np.arange(len(names)), solution.at_the_end) & (rows > 0)
    scale = solution.scale
    if end.any() and scale.spacing is Spacing.LOG:
        further = "" if scale.size == MAX_SCALE else f" --scale log:{MAX_SCALE} goes further."
        notes.append(f"At the end of the scale {scale}: class {_named(names, end)}.{further}")
    return tuple(notes)


def _at_best(problem: Problem, solution: Solution, silent: Booleans) -> tuple[Integers, Integers]:
    """Return on how many rows silent classes are above 0, and right by as much weight as can be."""
    chosen = np.flatnonzero(silent[problem.labels])
    p, labels = problem.probabilities[chosen], problem.labels[chosen]
    count = problem.weights[chosen]
    places = np.arange(len(labels)), labels
    own = p[places].copy()
    p[places] = 0
    levels = solution.scale.levels
    right = own * (levels[-1] / levels[0]) > p.max(axis=1)
    above, reached = (
        np.bincount(labels, count * which, problem.n_classes) for which in (own > 0, right)
    )
    return np.ceil(above).astype(np.int64), np.rint(reached).astype(np.int64)


def _named(names: Sequence[str], chosen: Booleans) -> str:
    return listed([names[c] for c in np.flatnonzero(chosen).tolist()])


def note_on_limit(limit: float, beta: float | None) -> str:
    """Return what a limit on lost accuracy comes to.

    Parameters
    ----------
    limit : float
        On accuracy lost on other rows.
    beta : float or None
        The β that was taken for it; None where the raw argmax stays.

    Examples
    --------
    >>> print(note_on_limit(0.01, 0.25))
    To lose at most 0.01 of accuracy on other rows, β is 0.25.
    """
    lost = f"at most {limit:g} of accuracy" if limit else "no accuracy"
    if beta is None:
        return (
            f"The raw argmax stays: no β is expected to lose {lost} on other rows and be more even."
        )
    return f"To lose {lost} on other rows, β is {beta:g}."
