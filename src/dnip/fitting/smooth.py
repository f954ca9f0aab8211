"""The smooth estimator: log-weights and a temperature, and what they say of unlabelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dnip.base.typing import Floats, Labels, Probabilities
from dnip.method.problem import Problem, draw_per_class
from dnip.priors.estimate import (
    Calibration,
    label_shares,
    log_probabilities,
    softmax,
    to_power,
    update_shares,
)
from dnip.solvers.landscape import is_over

# Precisions of the prior on the shift to choose from: standard deviations of 3 to 0.1 in log-odds.
_PULLS = (100.0, 10.0, 1.0, 0.1)
# Precision of the prior on the inverse temperature around 1.
_SHARPNESS_PULL = 1.0
# Labels may contradict the probabilities, but never reverse their order.
_LEAST_SHARPNESS = 0.1

_MAX_STEPS = 50
_TOLERANCE = 1e-9

# Newton's method solves a system of so many classes at most. Of more, the prior is taken as it is.
_MOST_CLASSES = 500

# Rounds of balancing a batch of uneven class shares.
_ROUNDS = 10


def fit_shift(
    log_p: Floats,
    labels: Labels,
    weight: Floats,
    prior: Floats,
    pull: float | None = None,
    deadline: float | None = None,
) -> Calibration:
    """Fit by class-balanced log-loss, with an L2 pull of the log-odds to those of a prior.

    The scores s·(ln p + prior) + δ are linear in s and δ. So the loss is convex, and Newton's
    method finds its only minimum; the log-weights are prior + δ/s. The strength of the pull is the
    one that makes the labels most probable (empirical Bayes, by Laplace's approximation). Of more
    than 500 classes the prior is taken as it is.

    Parameters
    ----------
    log_p : ndarray of shape (M, N)
        ln p.
    labels : ndarray of shape (M,)
        Class indices.
    weight : ndarray of shape (M,)
        How much each example counts.
    prior : ndarray of shape (N,)
        Log-weights that the fit is pulled to.
    pull : float, optional
        Precision of the prior in log-odds; by default chosen from 0.1 to 100.
    deadline : float, optional
        A ``time.perf_counter`` reading after which no further step is made.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 20)
    >>> fitted = fit_shift(np.log(p), np.array([0, 1] * 20), np.ones(40), np.zeros(2))
    >>> fitted.log_weights.round(2)
    array([-0.64,  0.64])
    """
    n_classes = len(prior)
    support = np.bincount(labels, weight, n_classes).astype(np.float64)
    if n_classes > _MOST_CLASSES:
        return Calibration(prior - prior.mean(), 1.0, support)
    scores = log_p + prior
    # every class that has labels gets the same part of the total weight
    balanced = weight * (weight.sum() / np.count_nonzero(support)) / support[labels]
    pulls = _PULLS if pull is None else (pull,)
    fits: list[_Fitted] = []
    for precision in pulls:  # each begins where the one before ended
        problem = scores, labels, balanced, precision, len(pulls) > 1, deadline
        fitted = _newton(*problem, fits[-1] if fits else None)
        if fitted.sharpness < _LEAST_SHARPNESS:
            fitted = _newton(*problem, None, hold_sharpness=True)
        fits.append(fitted)
        if is_over(deadline):
            break
    best = max(fits, key=lambda fitted: fitted.evidence)
    shift = prior + best.delta / best.sharpness
    return Calibration(shift - shift.mean(), best.sharpness, support)


class _Fitted(NamedTuple):
    sharpness: float
    delta: Floats  # (N,)
    evidence: float  # log-probability of the labels under the prior; 0 if not needed


def _newton(
    scores: Floats,
    labels: Labels,
    weight: Floats,
    pull: float,
    judged: bool,
    deadline: float | None,
    start: _Fitted | None,
    *,
    hold_sharpness: bool = False,
) -> _Fitted:
    n_rows, n_classes = scores.shape
    rows = np.arange(n_rows)

    def loss(x: Floats) -> float:
        z = x[0] * scores + x[1:]
        top = z.max(axis=1)
        surprise = top + np.log(np.exp(z - top[:, None]).sum(axis=1)) - z[rows, labels]
        penalty = pull * (x[1:] ** 2).sum() + _SHARPNESS_PULL * (x[0] - 1) ** 2
        return float(weight @ surprise + penalty / 2)

    x = np.zeros(n_classes + 1)
    x[0] = 1.0
    if start is not None:
        x[0], x[1:] = start.sharpness, start.delta
    free = slice(int(hold_sharpness), None)
    if hold_sharpness:
        x[0] = _LEAST_SHARPNESS
    now = loss(x)
    for _ in range(_MAX_STEPS):
        q = softmax(x[0] * scores + x[1:])
        weighted = weight[:, None] * q
        mean = (q * scores).sum(axis=1)
        gradient = np.empty(n_classes + 1)
        residual = weighted.copy()
        residual[rows, labels] -= weight
        gradient[0] = (residual * scores).sum() + _SHARPNESS_PULL * (x[0] - 1)
        gradient[1:] = residual.sum(axis=0) + pull * x[1:]
        apart = scores - mean[:, None]
        curvature = np.empty((n_classes + 1, n_classes + 1))
        curvature[0, 0] = (weighted * apart**2).sum() + _SHARPNESS_PULL
        curvature[0, 1:] = curvature[1:, 0] = (weighted * apart).sum(axis=0)
        curvature[1:, 1:] = np.diag(weighted.sum(axis=0) + pull) - weighted.T @ q
        step = np.zeros(n_classes + 1)
        step[free] = np.linalg.solve(curvature[free, free], gradient[free])
        decrement = float(gradient @ step)
        length = 1.0
        while (then := loss(x - length * step)) > now - 1e-4 * length * decrement and length > 1e-6:
            length /= 2
        x, now = x - length * step, then
        if decrement < _TOLERANCE or is_over(deadline):
            break
    evidence = 0.0
    if judged:
        log_determinant = np.linalg.slogdet(curvature[free, free])[1]
        evidence = float(n_classes * np.log(pull) - log_determinant) / 2 - now
    return _Fitted(float(x[0]), x[1:], evidence)


def batch_shift(
    probabilities: Probabilities, shares: Floats, weight: Floats, deadline: float | None = None
) -> Floats:
    """Return log-weights that make the classes of a batch equally likely on average.

    Batch calibration (Zhou et al. 2024) divides by the mean probability of each class. That is
    right for classes of equal shares. If `shares` are uneven, each row counts inversely to the
    share of the class that it probably belongs to. The result is shrunk toward no change, by the
    part of its spread that is chance in a batch of this size (James and Stein 1961).

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    shares : ndarray of shape (N,)
        Class shares of the batch.
    weight : ndarray of shape (M,)
        How often each row counts.
    deadline : float, optional
        A ``time.perf_counter`` reading at which to stop with the best so far.

    Returns
    -------
    ndarray of shape (N,)
        Log-weights with mean 0.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.7, 0.3]] * 50)
    >>> batch_shift(p, np.array([0.5, 0.5]), np.ones(100)).round(2)
    array([-0.68,  0.68])
    """
    n_rows = weight.sum()
    average = weight @ probabilities / n_rows
    mean, shift = _level(average, n_rows)
    variance = weight @ (probabilities - average) ** 2 / n_rows
    chance = float((variance / mean**2).mean()) / n_rows
    if np.ptp(shares) > 0:
        log_p = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
        for _ in range(_ROUNDS):
            if is_over(deadline):
                break
            membership = weight[:, None] * softmax(log_p + shift + np.log(shares))
            # the mean of the classes' means, in which every class counts alike
            balanced = (membership / membership.sum(axis=0)).mean(axis=1)
            shift = _level(balanced @ probabilities, n_rows)[1]
    spread = float((shift**2).mean())
    return np.asarray(shift * max(0.0, 1 - chance / spread) if spread > 0 else shift)


def _level(average: Floats, n_rows: float) -> tuple[Floats, Floats]:
    """Return mean probabilities, and the log-weights that make them equal, with mean 0.

    Half a row of each class is added, so that one missing from the batch gets no huge weight.
    """
    mean = np.asarray((n_rows * average + 0.5) / (n_rows + len(average) / 2))
    shift = -np.log(mean)
    return mean, np.asarray(shift - shift.mean())


# How many labels the expected accuracy of a class counts as. Its error is about 0.09, as is that of
# the accuracy on 30 labels.
_EXPECTED_LABELS = 30.0
# Smaller memberships are left out: they are many rows that hardly count.
_LEAST_MEMBERSHIP = 0.005

#: Most labelled rows of a class that are used; and most labelled and unlabelled rows together.
ROWS_PER_CLASS, _ROWS = 4_000, 4_000


class _Smooth(NamedTuple):
    """Calibrated log-odds, and what they say about unlabelled rows."""

    support: Floats  # (N,) labels of each class
    batch: Floats  # (N,) log-weights of the prior
    log_weights: Floats  # (N,) classes without labels have the mean of the others
    sharpness: float  # inverse temperature
    shares: Floats  # (N,) class shares where the weights will be used
    expected: Problem  # labels, and all rows as what they may be, in the mix of these shares


def fit_smooth(
    probabilities: Probabilities,
    labels: Labels,
    weight: Floats,
    unlabelled: Probabilities,
    classes: Sequence[str],
    rng: np.random.Generator,
    target: Floats | None = None,
    deadline: float | None = None,
    *,
    exponent: float = 1.0,
    there: Floats | None = None,
) -> _Smooth:
    """Fit the smooth estimator to labels, with a pull to the batch calibration of all rows.

    Rows then count for every class that they may be of, beside their labels. The accuracy of a
    class is so a mean of the accuracy on its labels and of the expected accuracy on all rows, which
    counts as 30 labels.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.
    weight : ndarray of shape (M,)
        How often each example counts.
    unlabelled : ndarray of shape (U, N)
    classes : sequence of str
        Class names.
    rng : numpy.random.Generator
        For samples of large sets.
    target : ndarray of shape (N,), optional
        Class shares of the unlabelled rows and where the weights will be used, if known.
    deadline : float, optional
        A ``time.perf_counter`` reading at which to stop with the best so far.
    exponent : float, default=1.0
        Brings ln p to the spread that priors are made for; weights are those for p as it came.
    there : ndarray of shape (N,), optional
        Class shares of the unlabelled rows as far as they can be told, where `target` is not known.
    """
    n_classes = probabilities.shape[1]
    everything = np.concatenate([probabilities, unlabelled])
    counts = np.zeros(everything.shape)
    counts[np.arange(len(labels)), labels] = weight
    support = np.bincount(labels, weight, n_classes).astype(np.float64)
    sampled = np.arange(len(everything))
    if len(everything) > _ROWS:
        sampled = np.sort(rng.choice(len(everything), _ROWS, replace=False))
    weights = np.concatenate([weight, np.ones(len(unlabelled))])[sampled]
    prior_shares = label_shares(support)
    known = there if target is None else target
    if known is not None:
        mixed = support + 0.5 + len(unlabelled) * known
        prior_shares = mixed / mixed.sum()
    common = to_power(everything[sampled], exponent)
    batch = batch_shift(common, prior_shares, weights, deadline)

    drawn = draw_per_class(labels, n_classes, rng, ROWS_PER_CLASS)
    log_p = log_probabilities(to_power(probabilities[drawn], exponent))
    shift = fit_shift(log_p, labels[drawn], weight[drawn], batch, deadline=deadline)
    middle = shift.log_weights[support > 0].mean()
    log_weights = np.where(support > 0, shift.log_weights, middle)

    posterior = shift.posterior(log_probabilities(common))
    shares = target
    if shares is None:
        shares = update_shares(posterior, prior_shares, support, weights)
    membership = posterior * np.where(shares > 0, shares, np.finfo(np.float64).tiny)
    membership /= membership.sum(axis=1, keepdims=True)
    if not is_over(deadline):
        matters = (membership >= _LEAST_MEMBERSHIP) & counts.any(axis=0)
        expected = np.where(matters, membership, 0.0) * weights[:, None]
        total = expected.sum(axis=0)
        counts[sampled] += _EXPECTED_LABELS * expected / np.where(total > 0, total, 1.0)
    seen = counts.sum(axis=0)
    factors = np.where(seen > 0, shares, 0.0) / np.where(seen > 0, seen, 1.0)
    counts = counts * factors * (seen.sum() / (factors * seen).sum())
    counted = counts.any(axis=1)
    return _Smooth(
        support,
        batch / exponent,
        log_weights / exponent,
        shift.sharpness * exponent,
        shares,
        Problem.shared(everything[counted], counts[counted], classes),
    )
