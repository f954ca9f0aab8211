"""Fits for few labels: shrinkage, and what unlabelled rows add."""

from dnip.fitting.robust.calibrating import calibrate
from dnip.fitting.robust.solve import Blend, Estimator, RobustSolution

__all__ = ["Blend", "Estimator", "RobustSolution", "calibrate"]
