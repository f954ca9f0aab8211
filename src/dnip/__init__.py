"""DNIP: one coefficient per class, so that no class starves.

Names are loaded when they are first used: ``import dnip`` itself loads nothing heavy.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from dnip.base import __version__

if TYPE_CHECKING:
    from dnip.base.errors import (
        BackendError,
        CoefficientsFormatError,
        DNIPError,
        DNIPWarning,
        InfeasibleError,
        InvalidInputError,
        MissingDependencyError,
        OutputError,
    )
    from dnip.comparing import compare
    from dnip.fitting.fit import Fit, fit
    from dnip.llm.prompting.run import prompt
    from dnip.llm.serving.chat import correct
    from dnip.method.coefficients import Coefficients
    from dnip.method.constraints import Constraints
    from dnip.method.objective import CustomObjective, Objective
    from dnip.method.solution import Solution, Status
    from dnip.metrics.confusion import cobias_score
    from dnip.presenting.pictures import ClassAccuracyDisplay, PathDisplay
    from dnip.presenting.report import Report, report
    from dnip.sklearn.classifier import DNIPClassifier, cobias_scorer
    from dnip.solvers import solve
    from dnip.tables import ProbabilityTable
    from dnip.using.application import apply
    from dnip.using.drift import Check, check
    from dnip.using.evaluation import Evaluation, evaluate

__all__ = [
    "BackendError",
    "Check",
    "ClassAccuracyDisplay",
    "Coefficients",
    "CoefficientsFormatError",
    "Constraints",
    "CustomObjective",
    "DNIPClassifier",
    "DNIPError",
    "DNIPWarning",
    "Evaluation",
    "Fit",
    "InfeasibleError",
    "InvalidInputError",
    "MissingDependencyError",
    "Objective",
    "OutputError",
    "PathDisplay",
    "ProbabilityTable",
    "Report",
    "Solution",
    "Status",
    "__version__",
    "apply",
    "check",
    "cobias_score",
    "cobias_scorer",
    "compare",
    "correct",
    "evaluate",
    "fit",
    "prompt",
    "report",
    "solve",
]

_NAMES = {
    "dnip.base.errors": "BackendError CoefficientsFormatError DNIPError DNIPWarning "
    "InfeasibleError InvalidInputError MissingDependencyError OutputError",
    "dnip.llm.prompting.run": "prompt",
    "dnip.llm.serving.chat": "correct",
    "dnip.comparing": "compare",
    "dnip.fitting.fit": "Fit fit",
    "dnip.method.coefficients": "Coefficients",
    "dnip.method.constraints": "Constraints",
    "dnip.method.objective": "CustomObjective Objective",
    "dnip.method.solution": "Solution Status",
    "dnip.presenting.pictures": "ClassAccuracyDisplay PathDisplay",
    "dnip.presenting.report": "Report report",
    "dnip.metrics.confusion": "cobias_score",
    "dnip.sklearn.classifier": "DNIPClassifier cobias_scorer",
    "dnip.solvers": "solve",
    "dnip.tables": "ProbabilityTable",
    "dnip.using.application": "apply",
    "dnip.using.drift": "Check check",
    "dnip.using.evaluation": "Evaluation evaluate",
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'dnip' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return __all__
