"""What a server did not say: filling unreported labels, and what the fill could decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.prompting.engines.base import Fill

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dnip.base.typing import Booleans, Floats, Probabilities


_SHARE = {Fill.ZERO: 0.0, Fill.HALF: 0.5, Fill.CEILING: 1.0}


def fill_unreported(
    captured: ArrayLike, ceiling: ArrayLike | None, policy: Fill | str = Fill.HALF
) -> Probabilities:
    """Return class probabilities, unreported labels filled in and rows normalised.

    Parameters
    ----------
    captured : array-like of shape (M, N)
        Reported probability of each label, before normalising over labels; 0 if unreported.
    ceiling : array-like of shape (M, N) or None
        The most that each label's probability can be; None where all labels were reported.
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
    if policy not in tuple(Fill):
        raise InvalidInputError(f"fill must be one of {', '.join(Fill)}; got {policy!r}")
    low, high = _bounds(captured, ceiling)
    filled = low + _SHARE[Fill(policy)] * (high - low)
    sums = filled.sum(axis=1, keepdims=True)
    # Dividing by the largest first keeps rows of very small probabilities from underflowing.
    largest = filled.max(axis=1, keepdims=True)
    scaled = np.divide(filled, largest, out=np.ones_like(filled), where=sums > 0)
    return np.asarray(scaled / scaled.sum(axis=1, keepdims=True), dtype=np.float64)


def open_decisions(
    captured: ArrayLike, ceiling: ArrayLike | None, weights: ArrayLike | None = None
) -> Booleans:
    """Mark the rows whose decision depends on how unreported labels are filled.

    A row is marked if two fills within its bounds decide for different classes; a tie goes to the
    lowest class, as everywhere. Exact, since the bounds of the labels are free of each other: a
    class is decided for under every fill if and only if its least value beats the most of each
    other, and only the class with the largest least value can do so.

    Parameters
    ----------
    captured, ceiling : array-like of shape (M, N)
        As for `fill_unreported`.
    weights : array-like of shape (N,), optional
        Positive class weights of the decision, such as weight indices.

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
    low, high = _bounds(captured, ceiling)
    if weights is not None:
        factor = np.asarray(weights, dtype=np.float64)
        if factor.shape != (low.shape[1],) or not (factor > 0).all():
            raise InvalidInputError(
                f"weights must be {low.shape[1]} positive numbers, one per class; got {weights!r}"
            )
        low, high = low * factor, high * factor
    rows = np.arange(len(low))
    best = low.argmax(axis=1)
    least = low[rows, best][:, None]
    before = np.arange(low.shape[1]) < best[:, None]
    rivals = (high > least) | ((high == least) & before)
    rivals[rows, best] = False
    return np.asarray(rivals.any(axis=1), dtype=np.bool_)


def _bounds(captured: ArrayLike, ceiling: ArrayLike | None) -> tuple[Floats, Floats]:
    low = np.asarray(captured, dtype=np.float64)
    high = low if ceiling is None else np.asarray(ceiling, dtype=np.float64)
    if low.ndim != 2 or high.shape != low.shape:
        raise InvalidInputError(
            f"captured and ceiling must be matrices of one shape (rows, labels); "
            f"got {low.shape} and {high.shape}"
        )
    sound = np.isfinite(low).all() and np.isfinite(high).all()
    if not sound or (low < 0).any() or (high < low).any():
        raise InvalidInputError("probabilities must be 0 or more, and at most their ceilings")
    return low, high
