"""Class shares: what labels tell of them, and what unlabelled rows add."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnip.priors.estimate import maximise_shares

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Probabilities

# Labels per class at which unlabelled rows count as much as the labels' own shares.
_HALFWAY = 30.0

_MAX_ROUNDS = 200
_TOLERANCE = 1e-6


def is_balanced(support: Floats) -> bool:
    """Whether labels were drawn class by class: their numbers differ by one example at most.

    Examples
    --------
    >>> import numpy as np
    >>> is_balanced(np.array([3.0, 2.0, 3.0])), is_balanced(np.array([8.0, 1.0, 0.0]))
    (True, False)
    """
    return bool(support.max() - support.min() <= 1)


def label_shares(support: Floats) -> Floats:
    """Return the class shares that labels alone suggest, shape (N,).

    A class-balanced draw tells nothing of the shares: all are equal then. Otherwise they are the
    posterior mean under Jeffreys' prior, (n_i + ½) / (n + N/2), so that no class is ruled out.

    Examples
    --------
    >>> import numpy as np
    >>> label_shares(np.array([8.0, 1.0, 0.0])).round(2)
    array([0.81, 0.14, 0.05])
    """
    n_classes = len(support)
    if is_balanced(support):
        return np.full(n_classes, 1 / n_classes)
    return np.asarray((support + 0.5) / (support.sum() + n_classes / 2))


def update_shares(
    posterior: Probabilities, prior: Floats, support: Floats, weight: Floats | None = None
) -> Floats:
    """Return the class shares of unlabelled rows by expectation maximisation (Saerens et al. 2002).

    Parameters
    ----------
    posterior : ndarray of shape (M, N)
        Class probabilities of the rows as if all classes were equally frequent.
    prior : ndarray of shape (N,)
        Shares to start from and to be drawn to, in the manner of a Dirichlet prior. It weighs as
        much as the rows where a class has 30 labels on average: with fewer, the posterior itself
        is too uncertain to tell shares from it.
    support : ndarray of shape (N,)
        Labels of each class.
    weight : ndarray of shape (M,), optional
        How often each row counts.

    Examples
    --------
    >>> import numpy as np
    >>> posterior = np.array([[0.99, 0.01]] * 8 + [[0.01, 0.99]] * 2)
    >>> update_shares(posterior, np.array([0.5, 0.5]), np.array([3e3, 3e3])).round(2)
    array([0.8, 0.2])
    """
    n_rows = len(posterior) if weight is None else weight.sum()
    extra = n_rows * _HALFWAY / support.mean() * prior
    return maximise_shares(
        posterior, prior, extra, weight, rounds=_MAX_ROUNDS, tolerance=_TOLERANCE
    )
