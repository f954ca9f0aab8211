"""Settings that are one of a few words.

They stand apart from the code behind them, so that a command line can list the words without
loading it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

#: How to search for weights; each name is a module of :mod:`dnip.solvers`.
SolverName: TypeAlias = Literal["coordinate", "exact", "anneal", "exhaustive"]

#: The pairs of classes that COBias is the mean of: all pairs, or each class and its odd class.
Pairs: TypeAlias = Literal["pairwise", "single"]

#: Whether to do something that costs time: where it is worth it, always, or never.
Switch: TypeAlias = Literal["auto", "on", "off"]

#: What makes one candidate better than another: accuracy then COBias, the other way, or a sum.
CriterionName: TypeAlias = Literal["accuracy", "cobias", "weighted"]
