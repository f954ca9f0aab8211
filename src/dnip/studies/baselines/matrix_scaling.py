"""Matrix scaling: scikit-learn's logistic regression on log-probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.optional import load_optional
from dnip.studies.baselines.base import LogLinear, Method, log

if TYPE_CHECKING:
    from dnip.studies.baselines.base import OptSet

_MAX_STEPS = 1000


@dataclass(frozen=True)
class MatrixScaling(Method):
    """What a user of scikit-learn would take: ``LogisticRegression`` with its defaults on ln p.

    Guo et al. (2017) call it matrix scaling, Kull et al. (2019) Dirichlet calibration. Every
    class's score reads every log-probability: N² + N numbers, drawn to 0 by scikit-learn's L2
    penalty.

    Parameters
    ----------
    balanced : bool, default=False
        Count every class alike, whatever its number of labels (``class_weight="balanced"``).

    Examples
    --------
    >>> from dnip.studies.baselines import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]] * 20, [0, 1] * 20)
    >>> MatrixScaling().fit(opt).predict(opt.probabilities[:2])
    array([0, 1])
    """

    balanced: bool = False

    library = "sklearn"
    extra = "sklearn"

    @property
    def name(self) -> str:
        """What users call it."""
        return "matrix-scaling-balanced" if self.balanced else "matrix-scaling"

    @property
    def summary(self) -> str:
        """What it does, in a few words."""
        return f"{'class-balanced ' if self.balanced else ''}logistic regression on ln p"

    def fit(self, opt: OptSet, seed: int = 0) -> LogLinear:
        """Fit the regression; a class without labels is never predicted."""
        linear_model = load_optional(
            "sklearn.linear_model", purpose="fit matrix scaling", extra=self.extra
        )
        threads = load_optional("threadpoolctl", purpose="fit matrix scaling", extra=self.extra)
        model = linear_model.LogisticRegression(
            class_weight="balanced" if self.balanced else None, max_iter=_MAX_STEPS
        )
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
