"""Fits that are safe on few labels: shrinkage, and what unlabelled rows tell."""

from dnip.robust.calibrating import calibrate, what_labels_tell
from dnip.robust.decision import Decision
from dnip.robust.solve import ROBUST, RobustSolution, solve_robustly

__all__ = [
    "ROBUST",
    "Decision",
    "RobustSolution",
    "calibrate",
    "solve_robustly",
    "what_labels_tell",
]
