"""Comparison: corrections side by side on one opt and one test table, with intervals."""

from dnip.comparison.choosing import choose
from dnip.comparison.material import Material
from dnip.comparison.results import Comparison, Estimate, Outcome, Run
from dnip.comparison.run import compare

__all__ = ["Comparison", "Estimate", "Material", "Outcome", "Run", "choose", "compare"]
