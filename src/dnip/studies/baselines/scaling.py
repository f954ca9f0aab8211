"""Temperature and vector scaling: log-loss minimised by SciPy (Guo et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.base.optional import load_optional
from dnip.method.prediction import decide
from dnip.studies.baselines.base import Correction, LogLinear, Method, log

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Labels, Probabilities
    from dnip.studies.baselines.base import OptSet

# The steepness of separable labels has no limit but this; it never turns an order around.
_LEAST_SLOPE, _MOST_SLOPE = 1e-2, 1e2


@dataclass(frozen=True)
class TemperatureScaling(Method):
    """One factor for all log-probabilities, 1/T: the probabilities get calibrated.

    It never changes which class is the most probable, so accuracy and COBias stay as they are. A
    comparison with it shows that calibrated does not mean equally accurate.

    References
    ----------
    Guo et al., "On Calibration of Modern Neural Networks", ICML 2017, section 4.2.

    Examples
    --------
    >>> from dnip.studies.baselines import OptSet
    >>> opt = OptSet.of([[0.9, 0.1]] * 100, [0] * 75 + [1] * 25)  # 0.9 is right in 3 of 4 rows
    >>> fitted = TemperatureScaling().fit(opt)  # 0.9 to the power 1/T is to be 0.75, normalised
    >>> round(fitted.temperature, 3)
    2.0
    """

    name = "temperature-scaling"
    summary = "one temperature by log-loss; the argmax stays"
    library = "scipy"
    extra = "sklearn"

    def fit(self, opt: OptSet, seed: int = 0) -> Tempered:
        """Fit the temperature."""
        optimize = load_optional("scipy.optimize", purpose="scale temperatures", extra=self.extra)
        z = log(opt.probabilities)

        def loss(log_slope: float) -> float:
            return log_loss(np.exp(log_slope) * z, opt.labels)[0]

        bounds = np.log((_LEAST_SLOPE, _MOST_SLOPE))
        found = optimize.minimize_scalar(loss, bounds=bounds, method="bounded")
        return Tempered(float(np.exp(-found.x)))


@dataclass(frozen=True)
class Tempered(Correction):
    """Probabilities to the power 1/T; the argmax is that of the probabilities themselves.

    Examples
    --------
    >>> Tempered(2.0).scores(np.array([[0.9, 0.1]])).round(2)
    array([[0.75, 0.25]])
    """

    temperature: float

    def scores(self, probabilities: Probabilities) -> Floats:
        """Return calibrated probabilities, shape (M, N)."""
        powers = np.exp(log(probabilities) / self.temperature)
        return np.asarray(powers / powers.sum(axis=1, keepdims=True))

    def predict(self, probabilities: Probabilities) -> Labels:
        """Return the class of each row, from the probabilities: powers could be rounded to ties."""
        return decide(probabilities).astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return the temperature."""
        return {"temperature": self.temperature}


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
    >>> from dnip.studies.baselines import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> VectorScaling().fit(opt).predict(opt.probabilities[:2])
    array([0, 1])
    """

    name = "vector-scaling"
    summary = "a factor and a shift of each log-probability, by log-loss"
    library = "scipy"
    extra = "sklearn"

    def fit(self, opt: OptSet, seed: int = 0) -> LogLinear:
        """Fit factors and shifts by L-BFGS-B from the raw log-probabilities."""
        optimize = load_optional("scipy.optimize", purpose="scale vectors", extra=self.extra)
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
