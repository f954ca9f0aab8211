"""How frequent classes are where weights are used: given, or estimated from unlabelled rows."""

from dnip.priors.estimate import Calibration, PriorEstimate, estimate_prior

__all__ = ["Calibration", "PriorEstimate", "estimate_prior"]
