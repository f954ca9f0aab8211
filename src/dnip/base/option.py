"""Words that settings may be."""

from __future__ import annotations

from typing import Literal, TypeAlias

#: How to search for weights: the keys of `dnip.solvers.SOLVERS`.
SolverName: TypeAlias = Literal["coordinate", "exact", "anneal", "exhaustive"]

#: The pairs of classes that COBias is the mean of: all pairs, or each class and its odd class.
Pairs: TypeAlias = Literal["pairwise", "single"]

#: Whether to do something that costs time: where it is worth it, always, or never.
Switch: TypeAlias = Literal["auto", "on", "off"]
