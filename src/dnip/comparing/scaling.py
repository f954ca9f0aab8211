"""Scalings of log-probabilities, to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dnip.base.optional import load_optional
from dnip.base.typing import Floats, Labels
from dnip.comparing.material import OptSet
from dnip.comparing.methods import LogLinear, Method, log

# The steepness of separable labels has no limit but this; it never turns an order around.
_LEAST_SLOPE, _MOST_SLOPE = 1e-2, 1e2
# Of scikit-learn's regression.
_MAX_STEPS = 1000


@dataclass(frozen=True)
class VectorScaling(Method):
    """A factor and a shift for each class's log-probability, by log-loss.

    Factors stay between 0.01 and 100, also where labels can be separated without error.
    A class without labels keeps its log-probability as it is.

    References
    ----------
    Guo et al., "On Calibration of Modern Neural Networks", ICML 2017, section 4.2.

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> VectorScaling().fit(opt).predict(opt.probabilities[:2])
    array([0, 1])
    """

    name = "vector-scaling"
    summary = "a factor and a shift of each log-probability, by log-loss"

    def fit(self, opt: OptSet, seed: int = 0) -> LogLinear:
        """Fit factors and shifts by L-BFGS-B from the raw log-probabilities."""
        optimize = load_optional("scipy.optimize", purpose="scale vectors", extra="sklearn")
        z, n = log(opt.probabilities), opt.n_classes

        def loss(x: Floats) -> tuple[float, Floats]:
            value, residual = log_loss(x[:n] * z + x[n:], opt.labels)
            return value, np.concatenate([(residual * z).sum(axis=0), residual.sum(axis=0)])

        limits = [(_LEAST_SLOPE, _MOST_SLOPE) if p else (1.0, 1.0) for p in opt.present]
        limits += [(-np.inf, np.inf) if p else (0.0, 0.0) for p in opt.present]
        start = np.concatenate([np.ones(n), np.zeros(n)])
        found = optimize.minimize(loss, start, jac=True, bounds=limits, method="L-BFGS-B")
        slopes, shifts = found.x[:n], found.x[n:]
        notes = {"slopes": slopes.tolist(), "shifts": shifts.tolist()}
        return LogLinear(np.diag(slopes), shifts, notes)


@dataclass(frozen=True)
class MatrixScaling(Method):
    """What a user of scikit-learn would take: ``LogisticRegression`` with its defaults on ln p.

    Guo et al. (2017) call it matrix scaling, Kull et al. (2019) Dirichlet calibration. Every
    class's score reads every log-probability: N² + N numbers, drawn to 0 by scikit-learn's L2
    penalty.

    Examples
    --------
    >>> from dnip.comparing import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> MatrixScaling().fit(opt).predict(opt.probabilities[:2])
    array([0, 1])
    """

    name = "matrix-scaling"
    summary = "logistic regression on ln p"
    class_weight: ClassVar[str | None] = None

    def fit(self, opt: OptSet, seed: int = 0) -> LogLinear:
        """Fit the regression; a class without labels is never predicted."""
        linear_model = load_optional(
            "sklearn.linear_model", purpose="scale matrices", extra="sklearn"
        )
        threads = load_optional("threadpoolctl", purpose="scale matrices", extra="sklearn")
        model = linear_model.LogisticRegression(class_weight=self.class_weight, max_iter=_MAX_STEPS)
        with threads.threadpool_limits(1):  # more wait for each other on matrices so small
            model.fit(log(opt.probabilities), opt.labels)
        matrix = np.zeros((opt.n_classes, opt.n_classes))
        bias = np.full(opt.n_classes, -np.inf)
        coefficients, intercept = model.coef_, model.intercept_
        if len(model.classes_) == 2:  # one score for the second class, against 0
            coefficients = np.vstack([np.zeros_like(coefficients), coefficients])
            intercept = np.concatenate([[0.0], intercept])
        matrix[:, model.classes_] = coefficients.T
        bias[model.classes_] = intercept
        notes = {"matrix": coefficients.tolist(), "bias": intercept.tolist()}
        return LogLinear(matrix, bias, notes)


@dataclass(frozen=True)
class BalancedMatrixScaling(MatrixScaling):
    """The same, and every class counts alike, whatever its number of labels."""

    name = "matrix-scaling-balanced"
    summary = "class-balanced logistic regression on ln p"
    class_weight = "balanced"


def log_loss(scores: Floats, labels: Labels) -> tuple[float, Floats]:
    """Return the mean of -ln softmax(scores) at the labels, and its gradient in the scores.

    Examples
    --------
    >>> import numpy as np
    >>> loss, gradient = log_loss(np.zeros((1, 2)), np.array([0]))
    >>> round(loss, 4), gradient.tolist()
    (0.6931, [[-0.5, 0.5]])
    """
    rows = np.arange(len(labels))
    shifted = scores - scores.max(axis=1, keepdims=True)
    q = np.exp(shifted)
    total = q.sum(axis=1)
    loss = float((np.log(total) - shifted[rows, labels]).mean())
    q /= total[:, None]
    q[rows, labels] -= 1
    return loss, q / len(labels)
