"""Comparison: corrections side by side on one opt and one test table, with intervals."""

from dnip.comparing.comparison import Comparison, MethodScores, ScoredFit, compare

__all__ = ["Comparison", "MethodScores", "ScoredFit", "compare"]
