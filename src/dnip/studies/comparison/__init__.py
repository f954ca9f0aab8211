"""Comparison: corrections side by side on one opt and one test table, with intervals."""

from dnip.studies.comparison.material import Material
from dnip.studies.comparison.results import Comparison, MethodScores, ScoredFit
from dnip.studies.comparison.run import compare

__all__ = ["Comparison", "Material", "MethodScores", "ScoredFit", "compare"]
