"""How frequent classes are where weights are used: given, or estimated from unlabelled rows."""

from dnip.priors.calibration import Calibration
from dnip.priors.estimate import PriorEstimate, estimate_prior

__all__ = ["Calibration", "PriorEstimate", "estimate_prior"]
