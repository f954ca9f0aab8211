"""How frequent classes are where weights are used: given, or estimated from unlabelled rows."""

from dnip.priors.calibration import Calibration, adjust, effective_rows, weigh_rows
from dnip.priors.estimate import PriorEstimate, estimate_prior, most_rows
from dnip.priors.target import PriorLike, TargetPrior, check_prior, is_estimate, read_prior

__all__ = [
    "Calibration",
    "PriorEstimate",
    "PriorLike",
    "TargetPrior",
    "adjust",
    "check_prior",
    "effective_rows",
    "estimate_prior",
    "is_estimate",
    "most_rows",
    "read_prior",
    "weigh_rows",
]
