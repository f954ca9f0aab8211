"""The settings of a search: checked once, then passed on as one object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import get_annotations

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_choice, check_integer, check_number
from dnip.method.constraints import Constraints
from dnip.method.objective import ConfusionFunction, Objective, ObjectiveLike, as_objective
from dnip.method.scales import WeightScale
from dnip.solvers.anneal import Anneal
from dnip.solvers.coordinate import Coordinate
from dnip.solvers.driver import Solver
from dnip.solvers.exact import Exact
from dnip.solvers.exhaustive import Exhaustive

#: The solvers that a name can ask for, with their default settings.
SOLVERS: dict[str, Callable[..., Solver]] = {
    each.name: each for each in (Coordinate, Exact, Anneal, Exhaustive)
}


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
    declared = [name for name in get_annotations(Solver) if not name.startswith("_")]
    missing = [name for name in ("search", *declared) if not hasattr(solver, name)]
    if missing or isinstance(solver, type):
        lacks = f" without {', '.join(missing)}" if missing else ", a class"
        raise InvalidInputError(
            f"solver must be the name of a solver or a solver; got {solver!r}{lacks}",
            hint=f"Give one of {', '.join(SOLVERS)}, an object such as dnip.solvers.Exact(), or "
            "one whose class is derived from dnip.solvers.Solver",
        )
    return solver


@dataclass(frozen=True, eq=False)
class Settings:
    """Everything that a search needs to know besides its data.

    Parameters
    ----------
    objective : Objective or callable, optional
        What to minimise; ``Objective()`` by default. Any function of a confusion matrix (N, N)
        works too, but is slower: it is called for each candidate.
    scale : int, str or WeightScale, optional
        ``"log:K"``: indices are 1..K, and weights are K geometric steps from 1/K to 1. K alone:
        weights ξ/K, as in the paper. ``"span:S"``: 10,000 geometric steps from e^-S to 1. By
        default S is the spread of the probabilities, so that p and p^k are one problem.
    solver : str or Solver, default="coordinate"
        ``"coordinate"``, ``"exact"``, ``"anneal"``, ``"exhaustive"``, or a solver object.
    seed : int, default=0
        Of all random choices; the same seed gives the same solution.
    time_limit : float, optional
        Seconds after which the best solution so far is returned.
    constraints : Constraints, optional
        What the weights must keep on the labelled rows. The attribute is never None; it allows
        silence if the objective is the published one.

    Raises
    ------
    InvalidInputError
        For a setting outside its range, or a solver that cannot minimise the objective.

    Examples
    --------
    >>> settings = Settings(scale=30, solver="exact")
    >>> settings.solver, str(settings.scale)
    (Exact(gap=0.0, max_open=200000), '30')
    """

    objective: ObjectiveLike
    scale: WeightScale | None
    solver: Solver
    seed: int
    time_limit: float | None
    constraints: Constraints

    def __init__(
        self,
        objective: ObjectiveLike | ConfusionFunction | None = None,
        *,
        scale: int | str | WeightScale | None = None,
        solver: str | Solver = "coordinate",
        seed: int = 0,
        time_limit: float | None = None,
        constraints: Constraints | None = None,
    ) -> None:
        goal, kept = as_objective(objective), _check_constraints(constraints)
        if isinstance(goal, Objective) and goal.is_published:
            kept = replace(kept, allow_silence=True)
        if time_limit is not None:
            time_limit = check_number("time_limit", time_limit, at_least=0)
        values = {
            "objective": goal,
            "scale": None if scale is None else WeightScale.of(scale),
            "solver": solver_of(solver),
            "seed": check_integer("seed", seed, at_least=0),
            "time_limit": time_limit,
            "constraints": kept,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if not isinstance(goal, Objective) and not self.solver.takes_any_objective:
            raise InvalidInputError(
                f"the {self.solver.name} solver bounds the terms of an Objective; it knows no "
                f"bound for {goal.to_dict()}",
                hint="Use the exhaustive solver, or coordinate without a proof",
            )


def _check_constraints(constraints: Constraints | None) -> Constraints:
    if constraints is None:
        return Constraints()
    if not isinstance(constraints, Constraints):
        raise InvalidInputError(
            f"constraints must be a Constraints; got {constraints!r}",
            hint="Give dnip.Constraints(max_accuracy_loss=..., min_class_accuracies=..., ...)",
        )
    return constraints


#: The paper's annealing, β = 2.7, τ = 0.2, K = 30. The paper chooses μ on a dev set and does not
#: print it. A plain fit has no dev set and takes that of the authors' code, 4000.
PAPER = Settings(Objective.published(), scale=30, solver=Anneal())
#: The public code of a later paper of the authors: at most 6 moves at each temperature, μ = 4000.
AUTHORS = replace(PAPER, solver=Anneal.authors())
#: What ``--preset`` takes.
PRESETS = {"paper": PAPER, "authors": AUTHORS}
