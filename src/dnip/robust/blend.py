"""How far the labels are trusted against the smooth estimator, class by class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dnip.typing import Booleans, Floats

# Standard deviations that the way from the smooth estimator to the optimum may have, in log-odds:
# all are equally likely on a logarithmic scale.
_SPREADS = np.geomspace(0.15, 1.0, 25)


def trust_labels(accuracies: Floats, support: Floats, slopes: Floats) -> Floats:
    """Return how much of the way from the smooth estimator to the optimum each class goes.

    Empirical Bayes: to be as accurate as the others, class i needs g_i ~ N(0, σ²) more log-odds
    than the smooth estimator gives it. So its accuracy there is m - s_i·g_i, s_i being its slope,
    and it is observed with variance V_i = ā(1 - ā)/n_i. The part of an observed gap that is real
    is s_i²σ²/(s_i²σ² + V_i), averaged over the posterior of σ given all classes. It grows to 1 with
    the labels of a class: sooner where accuracies differ by more than chance, later where a change
    of weights moves few rows.

    Parameters
    ----------
    accuracies : ndarray of shape (N,)
        Part of the labels of each class that the smooth estimator predicts.
    support : ndarray of shape (N,)
        Labels of each class.
    slopes : ndarray of shape (N,)
        Accuracy of each class that a unit of log-odds moves, above 0.

    Returns
    -------
    ndarray of shape (N,)
        Between 0 and 1; 0 for a class without labels.

    Examples
    --------
    >>> import numpy as np
    >>> for n in (3, 30, 300, 3000):
    ...     trust = trust_labels(np.array([0.8, 0.5]), np.array([n, n]), np.array([0.2, 0.1]))
    ...     print(trust.round(2))
    [0.1  0.03]
    [0.55 0.28]
    [0.96 0.87]
    [1.   0.99]
    """
    present = support > 0
    observed, n = accuracies[present], support[present]
    typical = (observed.sum() + 0.5) / (len(n) + 1)
    chance = typical * (1 - typical) / n
    real = (_SPREADS[:, None] * slopes[present]) ** 2
    precision = 1 / (real + chance)
    mean = (precision * observed).sum(axis=1) / precision.sum(axis=1)
    log_likelihood = (
        np.log(precision).sum(axis=1)
        - np.log(precision.sum(axis=1))
        - (precision * (observed - mean[:, None]) ** 2).sum(axis=1)
    ) / 2
    likelihood = np.exp(log_likelihood - log_likelihood.max())
    trust = np.zeros(len(support))
    trust[present] = likelihood @ (real * precision) / likelihood.sum()
    return trust


def blend(smooth: Floats, optimum: Floats, trust: Floats, present: Booleans) -> Floats:
    """Return log-weights between two estimates; classes without labels stay in their middle.

    Only differences of log-weights matter, so the two are laid on each other first, where the
    trust lies.

    Parameters
    ----------
    smooth, optimum : ndarray of shape (N,)
        Log-weights.
    trust : ndarray of shape (N,)
        How much of the way from `smooth` to `optimum` each class goes.
    present : ndarray of shape (N,)
        Whether each class has labels.

    Examples
    --------
    >>> import numpy as np
    >>> blend(np.zeros(3), np.array([0.4, -0.4, 9.0]), np.array([0.5, 0.5, 0]), np.arange(3) < 2)
    array([ 0.2, -0.2,  0. ])
    """
    difference = optimum - smooth
    difference = difference - (trust @ difference) / max(trust.sum(), np.finfo(np.float64).tiny)
    blended = smooth + trust * difference
    blended[~present] = blended[present].mean()
    return np.asarray(blended)
