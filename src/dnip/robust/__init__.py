"""Fits that are safe on few labels: shrinkage, and what unlabelled rows tell."""

from dnip.robust.decision import Decision
from dnip.robust.solve import ROBUST, RobustSolution, solve_robustly

__all__ = ["ROBUST", "Decision", "RobustSolution", "solve_robustly"]
