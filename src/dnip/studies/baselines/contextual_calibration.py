"""Contextual calibration: divide by what the model answers to nothing (Zhao et al. 2021)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dnip.base.errors import InvalidInputError
from dnip.studies.baselines.base import ClassWeights, Method, mean_probability

if TYPE_CHECKING:
    from dnip.studies.baselines.base import OptSet


@dataclass(frozen=True)
class ContextualCalibration(Method):
    """Divide by the mean of the model's class probabilities for content-free texts.

    The authors' W = diag(p_cf)⁻¹, b = 0; their texts are "N/A", "[MASK]" and the empty one.

    References
    ----------
    Zhao et al., "Calibrate Before Use: Improving Few-Shot Performance of Language Models", ICML
    2021, section 5.

    Examples
    --------
    >>> from dnip.studies.baselines import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]], [0, 1], content_free=[[0.8, 0.2], [0.7, 0.3]])
    >>> ContextualCalibration().fit(opt).weights.round(3)
    array([0.333, 1.   ])
    """

    name = "contextual-calibration"
    summary = "divide by the mean probabilities of content-free texts"
    reads = ("content-free",)

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Return weights inverse to the mean content-free probabilities.

        Raises
        ------
        InvalidInputError
            If there are no content-free rows.
        """
        if not len(opt.content_free):
            raise InvalidInputError(
                "contextual-calibration needs content-free rows, and there are none",
                hint="Make them with `dnip prompt --split content-free`, and give them with "
                "--content-free TABLE, or as rows whose id begins with content-free",
            )
        weights = 1 / mean_probability(opt.content_free)
        return ClassWeights(weights / weights.max())
