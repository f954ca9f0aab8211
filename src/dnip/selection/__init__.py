"""Settings chosen on labels that the fit has not seen."""

from dnip.selection.choice import CRITERIA, METRICS, Criterion
from dnip.selection.settings import Grid, Settings
from dnip.selection.tune import Tuning, tune

__all__ = ["CRITERIA", "METRICS", "Criterion", "Grid", "Settings", "Tuning", "tune"]
