"""DNIP: one coefficient per class, so that no class starves.

Names are loaded when they are first used: ``import dnip`` itself loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dnip.coefficients import Coefficients
    from dnip.constraints import Constraints
    from dnip.estimator import DNIPClassifier
    from dnip.objective import CustomObjective, Objective
    from dnip.selection import tune
    from dnip.solution import Solution, Status
    from dnip.solvers import solve
    from dnip.tables import ProbabilityTable

__version__ = version("dnip")

__all__ = [
    "Coefficients",
    "Constraints",
    "CustomObjective",
    "DNIPClassifier",
    "Objective",
    "ProbabilityTable",
    "Solution",
    "Status",
    "__version__",
    "solve",
    "tune",
]

_HOMES = {
    "Coefficients": "dnip.coefficients",
    "Constraints": "dnip.constraints",
    "CustomObjective": "dnip.objective",
    "DNIPClassifier": "dnip.estimator",
    "Objective": "dnip.objective",
    "ProbabilityTable": "dnip.tables",
    "Solution": "dnip.solution",
    "Status": "dnip.solution",
    "solve": "dnip.solvers",
    "tune": "dnip.selection",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'dnip' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
