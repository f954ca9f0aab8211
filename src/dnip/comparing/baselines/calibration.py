"""One weight per class without a search: none, the batch's, the content-free, the prior's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats
from dnip.comparing.baselines.base import ClassWeights, Method, OptSet, mean_probability


@dataclass(frozen=True)
class RawArgmax(Method):
    """No correction.

    Examples
    --------
    >>> from dnip.comparing.baselines import OptSet
    >>> RawArgmax().fit(OptSet.of([[0.9, 0.1], [0.6, 0.4]], [0, 1])).weights
    array([1., 1.])
    """

    name = "raw"
    summary = "the argmax of the probabilities as they are"
    reads = ()

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Return weights of 1."""
        return ClassWeights(np.ones(opt.n_classes))


@dataclass(frozen=True)
class BatchCalibration(Method):
    """Divide the probabilities by their mean over the rows to be decided; labels are not read.

    The mean estimates what the prompt makes the model expect of a text that it has not seen;
    dividing by it makes the classes equally likely on average, which is right where they are
    equally frequent. The correction belongs to that batch and changes with it.

    References
    ----------
    Zhou et al., "Batch Calibration: Rethinking Calibration for In-Context Learning and Prompt
    Engineering", ICLR 2024, equation 3.

    Examples
    --------
    >>> from dnip.comparing.baselines import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]], [0, 1], batch=[[0.8, 0.2]] * 1000)
    >>> BatchCalibration().fit(opt).weights.round(2)
    array([0.25, 1.  ])
    """

    name = "batch-calibration"
    summary = "divide by the mean probabilities of the test rows"
    reads = ("batch",)

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Return weights inverse to the mean probabilities.

        Raises
        ------
        InvalidInputError
            If there is no batch.
        """
        if not len(opt.batch):
            raise InvalidInputError(
                "batch-calibration needs the batch of rows that it will decide, and there is none",
                hint="Give batch=..., or take BatchCalibrationOnOpt",
            )
        return _largest_is_1(1 / mean_probability(opt.batch))


@dataclass(frozen=True)
class BatchCalibrationOnOpt(Method):
    """Divide by the mean over the opt rows and the unlabelled ones, before any test row is seen.

    Examples
    --------
    >>> from dnip.comparing.baselines import OptSet
    >>> opt = OptSet.of([[0.8, 0.2]] * 400, [0] * 200 + [1] * 200)
    >>> BatchCalibrationOnOpt().fit(opt).weights.round(2)
    array([0.25, 1.  ])
    """

    name = "batch-calibration-opt"
    summary = "divide by the mean probabilities of the opt and unlabelled rows"
    reads = ("unlabelled",)

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Return weights inverse to the mean probabilities."""
        rows = np.vstack([opt.probabilities, opt.unlabelled])
        return _largest_is_1(1 / mean_probability(rows))


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
    >>> from dnip.comparing.baselines import OptSet
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
        return _largest_is_1(1 / mean_probability(opt.content_free))


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
    >>> from dnip.comparing.baselines import OptSet
    >>> opt = OptSet.of([[0.8, 0.2]] * 400, [0] * 200 + [1] * 200)
    >>> PriorDivision().fit(opt).weights.round(2)
    array([0.25, 1.  ])
    """

    name = "prior-division"
    summary = "divide by the mean opt probabilities, multiply by the label shares"

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Return the ratio of label shares and mean probabilities."""
        return _largest_is_1(opt.shares / mean_probability(opt.probabilities))


def _largest_is_1(weights: Floats) -> ClassWeights:
    return ClassWeights(weights / weights.max())
