"""Settings chosen on labels that the fit has not seen."""

from dnip.fitting.tuning.choice import CRITERIA, METRICS, Criterion
from dnip.fitting.tuning.settings import Grid, Settings
from dnip.fitting.tuning.tune import Tuning, tune

__all__ = ["CRITERIA", "METRICS", "Criterion", "Grid", "Settings", "Tuning", "tune"]
