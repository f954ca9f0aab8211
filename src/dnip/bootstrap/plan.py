"""How many more labels, of which classes, would settle a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dnip.typing import Floats, Integers

# More labels than this are no advice: the question is too close to call.
_MOST = 20_000
_HALVINGS = 60


def more_labels(sizes: Floats, variances: Floats, deviation: float) -> Integers | None:
    """Return the fewest more labels of each class that bring a standard error down.

    The variance of what is asked is Σ v_i/n_i, so a class is worth labels in proportion to √v_i
    (Neyman's allocation), and those that it has already are not taken away.

    Parameters
    ----------
    sizes : ndarray of shape (N,)
        Labels so far.
    variances : ndarray of shape (N,)
        v_i, what one label of the class leaves open.
    deviation : float
        The standard error to reach, above 0.

    Returns
    -------
    ndarray of shape (N,) or None
        None where more than 20,000 would be needed.

    References
    ----------
    Neyman, "On the two different aspects of the representative method" (1934).

    Examples
    --------
    >>> import numpy as np
    >>> more_labels(np.array([10.0, 10.0]), np.array([0.25, 0.01]), 0.1)
    array([18,  0])
    """
    goal = deviation**2
    if (variances / sizes).sum() <= goal:
        return np.zeros(len(sizes), np.int64)
    roots = np.sqrt(variances)
    low, high = 0.0, float(roots.sum() / goal)  # enough even if no class had labels
    for _ in range(_HALVINGS):
        factor = (low + high) / 2
        enough = (variances / np.maximum(sizes, factor * roots)).sum() <= goal
        low, high = (low, factor) if enough else (factor, high)
    more = np.ceil(np.maximum(high * roots - sizes, 0) - 1e-6).astype(np.int64)
    return more if more.sum() <= _MOST else None
