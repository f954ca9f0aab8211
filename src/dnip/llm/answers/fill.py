"""Labels that a server did not report: what is taken for them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.typing import Booleans, Floats, Probabilities
from dnip.base.validation import check_choice
from dnip.tables.cells import Location, normalise_rows


class Fill(StrEnum):
    """The probability to take for a label that a server did not report.

    ZERO: 0, the least that it can be. CEILING: the most that it can be. HALF: half of that.
    """

    ZERO = "zero"
    HALF = "half"
    CEILING = "ceiling"


# Numbers of more decimals are not taken for rounded.
_MOST_DECIMALS = 6
_SHARE = {Fill.ZERO: 0.0, Fill.HALF: 0.5, Fill.CEILING: 1.0}


def fill_unreported(
    captured: ArrayLike, ceiling: ArrayLike, policy: Fill | str = Fill.HALF
) -> Probabilities:
    """Return class probabilities, unreported labels filled in and rows normalised.

    Parameters
    ----------
    captured : array-like of shape (M, N)
        Reported probability of each label, before normalising over labels; 0 if unreported.
    ceiling : array-like of shape (M, N)
        The most that each label's probability can be; what is captured where it was reported.
    policy : Fill or str
        ``"zero"``, ``"half"`` or ``"ceiling"``.

    Returns
    -------
    ndarray of shape (M, N)
        Rows sum to 1. A row in which every label stands at 0 says nothing about its class: it
        becomes uniform, which decides as zeros would, for the lowest class.

    Examples
    --------
    >>> fill_unreported([[0.6, 0.2, 0.0]], [[0.6, 0.2, 0.2]], "ceiling")
    array([[0.6, 0.2, 0.2]])
    >>> fill_unreported([[0.6, 0.2, 0.0]], [[0.6, 0.2, 0.2]], "zero")
    array([[0.75, 0.25, 0.  ]])
    """
    check_choice("fill", policy, tuple(Fill))
    low, high = (np.asarray(bound, np.float64) for bound in (captured, ceiling))
    filled = low + _SHARE[Fill(policy)] * (high - low)
    sums = filled.sum(axis=1, keepdims=True)
    # Dividing by the largest first keeps rows of very small probabilities from underflowing.
    largest = filled.max(axis=1, keepdims=True)
    scaled = np.divide(filled, largest, out=np.ones_like(filled), where=sums > 0)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True), dtype=np.float64)


def open_decisions(captured: ArrayLike, ceiling: ArrayLike) -> Booleans:
    """Mark the rows whose decision depends on how unreported labels are filled.

    A row is marked if two fills within its bounds decide for different classes; a tie goes to the
    lowest class, as everywhere. Exact, since the bounds of the labels are free of each other: a
    class is decided for under every fill if and only if its least value beats the most of each
    other, and only the class with the largest least value can do so.

    Parameters
    ----------
    captured, ceiling : array-like of shape (M, N)
        As for `fill_unreported`.

    Returns
    -------
    ndarray of bool, shape (M,)
        Its sum is the count to report.

    Examples
    --------
    The second row's last label may be anything up to 0.3, which is more than 0.25.

    >>> open_decisions([[0.6, 0.2, 0.0], [0.25, 0.2, 0.0]], [[0.6, 0.2, 0.2], [0.25, 0.2, 0.3]])
    array([False,  True])
    """
    low, high = (np.asarray(bound, np.float64) for bound in (captured, ceiling))
    rows = np.arange(len(low))
    best = low.argmax(axis=1)
    least = low[rows, best][:, None]
    before = np.arange(low.shape[1]) < best[:, None]
    rivals = (high > least) | ((high == least) & before)
    rivals[rows, best] = False
    return np.asarray(rivals.any(axis=1), dtype=np.bool_)


def fill_rows(
    scores: Floats, ceiling: Floats | None, location: Location, policy: Fill | str = Fill.HALF
) -> tuple[Probabilities, dict[str, Any]]:
    """Fill what answers did not report, and normalise.

    Zeros that were reported stay: a decision on its way through the sidecar has them, too.

    Parameters
    ----------
    scores : ndarray of shape (M, N)
        Reported probability of each class, before normalising; 0 if unreported.
    ceiling : ndarray of shape (M, N) or None
        The most that each can be; None where all were reported.
    location : Location
        Names rows and classes in messages.
    policy : Fill or str
        As for `fill_unreported`.

    Returns
    -------
    probabilities : ndarray of shape (M, N)
    counts : dict
        The fields of an `ImportSummary` that follow from them.

    Raises
    ------
    InvalidInputError
        For a row that holds no probabilities.
    """
    counts: dict[str, Any] = {"n_open": 0, "n_normalised": 0, "decimals": None}
    if ceiling is None:
        p, off, _ = normalise_rows(scores, location)
        counts |= {"n_normalised": len(off), "decimals": decimals(scores)}
    else:
        p = fill_unreported(scores, ceiling, policy)
        counts["n_open"] = int(open_decisions(scores, ceiling).sum())
    counts["n_one_class"] = int((np.count_nonzero(p, axis=1) == 1).sum())
    n_tied = int((np.count_nonzero(p == p.max(axis=1, keepdims=True), axis=1) > 1).sum())
    return p, {**counts, "n_tied": n_tied}


def decimals(probabilities: Probabilities) -> int | None:
    """Return to how many decimals all probabilities are rounded, None if they are not.

    Examples
    --------
    >>> decimals(np.array([[0.25, 0.7, 0.05]])), decimals(np.array([[1 / 3, 2 / 3]]))
    (2, None)
    """
    for places in range(_MOST_DECIMALS + 1):
        if np.allclose(probabilities, np.round(probabilities, places), rtol=0, atol=1e-9):
            return places
    return None
