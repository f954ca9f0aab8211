"""Class accuracies as draws from a distribution of their own: a random-effects model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from dnip.base.typing import Floats

# Standard deviations that true class accuracies may have among each other, on the angular scale
# (0 to π/2); all are equally likely.
_SPREADS = np.concatenate([[0.0], np.geomspace(0.004, 0.8, 60)])
_STEPS = np.gradient(_SPREADS)
# Where the rows show no chance at all, equal accuracies leave all of it open.
_TINY = 1e-12


def draw_accuracies(
    hits: Floats,
    sizes: Floats,
    n_draws: int,
    rng: np.random.Generator,
    *,
    followed: float = 0.0,
    jitter: ArrayLike = 0.0,
) -> Floats:
    """Draw what the true class accuracies may be, given few rows of each class.

    The accuracies x_i of rows, as angles arcsin √x so that their variance V_i = 1/(4n_i + 2) is
    known, are the true ones plus chance e_i. The true ones lie around a common mean, with an
    unknown standard deviation. Gaps are shrunk as far as chance explains them.

    Coefficients that were fitted on the same rows have followed chance: they raise a class that was
    unlucky. Then the observed accuracy is x_i = d_i + (1 - κ)·e_i, and the true one is
    d_i - κ·e_i. At an optimum, κ = 1: the rows show no chance at all, and the true accuracies
    scatter around the observed ones as those of a new sample would.

    Parameters
    ----------
    hits, sizes : ndarray of shape (N,)
        Rows predicted right, and all rows, of each class; at least one row of each.
    n_draws : int
    rng : numpy.random.Generator
    followed : float, default=0
        κ, 0 to 1; 0 for coefficients that are independent of the rows.
    jitter : array-like of shape (N,), default=0
        Variance of the true accuracies, as angles, that the fit has made itself; not shrunk.

    Returns
    -------
    ndarray of shape (n_draws, N)

    References
    ----------
    Gelman, "Prior distributions for variance parameters in hierarchical models" (2006).

    Examples
    --------
    >>> hits, sizes, rng = np.array([9.0, 7.0, 6.0]), np.full(3, 10.0), np.random.default_rng(0)
    >>> draws = draw_accuracies(hits, sizes, 1000, rng)
    >>> draws.shape, draws.mean(axis=0).round(1)
    ((1000, 3), array([0.8, 0.7, 0.6]))
    """
    observed = np.arcsin(np.sqrt((hits + 0.375) / (sizes + 0.75)))
    chance = 1 / (4 * sizes + 2)
    left = (1 - followed) ** 2 * chance
    real = _SPREADS[:, None] ** 2 + np.asarray(jitter) + _TINY
    precision = 1 / (real + left)
    mean = (precision * observed).sum(axis=1) / precision.sum(axis=1)
    log_likelihood = (
        np.log(precision).sum(axis=1)
        - np.log(precision.sum(axis=1))
        - (precision * (observed - mean[:, None]) ** 2).sum(axis=1)
    ) / 2
    likelihood = _STEPS * np.exp(log_likelihood - log_likelihood.max())
    spread = rng.choice(len(_SPREADS), n_draws, p=likelihood / likelihood.sum())

    total = real[spread] + left
    middle = mean[spread] + rng.standard_normal(n_draws) / np.sqrt((1 / total).sum(axis=1))
    # given x_i, spread and mean: a normal variable, by the rule of joint normal ones
    kept = (real[spread] - followed * (1 - followed) * chance) / total
    deviation = np.sqrt(chance * real[spread] / total)
    angles = middle[:, None] + kept * (observed - middle[:, None])
    angles += deviation * rng.standard_normal(angles.shape)
    return np.asarray(np.sin(angles.clip(0, np.pi / 2)) ** 2)
