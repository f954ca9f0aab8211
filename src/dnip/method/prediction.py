"""Which class wins a row, and the sums of rows: the same numbers in every memory layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dnip.base.typing import Floats, Probabilities, WeightIndices

# Entries of which running sums are held at once.
_MAX_ENTRIES = 1 << 18


def decide(
    probabilities: Probabilities, multipliers: WeightIndices | Floats | None = None
) -> NDArray[np.integer]:
    """Return argmax_n ξ_n·p_mn of each row, the lowest class on a tie.

    On a scale that is not linear the multipliers are ω_n, see `Coefficients.multipliers`.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
        Checked; rows or columns contiguous.
    multipliers : ndarray of shape (N,), optional
        ξ or ω; all 1 when left out.

    Returns
    -------
    ndarray of shape (M,)
        Class indices, in a type that is just wide enough where columns are contiguous.

    Examples
    --------
    >>> p = np.array([[0.4, 0.6], [0.25, 0.75], [0.5, 0.5]])
    >>> decide(p), decide(np.asfortranarray(p), np.array([3, 2]))
    (array([1, 1, 0]), array([0, 1, 0], dtype=uint8))
    """
    p = probabilities
    if p.flags.c_contiguous:
        scores = p if multipliers is None else multipliers * p
        return np.asarray(np.argmax(scores, axis=1))
    # numpy's argmax of short rows costs several times as much as whole columns do.
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


def row_sums(probabilities: NDArray[np.floating[Any]]) -> Floats:
    """Return the sum of each row, added up from the first class to the last.

    numpy's own sum depends on the memory layout in its last bit.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)

    Returns
    -------
    ndarray of shape (M,)
        Infinite or NaN where a row holds such numbers or overflows.

    Examples
    --------
    >>> row_sums(np.array([[0.25, 0.75], [1.0, 3.0]]))
    array([1., 4.])
    """
    p = probabilities
    sums = np.zeros(len(p))
    with np.errstate(over="ignore", invalid="ignore"):
        if p.flags.c_contiguous:
            step = max(1, _MAX_ENTRIES // max(1, p.shape[1]))
            for start in range(0, len(p), step):
                rows = slice(start, start + step)
                sums[rows] = np.cumsum(p[rows], axis=1, dtype=np.float64)[:, -1]
        else:
            for column in p.T:
                sums += column
    return sums
