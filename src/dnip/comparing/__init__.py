"""Comparison: corrections side by side on one opt and one test table, with intervals."""

from dnip.comparing.material import Material, OptSet
from dnip.comparing.results import Comparison, MethodScores, ScoredFit
from dnip.comparing.run import compare

__all__ = ["Comparison", "Material", "MethodScores", "OptSet", "ScoredFit", "compare"]
