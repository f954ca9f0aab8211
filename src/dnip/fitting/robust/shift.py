"""The smooth estimator: one additive log-weight per class and one temperature."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.fitting.robust.curvature import Curvature
from dnip.priors.calibration import Calibration, softmax

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Labels

# Precisions of the prior on the shift to choose from: standard deviations of 3 to 0.1 in log-odds.
_PULLS = (100.0, 10.0, 1.0, 0.1)
# Precision of the prior on the inverse temperature around 1.
_SHARPNESS_PULL = 1.0
# Labels may contradict the probabilities, but never turn their order around.
_LEAST_SHARPNESS = 0.1

_MAX_STEPS = 50
_TOLERANCE = 1e-9


def fit_shift(
    log_p: Floats,
    labels: Labels,
    weight: Floats,
    prior: Floats,
    pull: float | None = None,
    deadline: float | None = None,
) -> Calibration:
    """Fit by class-balanced log-loss, with an L2 pull of the log-odds to those of a prior.

    The scores s·(ln p + prior) + δ are linear in s and δ, so the loss is convex and Newton's
    method finds its one minimum; v = prior + δ/s. How strong the pull is, the labels say: the one
    under which they are most probable is taken (empirical Bayes, by Laplace's approximation).

    Parameters
    ----------
    log_p : ndarray of shape (M, N)
        ln p.
    labels : ndarray of shape (M,)
        Class indices.
    weight : ndarray of shape (M,)
        How much each example counts.
    prior : ndarray of shape (N,)
        Log-weights to be drawn to.
    pull : float, optional
        Precision of the prior in log-odds; chosen from 0.1 to 100 if left out.
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
    scores = log_p + prior
    balanced = _balance(weight, labels, scores.shape[1])
    pulls = _PULLS if pull is None else (pull,)
    judged = len(pulls) > 1
    found = fitted = _fit(scores, labels, balanced, pulls[0], None, deadline, judged=judged)
    for one in pulls[1:]:  # each begins where the one before ended
        if _is_over(deadline):
            break
        fitted = _fit(scores, labels, balanced, one, fitted, deadline, judged=judged)
        found = max(found, fitted, key=lambda f: f.evidence)
    sharpness, delta = found.sharpness, found.delta
    shift = prior + delta / sharpness
    support = np.bincount(labels, weight, len(shift)).astype(np.float64)
    return Calibration(shift - shift.mean(), sharpness, support)


def _balance(weight: Floats, labels: Labels, n_classes: int) -> Floats:
    """Give every class that has labels the same part of the total weight."""
    support = np.bincount(labels, weight, n_classes)
    share = weight.sum() / np.count_nonzero(support)
    return np.asarray(weight * share / support[labels])


class _Fitted(NamedTuple):
    sharpness: float
    delta: Floats  # (N,)
    evidence: float  # log-probability of the labels under the prior; 0 where nobody asks for it


def _is_over(deadline: float | None) -> bool:
    return deadline is not None and time.perf_counter() >= deadline


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
        curvature = Curvature(
            (weighted * apart**2).sum() + _SHARPNESS_PULL,
            (weighted * apart).sum(axis=0),
            weighted.sum(axis=0) + pull,
            weighted,
            q,
            held=hold_sharpness,
        )
        step = curvature.solve(gradient, deadline)
        decrement = float(gradient @ step)
        length = 1.0
        while (then := loss(x - length * step)) > now - 1e-4 * length * decrement and length > 1e-6:
            length /= 2
        x, now = x - length * step, then
        if decrement < _TOLERANCE or _is_over(deadline):
            break
    evidence = 0.0
    if judged:
        evidence = float(n_classes * np.log(pull) - curvature.log_determinant()) / 2 - now
    return _Fitted(float(x[0]), x[1:], evidence)
