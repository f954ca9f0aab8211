"""Calibrated log-odds, and the class shares of rows without labels that they tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Booleans, Floats, Probabilities
from dnip.tables.cells import check_probabilities

# A calibration does not distinguish probabilities below this.
_LEAST_PROBABILITY = 1e-7


@dataclass(frozen=True, eq=False)
class Calibration:
    """Calibrated log-odds s·(ln p + v) of classes that are equally frequent.

    Their exponentials are proportional to how probable a row is within each class, whatever the
    class mix: bias-corrected temperature scaling (Alexandari, Kundaje and Shrikumar 2020).

    Attributes
    ----------
    log_weights : ndarray of shape (N,)
        v.
    sharpness : float
        s, the inverse temperature.
    labels : ndarray of shape (N,)
        How many labels of each class they were learned from.

    Examples
    --------
    >>> calibration = Calibration(np.log([1.0, 4.0]), 1.0, np.array([50.0, 50.0]))
    >>> calibration.posterior(np.log([[0.8, 0.2]]))
    array([[0.5, 0.5]])
    """

    log_weights: Floats
    sharpness: float
    labels: Floats

    def __post_init__(self) -> None:
        if self.log_weights.shape != self.labels.shape:
            raise ValueError("log_weights and labels are not of the same classes")
        if not (0 < self.sharpness < np.inf) or (self.labels < 0).any():
            raise ValueError("a sharpness that is not above 0, or labels below 0")

    def posterior(self, log_p: Floats) -> Probabilities:
        """Return class probabilities of rows, were all classes equally frequent, (M, N)."""
        return softmax(self.sharpness * (log_p + self.log_weights))


def log_probabilities(probabilities: Probabilities) -> Floats:
    """Return ln p, where p below 10⁻⁷ counts as that.

    Examples
    --------
    >>> log_probabilities(np.array([[1.0, 0.0]])).round(1)
    array([[  0. , -16.1]])
    """
    return np.asarray(np.log(np.maximum(probabilities, _LEAST_PROBABILITY)), np.float64)


def to_power(probabilities: Probabilities, exponent: float) -> Probabilities:
    """Return p to a power, normalised to sum 1 per row; zeros stay zeros.

    Examples
    --------
    >>> to_power(np.array([[0.8, 0.2], [1.0, 0.0]]), 0.5).round(3)
    array([[0.667, 0.333],
           [1.   , 0.   ]])
    """
    if exponent == 1:
        return probabilities
    with np.errstate(divide="ignore"):
        return softmax(exponent * np.log(probabilities))


def centred(log_p: Floats) -> Floats:
    """Return log-probabilities less their mean over the classes, shape (M, N).

    Examples
    --------
    >>> centred(np.array([[-1.0, -3.0]]))
    array([[ 1., -1.]])
    """
    return np.asarray(log_p - log_p.mean(axis=1, keepdims=True))


def softmax(scores: Floats) -> Probabilities:
    """Return exp(scores) normalised to sum 1 per row, shape (M, N).

    Examples
    --------
    >>> softmax(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


#: Rows and cells that are used at most; of larger tables, a sample.
MOST_ROWS, MOST_CELLS = 20_000, 500_000

# Jeffreys' prior: half a row of each class, so that none is ruled out.
_HALF_A_ROW = 0.5
# Standard deviations on either side of 95% of a normal distribution.
_NORMAL_95 = 1.96

_MAX_ROUNDS = 1_000
_TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class PriorEstimate:
    """Class shares of rows without labels.

    Attributes
    ----------
    shares : ndarray of shape (N,)
        They sum to 1.
    low, high : ndarray of shape (N,)
        95% interval, from the noise of the rows and of the labels of the calibration; it assumes
        that the calibration has no other error.
    n_rows : int
        Rows that were used.
    """

    shares: Floats
    low: Floats
    high: Floats
    n_rows: int

    def differs_from(self, shares: Floats) -> Booleans:
        """Whether other shares are outside the interval, shape (N,)."""
        return np.asarray((shares < self.low) | (shares > self.high))

    def shrunk_to(self, shares: Floats) -> Floats:
        """Return the shares, moved toward others by the part of the way that is chance.

        The chance is that of James and Stein (1961): squared standard errors over the squared
        distance. No error is above √(s(1 - s)), as if the share were 0 or 1 and nothing known but
        its mean s. An estimate that tells nothing leaves the other shares as they are.

        Examples
        --------
        >>> estimated, half = np.array([0.7, 0.3]), np.array([0.5, 0.5])
        >>> for error in (0.1, 0.28, 0.5):
        ...     PriorEstimate(estimated, estimated - error, estimated + error, 80).shrunk_to(half)
        array([0.68698459, 0.31301541])
        array([0.59795918, 0.40204082])
        array([0.5, 0.5])
        """
        errors = np.maximum(self.shares - self.low, self.high - self.shares) / _NORMAL_95
        errors = np.minimum(errors, np.sqrt(self.shares * (1 - self.shares)))
        way = self.shares - shares
        distance, chance = float(way @ way), float(errors @ errors)
        return np.asarray(shares + way * (1 - chance / distance) if chance < distance else shares)

    def to_dict(self, classes: Sequence[str]) -> dict[str, Any]:
        """Return what ``--json`` prints and a coefficients file holds.

        Examples
        --------
        >>> shares = np.array([0.5, 0.5])
        >>> PriorEstimate(shares, shares - 0.1, shares + 0.1, 80).to_dict(["a", "b"])["high"]
        {'a': 0.6, 'b': 0.6}
        """
        named = {
            name: dict(zip(classes, values.tolist(), strict=True))
            for name, values in (("shares", self.shares), ("low", self.low), ("high", self.high))
        }
        return {**named, "rows": self.n_rows}


def most_rows(n_classes: int) -> int:
    """Return how many rows an estimate uses at most.

    Examples
    --------
    >>> most_rows(4), most_rows(100)
    (20000, 5000)
    """
    return min(MOST_ROWS, MOST_CELLS // n_classes)


def estimate_prior(probabilities: ArrayLike, calibration: Calibration) -> PriorEstimate:
    """Estimate how frequent the classes are among rows without labels.

    Expectation maximisation (Saerens, Latinne and Decaestecker 2002) on calibrated probabilities
    (Alexandari, Kundaje and Shrikumar 2020), with half a row of each class added.

    Parameters
    ----------
    probabilities : array-like of shape (M, N)
        As the model gives them; nothing is sampled here.
    calibration : Calibration
        What a fit has learned of the same model and prompt.

    Returns
    -------
    PriorEstimate

    Raises
    ------
    InvalidInputError
        For probabilities that break their contract, of other classes, or no row.

    Examples
    --------
    >>> p = [[0.9, 0.1]] * 80 + [[0.1, 0.9]] * 20
    >>> sharp = Calibration(np.zeros(2), 2.0, np.array([500.0, 500.0]))
    >>> estimate = estimate_prior(p, sharp)
    >>> estimate.shares.round(2), estimate.low.round(2), estimate.n_rows
    (array([0.8, 0.2]), array([0.72, 0.11]), 100)
    """
    p = check_probabilities(probabilities)
    n_rows, n_classes = p.shape
    if n_classes != len(calibration.log_weights):
        raise InvalidInputError(
            f"probabilities has {n_classes} columns, but the calibration has "
            f"{len(calibration.log_weights)} classes",
            hint="Give rows of the same task",
        )
    if n_rows == 0:
        raise InvalidInputError(
            "there are no rows to estimate the class shares from", hint="Give unlabelled rows"
        )
    posterior = calibration.posterior(log_probabilities(p))
    shares = likely_shares(posterior)
    error = _NORMAL_95 * _standard_errors(posterior, shares, calibration.labels)
    low, high = np.maximum(shares - error, 0.0), np.minimum(shares + error, 1.0)
    return PriorEstimate(shares, low, high, n_rows)


def _standard_errors(posterior: Probabilities, shares: Floats, labels: Floats) -> Floats:
    """Return the standard error of each share by the sandwich of a method of moments.

    The score of the likelihood is the mean of u = f/(π·f), f being the calibrated likelihoods of a
    row within the classes. Its noise is that of the rows, and that of the labels which tell what u
    is like within a class: as much as if class means of u had been taken from so many labels.
    """
    n_rows, n_classes = posterior.shape
    u = posterior / (posterior @ shares)[:, None]
    information = u.T @ u / n_rows
    centred = u - u.mean(axis=0)
    noise = centred.T @ centred / n_rows**2
    membership = u * shares
    mass = membership.sum(axis=0)
    chance = shares**2 / np.maximum(labels, _HALF_A_ROW)
    means = membership.T @ u / mass[:, None]
    noise += (u * (membership @ (chance / mass))[:, None]).T @ u - (
        means * chance[:, None]
    ).T @ means
    # Shares sum to 1: they move within the plane that is orthogonal to (1, …, 1).
    plane = np.linalg.svd(np.ones((1, n_classes)))[2][1:].T
    inverse = np.linalg.pinv(plane.T @ information @ plane)
    covariance = plane @ inverse @ (plane.T @ noise @ plane) @ inverse @ plane.T
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))


