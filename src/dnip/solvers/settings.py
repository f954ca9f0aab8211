"""The settings of a search: checked once, then handed on as one object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_integer, check_number
from dnip.method.constraints import Constraints
from dnip.method.objective import Objective, as_objective
from dnip.method.scales import DEFAULT_SCALE, Spacing, WeightScale
from dnip.solvers.registry import solver_of

if TYPE_CHECKING:
    from dnip.method.objective import ConfusionFunction, ObjectiveLike
    from dnip.solvers.driver import Solver


class SearchKeywords(TypedDict, total=False):
    """What a search takes by keyword, besides its data; see :class:`SearchSettings`."""

    scale: int | str | WeightScale
    solver: str | Solver
    seed: int
    time_limit: float | None
    constraints: Constraints | None


@dataclass(frozen=True, eq=False)
class SearchSettings:
    """Everything that a search needs to know besides its data.

    Parameters
    ----------
    objective : Objective or callable, optional
        What to minimise; ``Objective()`` by default. Any function of a confusion matrix (N, N)
        works too, but is slower: it is called for each candidate.
    scale : int, str or WeightScale, default="log:1000"
        ``"log:K"``: indices are 1..K, and weights are K geometric steps from 1/K to 1. K alone:
        weights ξ/K, as in the paper. ``"continuous"``: any weights, without indices.
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
        For a setting outside its range, or a solver that cannot search the scale.

    Examples
    --------
    >>> settings = SearchSettings(scale=30, solver="exact")
    >>> settings.solver, str(settings.scale), settings.objective.beta
    (Exact(gap=0.0, max_open=200000), '30', 2.7)
    """

    objective: ObjectiveLike
    scale: WeightScale
    solver: Solver
    seed: int
    time_limit: float | None
    constraints: Constraints

    def __init__(
        self,
        objective: ObjectiveLike | ConfusionFunction | None = None,
        *,
        scale: int | str | WeightScale = DEFAULT_SCALE,
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
        checked = {
            "objective": goal,
            "scale": WeightScale.of(scale),
            "solver": solver_of(solver),
            "seed": check_integer("seed", seed, at_least=0),
            "time_limit": time_limit,
            "constraints": kept,
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self._check_solver()

    def _check_solver(self) -> None:
        name = self.solver.name
        if self.scale.spacing is Spacing.CONTINUOUS and not self.solver.searches_continuous:
            raise InvalidInputError(
                f"the {name} solver searches weight indices, but continuous weights have none",
                hint="Take the coordinate solver, or a scale of many points such as log:1000",
            )
        if not isinstance(self.objective, Objective) and not self.solver.takes_any_objective:
            raise InvalidInputError(
                f"the {name} solver bounds the terms of an Objective; it knows no bound for "
                f"{self.objective.to_dict()}",
                hint="Use the exhaustive solver, or coordinate without a proof",
            )

    def check_in_passes(self) -> None:
        """Refuse settings that need the whole table in memory.

        Raises
        ------
        InvalidInputError
            For the continuous scale, or a solver that does not search in passes.
        """
        if self.scale.spacing is Spacing.CONTINUOUS:
            raise InvalidInputError(
                f"scale {self.scale} needs the whole table in memory, but it is read in passes",
                hint="Give more memory, or a scale of many points such as log:1000",
            )
        if not self.solver.searches_in_passes:
            raise InvalidInputError(
                f"the {self.solver.name} solver needs the whole table in memory, but it is read in "
                "passes",
                hint="Give more memory, or take the coordinate solver",
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
