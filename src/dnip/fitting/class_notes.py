"""Notes on single classes of a fit: silent, hopeless, or at the end of the scale."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import DNIPWarning, listed
from dnip.method.constraints import Constraints
from dnip.method.scales import WIDEST, Spacing
from dnip.method.solution import Status
from dnip.solvers import Coordinate, SearchSettings, find_optimum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.base.typing import Booleans, Integers, Labels, Probabilities
    from dnip.method.problem import Problem
    from dnip.method.solution import Solution
    from dnip.tables.evaluation import Evaluation

# Cells of a table that is searched once more, to see whether silence would pay.
_MOST_CELLS = 2_000_000
# Effort of that search.
_EFFORT = 0.3
# Names in one note.
_MOST_NAMES = 8


def notes_on_classes(
    problem: Problem, solution: Solution, evaluation: Evaluation, settings: SearchSettings
) -> tuple[str, ...]:
    """Return notes on single classes, one sentence each; none if all is well.

    Parameters
    ----------
    problem : Problem
        The labelled rows.
    solution : Solution
        Of a fit to these rows.
    evaluation : Evaluation
        Of the same rows, before and after.
    settings : SearchSettings
        Of the fit. The time limit is for the search for what silence would pay.

    Examples
    --------
    >>> from dnip import Coefficients, ProbabilityTable, solve
    >>> from dnip.tables.evaluation import evaluate
    >>> from dnip.method.problem import Problem
    >>> p, y = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2]]), np.array([0, 1, 0])
    >>> found = solve(p, y)
    >>> coefficients = Coefficients.from_solution(found, ["ham", "spam"])
    >>> evaluation = evaluate(
    ...     [ProbabilityTable(p, y, classes=["ham", "spam"])], coefficients
    ... )
    >>> print(*notes_on_classes(Problem.of(p, y), found, evaluation, SearchSettings()))
    Silent before, awake now: spam is right on 1 of 1 rows now.
    """
    names = evaluation.classes
    probabilities, labels = problem.probabilities, problem.labels
    assert evaluation.reweighted is not None
    rows = evaluation.raw.sum(axis=1)
    before, after = np.diag(evaluation.raw), np.diag(evaluation.reweighted)
    notes = []
    silent = (rows > 0) & (before == 0)
    hopeless = silent & ~_any_positive(probabilities, labels)
    if hopeless.any():
        notes.append(
            f"No weight can lift class {_named(names, hopeless)}: its probability is 0 in all of "
            "its labelled rows."
        )
    woken = silent & (after > 0)
    if woken.any():
        counts = "; ".join(
            f"{names[c]} is right on {after[c]:,} of {rows[c]:,} rows now"
            for c in np.flatnonzero(woken)[:_MOST_NAMES].tolist()
        )
        notes.append(f"Silent before, awake now: {counts}.")
    most = _reachable(probabilities, labels, solution)
    asleep = silent & (after == 0) & ~hopeless
    beyond = asleep & (most == 0)
    if beyond.any():
        notes.append(
            f"Out of reach: class {_named(names, beyond)}. No weights on this scale make any of "
            "its labelled rows right."
        )
    asleep &= most > 0
    if asleep.any():
        counts = "; ".join(
            f"{names[c]} (weights could make {most[c]:,} of {rows[c]:,} rows right)"
            for c in np.flatnonzero(asleep)[:_MOST_NAMES].tolist()
        )
        notes.append(f"Silent before and after: {counts}.")
    end = np.isin(np.arange(len(names)), solution.at_the_end) & (rows > 0)
    if end.any() and solution.spacing is Spacing.LOG:
        notes.append(
            f"At the end of the scale {solution.spacing}:{solution.scale}: class "
            f"{_named(names, end)}. --scale log:10000 goes further."
        )
    has_time = settings.time_limit is None or settings.time_limit > 0
    is_small = problem.n_cells <= _MOST_CELLS
    if not settings.constraints.allow_silence and has_time and is_small:
        notes += _what_silence_pays(problem, names, before, settings)
    return tuple(notes)


def _any_positive(p: Probabilities, labels: Labels) -> Booleans:
    own = p[np.arange(len(labels)), labels]
    return np.bincount(labels, own > 0, p.shape[1]) > 0


def _reachable(p: Probabilities, labels: Labels, solution: Solution) -> Integers:
    """Return how many rows of each class are right if its weight is as high as it can be."""
    span = float(solution.scale or WIDEST)
    own = p[np.arange(len(labels)), labels]
    others = p.copy()
    others[np.arange(len(labels)), labels] = 0
    right = own * span > others.max(axis=1)
    return np.bincount(labels[right], minlength=p.shape[1])


def _what_silence_pays(
    problem: Problem, names: Sequence[str], before: Integers, settings: SearchSettings
) -> list[str]:
    """Say which classes the objective would rather silence, and what it would gain."""
    limit = settings.time_limit
    quick = replace(
        settings,
        solver=Coordinate(_EFFORT),
        seed=0,
        time_limit=None if limit is None else limit / 2,
    )

    def search(*, allow_silence: bool) -> Solution:
        constraints = Constraints(allow_silence=allow_silence)
        chosen = replace(quick, constraints=constraints)
        return find_optimum(problem, chosen, time.perf_counter())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # the fit itself has warned
        free = search(allow_silence=True)
        silenced = (before > 0) & (np.diag(free.confusion) == 0)
        if free.status is Status.TIME_LIMIT or not silenced.any():
            return []
        awake = search(allow_silence=False)
    gain = awake.value - free.value
    if awake.status is Status.TIME_LIMIT or gain <= 0:
        return []
    return [
        f"The objective would be lower by {gain:.3f} if class {_named(names, silenced)} were "
        "never predicted right. No class is silenced, unless --allow-silence is given."
    ]


def _named(names: Sequence[str], chosen: Booleans) -> str:
    return listed([names[c] for c in np.flatnonzero(chosen).tolist()])
