"""Words that settings may be."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: How to search for weights: the keys of `dnip.solvers.SOLVERS`.
SolverName: TypeAlias = Literal["coordinate", "exact", "anneal", "exhaustive"]

#: A metric to make as large as possible, in place of error + β·COBias.
MetricName: TypeAlias = Literal["balanced-accuracy", "macro-f1"]

#: The pairs of classes that COBias is the mean of: all pairs, or each class and its odd class.
Pairs: TypeAlias = Literal["pairwise", "single"]

#: Whether to do something that costs time: where it is worth it, always, or never.
Switch: TypeAlias = Literal["auto", "on", "off"]
