"""Prior division: from the shares that the model expects to those that the labels show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dnip.studies.baselines.base import ClassWeights, Method, mean_probability

if TYPE_CHECKING:
    from dnip.studies.baselines.base import OptSet


@dataclass(frozen=True)
class PriorDivision(Method):
    """Divide by the mean probabilities of the opt rows and multiply by the shares of their labels.

    The rule of Bayes for a classifier whose classes are as frequent as it expects, used where they
    are not (equation 2.4 of the reference). It aims at accuracy, not at equal classes; with labels
    in equal shares it is batch calibration over the opt rows.

    References
    ----------
    Saerens, Latinne and Decaestecker, "Adjusting the Outputs of a Classifier to New a Priori
    Probabilities", Neural Computation 14, 2002.

    Examples
    --------
    >>> from dnip.studies.baselines import OptSet
    >>> opt = OptSet.of([[0.8, 0.2]] * 400, [0] * 200 + [1] * 200)
    >>> PriorDivision().fit(opt).weights.round(2)
    array([0.25, 1.  ])
    """

    name = "prior-division"
    summary = "divide by the mean opt probabilities, multiply by the label shares"

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Return the ratio of label shares and mean probabilities."""
        weights = opt.shares / mean_probability(opt.probabilities)
        return ClassWeights(weights / weights.max())
