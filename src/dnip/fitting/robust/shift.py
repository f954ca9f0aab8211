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

# Up to so many classes, the matrix of second derivatives is made and solved. For more it would be
# too large, and conjugate gradients need only its products with vectors.
_MOST_CLASSES = 500
_MAX_ROUNDS = 200
# Conjugate gradients end at this part of the first residual; Newton's method corrects the rest.
_NEAR = 1e-8


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
    one that makes the labels most probable (empirical Bayes, by Laplace's approximation).

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
        if decrement < _TOLERANCE or is_over(deadline):
            break
    evidence = 0.0
    if judged:
        evidence = float(n_classes * np.log(pull) - curvature.log_determinant()) / 2 - now
    return _Fitted(float(x[0]), x[1:], evidence)


class Curvature(NamedTuple):
    """The positive definite matrix [[corner, edge], [edge, diag(diagonal) - weightedᵀ·q]].

    If `held`, the first parameter is fixed: its step is 0.
    """

    corner: float
    edge: Floats  # (N,)
    diagonal: Floats  # (N,)
    weighted: Floats  # (M, N) q, times the weight of each row
    q: Floats  # (M, N)
    held: bool

    def solve(self, gradient: Floats, deadline: float | None = None) -> Floats:
        """Return the matrix's inverse times a vector of shape (N + 1,).

        After `deadline`, a ``time.perf_counter`` reading, it is the approximation so far, which is
        still a direction in which the loss falls.
        """
        if len(self.edge) > _MOST_CLASSES:
            return self._approach(gradient, deadline)
        free = slice(int(self.held), None)
        step = np.zeros(len(gradient))
        step[free] = np.linalg.solve(self._whole()[free, free], gradient[free])
        return step

    def log_determinant(self) -> float:
        """Return the logarithm of the determinant, without the first row and column if `held`."""
        n_rows, n_classes = self.q.shape
        if n_classes <= max(_MOST_CLASSES, n_rows):
            free = slice(int(self.held), None)
            return float(np.linalg.slogdet(self._whole()[free, free])[1])
        # det(D - WᵀQ) = det(D)·det(1 - Q·D⁻¹·Wᵀ), a matrix of the few rows
        inner = np.eye(n_rows) - (self.q / self.diagonal) @ self.weighted.T
        found = np.log(self.diagonal).sum() + np.linalg.slogdet(inner)[1]
        if not self.held:
            beside = self._replace(held=True)._approach(np.concatenate(([0.0], self.edge)), None)
            found += np.log(self.corner - self.edge @ beside[1:])
        return float(found)

    def _whole(self) -> Floats:
        n_classes = len(self.edge)
        whole = np.empty((n_classes + 1, n_classes + 1))
        whole[0, 0] = self.corner
        whole[0, 1:] = whole[1:, 0] = self.edge
        whole[1:, 1:] = np.diag(self.diagonal) - self.weighted.T @ self.q
        return whole

    def _times(self, x: Floats) -> Floats:
        rest = self.diagonal * x[1:] - (self.q @ x[1:]) @ self.weighted
        if self.held:
            return np.concatenate(([0.0], rest))
        first = self.corner * x[0] + self.edge @ x[1:]
        return np.concatenate(([first], rest + self.edge * x[0]))

    def _approach(self, gradient: Floats, deadline: float | None) -> Floats:
        """Solve by conjugate gradients, each parameter scaled by its own curvature."""
        scale = np.concatenate(([self.corner], self.diagonal))
        residual = gradient.copy()
        if self.held:
            residual[0] = 0.0
        found = np.zeros(len(gradient))
        direction = residual / scale
        size = first = float(residual @ direction)
        for _ in range(_MAX_ROUNDS):
            if size <= _NEAR**2 * first:
                break
            moved = self._times(direction)
            length = size / float(direction @ moved)
            found += length * direction
            residual -= length * moved
            if is_over(deadline):
                break
            scaled = residual / scale
            before, size = size, float(residual @ scaled)
            direction = scaled + size / before * direction
        return found
