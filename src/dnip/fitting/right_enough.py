"""Thresholds under which what is served of each class is right often enough."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import comb

import numpy as np

from dnip.base.errors import InvalidInputError, listed
from dnip.base.typing import Booleans, Floats
from dnip.fitting.record import Fit
from dnip.method.defer import NEVER, Deferral
from dnip.method.prediction import decide, reweight
from dnip.method.problem import Problem

#: How sure it must be, for each class, that what is served is right often enough.
SURE = 0.95
# Rows that are served grow by this factor from one test to the next.
_STEP = 1.25


def is_right_enough(right: int, rows: int, rate: float) -> bool:
    """Return whether so many right of so many rows are proof of a rate, with 95 % confidence.

    The exact bound of Clopper and Pearson (1934): at that rate, so few errors would be rare.

    Examples
    --------
    >>> is_right_enough(59, 59, 0.95), is_right_enough(58, 58, 0.95), is_right_enough(92, 93, 0.95)
    (True, False, True)
    """
    wrong = rows - right
    chance = sum(comb(rows, k) * (1 - rate) ** k * rate ** (rows - k) for k in range(wrong + 1))
    return chance <= 1 - SURE


def _least_rows(wrong: int, rate: float) -> int:
    """Return of how many rows so many may be wrong."""
    rows = wrong + 1
    while not is_right_enough(rows - wrong, rows, rate):
        rows += 1
    return rows


def threshold_of(sureness: Floats, right: Booleans, rate: float) -> float:
    """Return the least sureness at which what is served is sure to be right at that rate.

    Ever more rows are served, the surest first, and tested until a test fails: a fixed sequence
    keeps its level without a correction. It begins with as many rows as may hold one error, or with
    those that may hold none, where there are no more.

    Parameters
    ----------
    sureness : ndarray of shape (M,)
        Corrected probability of the decision, of rows that are predicted as one class by weights
        that have not seen them.
    right : ndarray of shape (M,)
        Whether each decision is right.
    rate : float
        Above 0 and below 1.

    Returns
    -------
    float
        2 where no row can be served.

    Examples
    --------
    >>> sure = np.arange(200) / 200
    >>> threshold_of(sure, sure >= 0.5, 0.9), threshold_of(sure[:9], sure[:9] >= 0, 0.9)
    (0.56, 2.0)
    """
    order = np.argsort(-sureness, kind="stable")
    values, hits = sureness[order], np.cumsum(right[order])
    n_rows, found = len(values), NEVER
    rows = _least_rows(1, rate)
    if rows > n_rows:
        rows = _least_rows(0, rate)
    while rows <= n_rows:
        # equal rows are served together
        rows = int(np.searchsorted(-values, -values[rows - 1], side="right"))
        if not is_right_enough(int(hits[rows - 1]), rows, rate):
            break
        found = float(values[rows - 1])
        rows = rows + 1 if rows == n_rows else min(max(int(_STEP * rows), rows + 1), n_rows)
    return found


def serve_right(
    fitted: Fit, rate: float, problem: Problem, refits: Iterable[tuple[Booleans, Floats]]
) -> Fit:
    """Return a fit with thresholds under which each class is served right at a rate.

    Parameters
    ----------
    fitted : Fit
    rate : float
        How often what is served of each predicted class must be right.
    problem : Problem
        The labelled rows, in the mix in which they come.
    refits : iterable of pairs of ndarray
        What :meth:`dnip.fitting.refits.Refits.left_out` yields.

    Raises
    ------
    InvalidInputError
        If there are no refits to learn from.
    """
    p, labels, n_classes = problem.probabilities, problem.labels, problem.n_classes
    chosen, sureness = np.full(len(labels), -1), np.zeros(len(labels))
    for left_out, multipliers in refits:
        chosen[left_out] = decide(p[left_out], multipliers)
        q = reweight(p[left_out], multipliers)
        sureness[left_out] = q[np.arange(len(q)), chosen[left_out]]
    if (chosen < 0).all():
        raise InvalidInputError(
            "thresholds for what is right often enough are learned from rows left out, and there "
            "are none",
            hint="Label more rows, and leave --no-evidence out",
        )
    thresholds, shares, rights = np.full(n_classes, NEVER), np.zeros(n_classes), []
    served = np.zeros(len(labels), np.bool_)
    for c in range(n_classes):
        own = np.flatnonzero(chosen == c)
        thresholds[c] = threshold_of(sureness[own], labels[own] == c, rate)
        kept = own[sureness[own] >= thresholds[c]]
        served[kept] = True
        shares[c] = len(kept) / max(len(own), 1)
        rights.append(float((labels[kept] == c).mean()) if len(kept) else None)
    share = float(served.mean())
    names = [name for name, t in zip(problem.classes, thresholds, strict=True) if t == NEVER]
    notes = [*fitted.notes, f"Served: {share:.1%} of the rows; the others are deferred."]
    if names:
        notes.append(
            f"Never served, as these labels cannot show that {rate:.0%} of it are right: class "
            f"{listed(names)}."
        )
    record = {"rate": rate, "sure": SURE, "served": shares.tolist(), "right": rights}
    coefficients = fitted.coefficients.with_defer(Deferral(thresholds, 1 - share, below=rate))
    coefficients = coefficients.with_fit({**coefficients.fit, "defer_below": record})
    return replace(fitted, coefficients=coefficients, notes=tuple(notes))
