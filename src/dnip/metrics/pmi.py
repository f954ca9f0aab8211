"""Pointwise mutual information between being a class and being predicted as it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.typing import Floats
from dnip.base.validation import check_number
from dnip.metrics.confusion import as_counts

# μ as a part of the examples: 4000, as in the authors' code, at the paper's 10,000.
_PART = 0.4


def smoothing_over(n_examples: float) -> float:
    """Return the μ that smooths M examples as 4000 smooths 10,000.

    Examples
    --------
    >>> smoothing_over(500)
    200.0
    """
    return _PART * n_examples


def pmi(confusion: ArrayLike, smoothing: float | None = None) -> Floats:
    """PMI_j of predicting class j and being class j, natural logarithm (section 4.1).

    With add-μ smoothing on counts, N classes and M examples: joint ``(n_jj + μ)/(M + μN²)``,
    predicted ``(n_·j + μ)/(M + μN)``, true ``(n_j· + μ)/(M + μN)``.

    A class that is never predicted gets about log(M/n_j) where μ is small beside M: as much as one
    that is always right. So PMI alone does not tell a good class from a silent one.

    Parameters
    ----------
    confusion : array-like of shape (N, N)
        Counts, rows true, columns predicted.
    smoothing : float, optional
        μ, above 0; 0.4·M if left out.

    Returns
    -------
    ndarray of shape (N,)

    Raises
    ------
    InvalidInputError
        If `smoothing` is not above 0: a class that is never predicted right has no logarithm.

    Examples
    --------
    >>> pmi([[8, 2], [2, 8]], smoothing=1.0).round(3)
    array([0.405, 0.405])
    """
    counts = as_counts(confusion)
    n = len(counts)
    m = counts.sum()
    mu = smoothing_over(m) if smoothing is None else check_number("smoothing", smoothing, above=0)
    joint = (np.diag(counts) + mu) / (m + mu * n**2)
    predicted = (counts.sum(axis=0) + mu) / (m + mu * n)
    true = (counts.sum(axis=1) + mu) / (m + mu * n)
    return np.asarray(np.log(joint / (predicted * true)))
