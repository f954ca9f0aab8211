"""The smooth estimator: log-weights and a temperature, and what they say of unlabelled rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from dnip.base.typing import Booleans, Floats, Integers, Labels, Probabilities
from dnip.method.problem import Problem
from dnip.priors.estimate import (
    Calibration,
    label_shares,
    log_probabilities,
    softmax,
    to_power,
    update_shares,
)
from dnip.solvers.landscape import is_over
from dnip.tables.splitting import draw_per_class

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
    found = fitted = None
    for one in pulls:  # each begins where the one before ended
        given = scores, labels, balanced, one, len(pulls) > 1, deadline
        fitted = _newton(*given, fitted)
        if fitted.sharpness < _LEAST_SHARPNESS:
            fitted = _newton(*given, None, hold_sharpness=True)
        found = fitted if found is None else max(found, fitted, key=lambda f: f.evidence)
        if is_over(deadline):
            break
    assert found is not None
    shift = prior + found.delta / found.sharpness
    return Calibration(shift - shift.mean(), found.sharpness, support)


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
    mean = _smooth(average, n_rows)
    variance = weight @ (probabilities - average) ** 2 / n_rows
    chance = float((variance / mean**2).mean()) / n_rows
    shift = _against(mean)
    if np.ptp(shares) > 0:
        log_p = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
        for _ in range(_ROUNDS):
            if is_over(deadline):
                break
            membership = weight[:, None] * softmax(log_p + shift + np.log(shares))
            # the mean of the classes' means, in which every class counts alike
            part = (membership / membership.sum(axis=0)).mean(axis=1)
            shift = _against(_smooth(part @ probabilities, n_rows))
    spread = float((shift**2).mean())
    return np.asarray(shift * max(0.0, 1 - chance / spread) if spread > 0 else shift)


def _smooth(mean: Floats, n_rows: float) -> Floats:
    """Add half a row of each class, so that a class missing from the batch gets no huge weight."""
    return np.asarray((n_rows * mean + 0.5) / (n_rows + len(mean) / 2))


def _against(mean: Floats) -> Floats:
    shift = -np.log(mean)
    return np.asarray(shift - shift.mean())


# How many labels the expected accuracy of a class counts as. Its error is about 0.09, as is that of
# the accuracy on 30 labels.
_EXPECTED_LABELS = 30.0
# Smaller memberships are left out: they are many rows that hardly count.
_LEAST_MEMBERSHIP = 0.005


class CountedRows(NamedTuple):
    """Rows, and as how many labels of each class each row counts.

    Examples
    --------
    >>> p = np.array([[0.8, 0.2], [0.4, 0.6]])
    >>> CountedRows.of(p, np.array([0, 1]), np.ones(2)).counts
    array([[1., 0.],
           [0., 1.]])
    """

    probabilities: Probabilities  # (R, N)
    counts: Floats  # (R, N)

    @classmethod
    def of(cls, probabilities: Probabilities, labels: Labels, weight: Floats) -> Self:
        """Return rows of which the first have labels."""
        counts = np.zeros(probabilities.shape)
        counts[np.arange(len(labels)), labels] = weight
        return cls(probabilities, counts)

    def with_expected(self, membership: Probabilities, weight: Floats, rows: Integers) -> Self:
        """Let rows count for every class that they may be of, beside their labels.

        The accuracy of a class is then a mean of the accuracy on its labels and of the expected
        accuracy on these rows, which counts as 30 labels.

        Parameters
        ----------
        membership : ndarray of shape (M, N)
            How probably each row is of each class.
        weight : ndarray of shape (M,)
            How much each row counts.
        rows : ndarray of shape (M,)
            Their places.
        """
        if not np.allclose(membership.sum(axis=1), 1):
            raise ValueError("the memberships of a row must sum to 1")
        present = self.counts.any(axis=0)
        part = np.where((membership >= _LEAST_MEMBERSHIP) & present, membership, 0.0)
        part *= weight[:, None]
        total = part.sum(axis=0)
        counts = self.counts.copy()
        counts[rows] += _EXPECTED_LABELS * part / np.where(total > 0, total, 1.0)
        return self._replace(counts=counts)

    def as_problem(self, classes: Sequence[str], shares: Floats) -> Problem:
        """Return the rows as a problem whose classes have the given shares."""
        support = self.counts.sum(axis=0)
        part = np.where(support > 0, shares, 0.0) / np.where(support > 0, support, 1.0)
        counts = self.counts * part * (support.sum() / (part * support).sum())
        counted = counts.any(axis=1)
        return Problem.shared(self.probabilities[counted], counts[counted], classes)


#: Most labelled rows of a class that are used; and most labelled and unlabelled rows together.
ROWS_PER_CLASS, _ROWS = 4_000, 4_000


class Smooth(NamedTuple):
    """Calibrated log-odds, and what they say about unlabelled rows."""

    support: Floats  # (N,) labels of each class
    batch: Floats  # (N,) log-weights of the prior
    log_weights: Floats  # (N,) classes without labels have the mean of the others
    sharpness: float  # inverse temperature
    shares: Floats  # (N,) class shares where the weights will be used
    rows: CountedRows  # labels, and unlabelled rows in expectation

    @property
    def present(self) -> Booleans:
        """Whether each class has labels, shape (N,)."""
        return self.support > 0


def fit_smooth(
    probabilities: Probabilities,
    labels: Labels,
    weight: Floats,
    unlabelled: Probabilities,
    rng: np.random.Generator,
    target: Floats | None = None,
    deadline: float | None = None,
    *,
    exponent: float = 1.0,
    there: Floats | None = None,
) -> Smooth:
    """Fit the smooth estimator to labels, with a pull to the batch calibration of all rows.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.
    weight : ndarray of shape (M,)
        How often each example counts.
    unlabelled : ndarray of shape (U, N)
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
    rows = CountedRows.of(np.concatenate([probabilities, unlabelled]), labels, weight)
    support = np.bincount(labels, weight, n_classes).astype(np.float64)
    sampled = _sample(len(rows.counts), rng)
    everywhere = rows.probabilities[sampled]
    count = np.concatenate([weight, np.ones(len(unlabelled))])[sampled]
    prior_shares = label_shares(support)
    known = there if target is None else target
    if known is not None:
        mixed = support + 0.5 + len(unlabelled) * known
        prior_shares = mixed / mixed.sum()
    common = to_power(everywhere, exponent)
    batch = batch_shift(common, prior_shares, count, deadline)

    drawn = draw_per_class(labels, n_classes, rng, ROWS_PER_CLASS)
    log_p = log_probabilities(to_power(probabilities[drawn], exponent))
    shift = fit_shift(log_p, labels[drawn], weight[drawn], batch, deadline=deadline)
    middle = shift.log_weights[support > 0].mean()
    log_weights = np.where(support > 0, shift.log_weights, middle)

    posterior = shift.posterior(log_probabilities(common))
    shares = target
    if shares is None:
        shares = update_shares(posterior, prior_shares, support, count)
    membership = posterior * np.where(shares > 0, shares, np.finfo(np.float64).tiny)
    membership /= membership.sum(axis=1, keepdims=True)
    if not is_over(deadline):
        rows = rows.with_expected(membership, count, sampled)
    sharpness = shift.sharpness * exponent
    return Smooth(support, batch / exponent, log_weights / exponent, sharpness, shares, rows)


def _sample(n_rows: int, rng: np.random.Generator) -> Integers:
    """Return the places of all rows, or of a sample."""
    if n_rows <= _ROWS:
        return np.arange(n_rows)
    return np.sort(rng.choice(n_rows, _ROWS, replace=False))
