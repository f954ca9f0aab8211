"""The settings of a fit: those of a search, and what holds on other rows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike

from dnip.base import Switch
from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats
from dnip.base.validation import check_choice, check_number
from dnip.method.coefficients import Deferral
from dnip.method.constraints import Constraints
from dnip.method.objective import USUAL, Costs, Goal, Objective, ObjectiveLike
from dnip.method.scales import WeightScale
from dnip.priors import PriorLike
from dnip.solvers import Settings, Solver, settings_of
from dnip.solvers.search import PRESETS


@dataclass(frozen=True, eq=False)
class FitSettings(Settings):
    """Everything that a fit needs to know besides its rows; `fit_settings` checks it.

    Attributes
    ----------
    robust : {"auto", "on", "off"}
    target_prior : PriorLike or None
        Checked when the classes are known.
    defer, helper_accuracy : float or None
    chooses_beta : bool
        Whether β is to be chosen: where no goal is named.
    """

    robust: str
    target_prior: PriorLike | None
    defer: float | None
    helper_accuracy: float | None
    chooses_beta: bool

    @property
    def judged_by(self) -> ObjectiveLike:
        """What a fit is judged by: the goal that was named, or error + COBias/2."""
        return Objective() if self.chooses_beta else self.objective

    def deadline(self) -> float | None:
        """Return the ``time.perf_counter`` reading at which what begins now has to end."""
        return None if self.time_limit is None else time.perf_counter() + self.time_limit

    def at(self, beta: float) -> Self:
        """Return the same settings with another β."""
        if not isinstance(self.objective, Objective):
            raise InvalidInputError(
                f"the objective {self.objective.to_dict()} has no β, so there is no path over β"
            )
        return replace(self, objective=replace(self.objective, beta=beta))


def fit_settings(
    objective: Goal = None,
    *,
    beta: float | None = None,
    costs: ArrayLike | Costs | None = None,
    preset: str | None = None,
    scale: int | str | WeightScale | None = None,
    solver: str | Solver | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    constraints: Constraints | None = None,
    robust: str = "auto",
    target_prior: PriorLike | None = None,
    defer: float | None = None,
    helper_accuracy: float | None = 0.9,
) -> FitSettings:
    """Check the settings of a fit, which are those of :func:`dnip.fit`.

    Raises
    ------
    InvalidInputError
        For a setting outside its range, two that contradict each other, or a solver that cannot
        minimise the objective.

    Examples
    --------
    >>> fit_settings(beta=1, scale=30).objective
    Objective(beta=1, tau=0.0, smoothing=None, terms=('error', 'cobias', 'pmi'), gap='pairwise', \
costs=None)
    >>> fit_settings(preset="paper").robust
    'off'
    """
    usual = settings_of()
    if isinstance(objective, str) and objective == USUAL:
        objective = None
    if preset is not None:
        usual = PRESETS[check_choice("preset", preset, list(PRESETS))]
    search = settings_of(
        _goal(objective, beta, costs, usual.objective),
        scale=usual.scale if scale is None else scale,
        solver=usual.solver if solver is None else solver,
        seed=seed,
        time_limit=time_limit,
        constraints=constraints,
    )
    if isinstance(search.objective, Objective) and search.objective.costs is not None:
        _check_costs(search.objective.cost_matrix)
    if defer is not None:
        check_number("defer", defer, above=0, below=1)
        Deferral(np.empty(0), defer, helper_accuracy)  # refuses a helper that is out of range
    check_choice("robust", robust, get_args(Switch))
    is_limited = search.constraints.max_accuracy_loss is not None
    is_named = is_limited or any(part is not None for part in (objective, beta, costs, preset))
    return FitSettings(
        **vars(search),
        robust="off" if preset is not None and robust == "auto" else robust,
        target_prior=target_prior,
        defer=defer,
        helper_accuracy=helper_accuracy,
        chooses_beta=robust != "off" and not is_named,
    )


def _check_costs(matrix: Floats) -> None:
    """Refuse costs under which a right prediction is no better than a wrong one."""
    right = np.diag(matrix)
    wrong = np.where(np.eye(len(matrix), dtype=bool), np.inf, matrix).min(axis=1)
    worst = int((right - wrong).argmax())
    if right[worst] > wrong[worst] or (right >= wrong).all():
        raise InvalidInputError(
            f"costs: in row {worst + 1} the right prediction costs {right[worst]:g} and a wrong "
            f"one {wrong[worst]:g}, so being right is no better",
            hint="Rows are true classes, columns predicted ones. Give costs, not gains: the least "
            "of each row on the diagonal",
        )


def _goal(
    objective: Goal, beta: float | None, costs: ArrayLike | Costs | None, usual: Goal
) -> Goal:
    """Return the objective that was given, or the usual one with what else was given."""
    parts: dict[str, Any] = {"beta": beta, "costs": costs}
    given = {name: part for name, part in parts.items() if part is not None}
    if objective is None:
        assert isinstance(usual, Objective)
        return replace(usual, **given) if given else usual
    for name in given:
        raise InvalidInputError(
            f"{name} is a part of error + β·COBias, but objective replaces it",
            hint=f"Leave one of the two out, or give objective=dnip.Objective({name}=...)",
        )
    return objective
