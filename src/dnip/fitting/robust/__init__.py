"""Fits for few labels: shrinkage, and what unlabelled rows add."""

from dnip.fitting.robust.calibrating import calibrate, what_labels_tell
from dnip.fitting.robust.decision import Decision
from dnip.fitting.robust.solve import RobustSolution, fit_robustly, solve_robustly

__all__ = [
    "Decision",
    "RobustSolution",
    "calibrate",
    "fit_robustly",
    "solve_robustly",
    "what_labels_tell",
]
