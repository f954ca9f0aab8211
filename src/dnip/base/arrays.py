"""Sums over the rows of an array, the same in every memory layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dnip.base.typing import Floats

# Entries of which running sums are held at once.
_MAX_ENTRIES = 1 << 18


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
