"""Comparison: corrections side by side on one opt and one test table, with intervals."""

from dnip.comparing.comparison import Comparison, Material, MethodScores, ScoredFit, compare
from dnip.comparing.methods import OptSet, choose

__all__ = ["Comparison", "Material", "MethodScores", "OptSet", "ScoredFit", "choose", "compare"]
