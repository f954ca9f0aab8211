"""The solvers by name. A new solver is a file of its own and one entry here."""

from __future__ import annotations

from inspect import get_annotations
from typing import TYPE_CHECKING

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_choice
from dnip.solvers.anneal import Anneal
from dnip.solvers.coordinate import Coordinate
from dnip.solvers.driver import Solver
from dnip.solvers.exact import Exact
from dnip.solvers.exhaustive import Exhaustive

if TYPE_CHECKING:
    from collections.abc import Callable

#: The solvers that a name can ask for, with their default settings.
SOLVERS: dict[str, Callable[..., Solver]] = {
    solver.name: solver for solver in (Coordinate, Exact, Anneal, Exhaustive)
}


# What a solver has to say of itself.
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
