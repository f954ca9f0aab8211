"""Fits for few labels: shrinkage, and what unlabelled rows add."""

from dnip.fitting.robust.calibrating import calibrate, what_labels_tell
from dnip.fitting.robust.solve import Blend, RobustSolution, fit_robustly

__all__ = ["Blend", "RobustSolution", "calibrate", "fit_robustly", "what_labels_tell"]
