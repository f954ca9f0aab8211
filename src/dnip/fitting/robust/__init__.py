"""Fits that are safe on few labels: shrinkage, and what unlabelled rows tell."""

from dnip.fitting.robust.calibrating import calibrate, what_labels_tell
from dnip.fitting.robust.decision import Decision
from dnip.fitting.robust.solve import ROBUST, RobustSolution, solve_robustly

__all__ = [
    "ROBUST",
    "Decision",
    "RobustSolution",
    "calibrate",
    "solve_robustly",
    "what_labels_tell",
]
