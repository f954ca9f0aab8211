"""The raw argmax, with which all methods are compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dnip.studies.baselines.base import ClassWeights, Method

if TYPE_CHECKING:
    from dnip.studies.baselines.base import OptSet


@dataclass(frozen=True)
class RawArgmax(Method):
    """No correction.

    Examples
    --------
    >>> from dnip.studies.baselines import OptSet
    >>> RawArgmax().fit(OptSet.of([[0.9, 0.1], [0.6, 0.4]], [0, 1])).weights
    array([1., 1.])
    """

    name = "raw"
    summary = "the argmax of the probabilities as they are"
    reads = ()

    def fit(self, opt: OptSet, seed: int = 0) -> ClassWeights:
        """Return weights of 1."""
        return ClassWeights(np.ones(opt.n_classes))
