"""Batch calibration: divide by the mean probability of each class (Zhou et al. 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_choice
from dnip.studies.baselines.base import ClassWeights, Method, mean_probability

if TYPE_CHECKING:
    from dnip.studies.baselines.base import OptSet


@dataclass(frozen=True)
class BatchCalibration(Method):
    """Divide the probabilities by their mean over a batch of rows; labels are not read.

    The mean estimates what the prompt makes the model expect of a text that it has not seen;
    dividing by it makes the classes equally likely on average, which is right where they are
    equally frequent.

    Parameters
    ----------
    over : {"batch", "opt"}, default="batch"
        ``"batch"``: the rows to be decided, as published; the correction then belongs to that batch
        and changes with it. ``"opt"``: the opt rows and the unlabelled ones, before any test row is
        seen.

    References
    ----------
    Zhou et al., "Batch Calibration: Rethinking Calibration for In-Context Learning and Prompt
    Engineering", ICLR 2024, equation 3.

    Examples
    --------
    >>> from dnip.studies.baselines import OptSet
    >>> opt = OptSet.of([[0.9, 0.1], [0.6, 0.4]], [0, 1], batch=[[0.8, 0.2]] * 1000)
    >>> BatchCalibration().fit(opt).weights.round(2)
    array([0.25, 1.  ])
    """

    over: str = "batch"

    def __post_init__(self) -> None:
        check_choice("over", self.over, ("batch", "opt"))

    @property
    def name(self) -> str:
        """What users call it."""
        return "batch-calibration" if self.over == "batch" else "batch-calibration-opt"

    @property
    def summary(self) -> str:
        """What it does, in a few words."""
        rows = "the test rows" if self.over == "batch" else "the opt and unlabelled rows"
        return f"divide by the mean probabilities of {rows}"

    @property
    def reads(self) -> tuple[str, ...]:
        """The batch, or opt rows without their labels."""
        return ("batch",) if self.over == "batch" else ("unlabelled",)

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Return weights inverse to the mean probabilities.

        Raises
        ------
        InvalidInputError
            If there is no batch.
        """
        rows = opt.batch
        if self.over == "opt":
            rows = np.vstack([opt.probabilities, opt.unlabelled])
        if not len(rows):
            raise InvalidInputError(
                "batch-calibration needs the batch of rows that it will decide, and there is none",
                hint='Give batch=..., or take the mean of the opt rows with over="opt"',
            )
        weights = 1 / mean_probability(rows)
        return ClassWeights(weights / weights.max())
