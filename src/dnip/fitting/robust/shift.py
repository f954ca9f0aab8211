"""The smooth estimator: one additive log-weight per class and one temperature."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dnip.base.typing import Floats, Labels
from dnip.priors.calibration import Calibration, softmax
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
    >>> import numpy as np
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 20)
    >>> fitted = fit_shift(np.log(p), np.array([0, 1] * 20), np.ones(40), np.zeros(2))
    >>> fitted.log_weights.round(2)
    array([-0.64,  0.64])
    """
    support = np.bincount(labels, weight, len(prior)).astype(np.float64)
    if len(prior) > _MOST_CLASSES:
        return Calibration(prior - prior.mean(), 1.0, support)
    scores = log_p + prior
    balanced = _balance(weight, labels, scores.shape[1])
    pulls = _PULLS if pull is None else (pull,)
    judged = len(pulls) > 1
    found = fitted = _fit(scores, labels, balanced, pulls[0], None, deadline, judged=judged)
    for one in pulls[1:]:  # each begins where the one before ended
        if is_over(deadline):
            break
        fitted = _fit(scores, labels, balanced, one, fitted, deadline, judged=judged)
        found = max(found, fitted, key=lambda f: f.evidence)
    sharpness, delta = found.sharpness, found.delta
    shift = prior + delta / sharpness
    return Calibration(shift - shift.mean(), sharpness, support)


def _balance(weight: Floats, labels: Labels, n_classes: int) -> Floats:
    """Give every class that has labels the same part of the total weight."""
    support = np.bincount(labels, weight, n_classes)
    share = weight.sum() / np.count_nonzero(support)
    return np.asarray(weight * share / support[labels])


class _Fitted(NamedTuple):
    sharpness: float
    delta: Floats  # (N,)
    evidence: float  # log-probability of the labels under the prior; 0 if not needed


def _fit(
    scores: Floats,
    labels: Labels,
    weight: Floats,
    pull: float,
    start: _Fitted | None,
    deadline: float | None,
    *,
    judged: bool,
) -> _Fitted:
    given = scores, labels, weight, pull
    fitted = _newton(*given, start, deadline, hold_sharpness=False, judged=judged)
    if fitted.sharpness < _LEAST_SHARPNESS:
        fitted = _newton(*given, None, deadline, hold_sharpness=True, judged=judged)
    return fitted


def _newton(
    scores: Floats,
    labels: Labels,
    weight: Floats,
    pull: float,
    start: _Fitted | None,
    deadline: float | None,
    *,
    hold_sharpness: bool,
    judged: bool,
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