def likely_shares(posterior: Probabilities) -> Floats:
    """Return the likely class shares of rows, (N,), beside half a row of each class.

    Parameters
    ----------
    posterior : ndarray of shape (M, N)
        As for :func:`maximise_shares`.
    """
    n_classes = posterior.shape[1]
    even, extra = np.full(n_classes, 1 / n_classes), np.full(n_classes, _HALF_A_ROW)
    return maximise_shares(posterior, even, extra, rounds=_MAX_ROUNDS, tolerance=_TOLERANCE)


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


# Labels per class at which unlabelled rows count as much as the labels' own shares.
_HALFWAY = 30.0
# When expectation maximisation ends.
_EM_ROUNDS, _EM_TOLERANCE = 200, 1e-6


def label_shares(support: Floats) -> Floats:
    """Return the class shares that labels alone suggest, shape (N,).

    A class-balanced draw (numbers that differ by 1 at most) says nothing about the shares: then all
    are equal. Otherwise they are the posterior mean under Jeffreys' prior, (n_i + ½) / (n + N/2),
    so that no class is ruled out.

    Examples
    --------
    >>> label_shares(np.array([8.0, 1.0, 0.0])).round(2)
    array([0.81, 0.14, 0.05])
    """
    n_classes = len(support)
    if support.max() - support.min() <= 1:
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
        Shares to start from, and the mean of a Dirichlet prior on the shares. The prior weighs as
        much as the rows if a class has 30 labels on average. With fewer labels it weighs more,
        because the posterior is then too uncertain to give shares.
    support : ndarray of shape (N,)
        Labels of each class.
    weight : ndarray of shape (M,), optional
        How often each row counts.

    Examples
    --------
    >>> posterior = np.array([[0.99, 0.01]] * 8 + [[0.01, 0.99]] * 2)
    >>> update_shares(posterior, np.array([0.5, 0.5]), np.array([3e3, 3e3])).round(2)
    array([0.8, 0.2])
    """
    n_rows = len(posterior) if weight is None else weight.sum()
    extra = n_rows * _HALFWAY / support.mean() * prior
    return maximise_shares(
        posterior, prior, extra, weight, rounds=_EM_ROUNDS, tolerance=_EM_TOLERANCE
    )
