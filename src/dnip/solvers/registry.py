"""The solvers by name. The solver `exact` is the class ``Exact`` of the module ``exact``."""

from __future__ import annotations

from importlib import import_module
from inspect import get_annotations
from typing import TYPE_CHECKING, get_args

from dnip.base.errors import InvalidInputError
from dnip.base.option import SolverName
from dnip.base.validation import check_choice
from dnip.solvers.driver import Solver

if TYPE_CHECKING:
    from collections.abc import Callable

#: The solvers that a name can ask for, with their default settings.
SOLVERS: dict[str, Callable[..., Solver]] = {
    name: getattr(import_module(f"dnip.solvers.{name}"), name.capitalize())
    for name in get_args(SolverName)
}

# What a solver must declare.
_DECLARED = tuple(name for name in get_annotations(Solver) if not name.startswith("_"))


def solver_of(solver: str | Solver) -> Solver:
    """Return the solver of a name, or the given solver, checked.

    Raises
    ------
    InvalidInputError
        For an unknown name, or an object that is no solver.

    Examples
    --------
    >>> solver_of("coordinate")
    Coordinate(effort=1.0)
    """
    if isinstance(solver, str):
        return SOLVERS[check_choice("solver", solver, list(SOLVERS))]()
    if isinstance(solver, type) or not callable(getattr(solver, "search", None)):
        raise InvalidInputError(
            f"solver must be the name of a solver or a solver; got {solver!r}",
            hint=f"Give one of {', '.join(SOLVERS)}, or an object such as dnip.solvers.Exact()",
        )
    missing = [name for name in _DECLARED if not hasattr(solver, name)]
    if missing:
        raise InvalidInputError(
            f"solver {solver!r} does not declare {', '.join(missing)}",
            hint="Derive it from dnip.solvers.Solver, which has the usual values, and name it",
        )
    return solver
