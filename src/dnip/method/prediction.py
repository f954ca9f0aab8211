"""What is predicted (equation 3): which class wins a row, the same in every memory layout."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dnip.base.typing import Floats, Probabilities, WeightIndices
from dnip.tables.cells import row_sums


def decide(
    probabilities: Probabilities, multipliers: WeightIndices | Floats | None = None
) -> NDArray[np.integer]:
    """Return argmax_n ξ_n·p_mn of each row; a tie goes to the lowest class.

    Every part of the package predicts by this rule. On a scale that is not linear, ω_n replaces
    ξ_n; see `Coefficients.multipliers`.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
        Checked; rows or columns contiguous.
    multipliers : ndarray of shape (N,), optional
        ξ or ω; all 1 by default.

    Returns
    -------
    ndarray of shape (M,)
        Class indices, in the smallest type that holds them if columns are contiguous.

    Examples
    --------
    >>> p = np.array([[0.4, 0.6], [0.25, 0.75], [0.5, 0.5]])
    >>> decide(p), decide(np.asfortranarray(p), np.array([3, 2]))
    (array([1, 1, 0]), array([0, 1, 0], dtype=uint8))
    """
    p = probabilities
    if p.flags.c_contiguous:
        scores = p if multipliers is None else multipliers * p
        return np.asarray(scores.argmax(axis=1))
    # for short rows, numpy's argmax takes several times as long as work on whole columns
    n_classes = p.shape[1]
    factors = np.ones(n_classes) if multipliers is None else multipliers.astype(np.float64)
    best = factors[0] * p[:, 0]
    score, ahead = np.empty_like(best), np.empty(len(p), np.bool_)
    kind = np.min_scalar_type(n_classes - 1).type
    winner = np.zeros(len(p), kind)
    for n in range(1, n_classes):
        np.multiply(p[:, n], factors[n], out=score)
        np.greater(score, best, out=ahead)  # a tie stays with the lower class
        np.maximum(score, best, out=best)
        np.maximum(winner, ahead * kind(n), out=winner)
    return winner


def reweight(probabilities: Probabilities, multipliers: WeightIndices | Floats) -> Probabilities:
    """Return ξ_n·p_mn, or ω_n·p_mn, divided by its sum over the row.

    Examples
    --------
    >>> reweight(np.array([[0.4, 0.6]]), np.array([3, 2]))
    array([[0.5, 0.5]])
    """
    scores = np.multiply(multipliers.astype(np.float64), probabilities)
    scores /= row_sums(scores)[:, None]
    return scores
