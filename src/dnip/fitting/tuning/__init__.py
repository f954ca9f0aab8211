"""Settings chosen on labels that the fit has not seen."""

from dnip.fitting.tuning.choice import CRITERIA, Criterion
from dnip.fitting.tuning.settings import Grid, Settings
from dnip.fitting.tuning.tune import Tuning, tune

__all__ = ["CRITERIA", "Criterion", "Grid", "Settings", "Tuning", "tune"]
