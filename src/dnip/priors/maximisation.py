"""Expectation maximisation for class shares: the one loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Probabilities


def maximise_shares(
    posterior: Probabilities,
    start: Floats,
    extra: Floats,
    weight: Floats | None = None,
    *,
    rounds: int,
    tolerance: float,
) -> Floats:
    """Return the class shares under which rows are most probable (Saerens et al. 2002).

    The likelihood is concave in the shares, so it does not matter where the search starts, but no
    share that starts at 0 ever leaves it.

    Parameters
    ----------
    posterior : ndarray of shape (M, N)
        Class probabilities of the rows as if all classes were equally frequent.
    start : ndarray of shape (N,)
        Shares to start from.
    extra : ndarray of shape (N,)
        Rows of each class to be counted beside those given: a Dirichlet prior.
    weight : ndarray of shape (M,), optional
        How often each row counts.
    rounds : int
        At most so many.
    tolerance : float
        The end comes when no share moves more than this in a round.

    Examples
    --------
    >>> posterior = np.array([[0.99, 0.01]] * 8 + [[0.01, 0.99]] * 2)
    >>> half = np.array([0.5, 0.5])
    >>> maximise_shares(posterior, half, np.zeros(2), rounds=200, tolerance=1e-6).round(2)
    array([0.81, 0.19])
    """
    shares = start
    for _ in range(rounds):
        joint = posterior * shares
        joint /= joint.sum(axis=1, keepdims=True)
        counts = (joint.sum(axis=0) if weight is None else weight @ joint) + extra
        updated = counts / counts.sum()
        moved = np.abs(updated - shares).max()
        shares = updated
        if moved < tolerance:
            break
    return shares
