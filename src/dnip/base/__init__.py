"""What every room stands on: errors, checks of arrays and settings, files, types.

Here stand the version, and words that settings may be: they load nothing.
"""

from typing import Literal, TypeAlias

#: Stated here, and nowhere else.
__version__ = "0.1.0"

#: How to search for weights: the keys of `dnip.solvers.SOLVERS`.
SolverName: TypeAlias = Literal["coordinate", "exact", "anneal"]

#: A metric to make as large as possible, in place of error + β·COBias.
MetricName: TypeAlias = Literal["balanced-accuracy", "macro-f1"]

#: The pairs of classes that COBias is the mean of: all pairs, or each class and its odd class.
Pairs: TypeAlias = Literal["pairwise", "single"]

#: Whether to do something that costs time: where it is worth it, always, or never.
Switch: TypeAlias = Literal["auto", "on", "off"]

#: What a file of coefficients calls its format.
COEFFICIENTS = "dnip-coefficients"
