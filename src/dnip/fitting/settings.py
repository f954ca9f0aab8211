"""The settings of a fit: those of a search, and what holds on other rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, Self, get_args

import numpy as np

from dnip.base import Switch
from dnip.base.errors import InvalidInputError
from dnip.base.validation import check_choice
from dnip.method.coefficients import Deferral
from dnip.method.constraints import Constraints
from dnip.method.objective import Goal, Objective
from dnip.priors.target import PriorLike
from dnip.solvers import Settings
from dnip.solvers.search import PRESETS

#: When to fit robustly: where it is quick, always, or never.
ROBUST: tuple[str, ...] = get_args(Switch)


@dataclass(frozen=True, eq=False)
class FitSettings(Settings):
    """Everything that a fit needs to know besides its rows.

    Parameters
    ----------
    objective, scale, solver, seed, time_limit, constraints
        As for :class:`dnip.solvers.Settings`. A limit on lost accuracy is kept on other rows, too,
        as far as the labels can tell.
    robust : {"auto", "on", "off"}, default="auto"
        Whether to find weights that hold on other rows, or the plain optimum on the labelled ones.
    target_prior : mapping, sequence, "uniform" or "estimate", optional
        The class mix to fit for. It is checked when the classes are known.
    defer : float, optional
        The share of rows to defer to a person or a larger model, above 0 and below 1.
    helper_accuracy : float or None, default=0.9
        How often that helper is right in every class; None: serve the rows that remain best.
    defer_below : float, optional
        Instead of a share: how often what is served of each predicted class is to be right. The
        least sure rows are deferred for that.

    Raises
    ------
    InvalidInputError
        For a setting outside its range, or a solver that cannot minimise the objective.

    Examples
    --------
    >>> FitSettings(scale=30, robust="off").robust
    'off'
    """

    robust: str
    target_prior: PriorLike | None
    defer: float | None
    helper_accuracy: float | None
    defer_below: float | None

    def __init__(
        self,
        objective: Goal = None,
        *,
        robust: str = "auto",
        target_prior: PriorLike | None = None,
        defer: float | None = None,
        helper_accuracy: float | None = 0.9,
        defer_below: float | None = None,
        **search: Any,  # noqa: ANN401 - the settings of a search
    ) -> None:
        super().__init__(objective, **search)
        if defer is not None:
            Deferral(np.empty(0), defer, helper_accuracy)  # refuses what is out of range
        if defer_below is not None:
            Deferral(np.empty(0), 0, below=defer_below)
            if defer is not None or target_prior is not None:
                raise InvalidInputError(
                    "defer_below goes with neither a share to defer nor a target prior",
                    hint="It counts rows in the mix in which they come",
                )
        object.__setattr__(self, "robust", check_choice("robust", robust, ROBUST))
        object.__setattr__(self, "target_prior", target_prior)
        object.__setattr__(self, "defer", defer)
        object.__setattr__(self, "helper_accuracy", helper_accuracy)
        object.__setattr__(self, "defer_below", defer_below)

    @classmethod
    def of(cls, objective: Goal, keywords: dict[str, Any]) -> Self:
        """Return the settings that keywords say; an error names what the caller typed."""
        names = signature(cls).parameters.keys() | signature(Settings).parameters.keys()
        for name in keywords.keys() - names:
            hint = ""
            for keyword, kind in (("objective", Objective), ("constraints", Constraints)):
                if name in signature(kind).parameters:
                    hint = f"; give {keyword}=dnip.{kind.__name__}({name}=...)"
            raise TypeError(f"fit() got an unexpected keyword argument {name!r}{hint}")
        return cls(objective, **keywords)

    @classmethod
    def preset(cls, name: str | None) -> Self:
        """Return the settings that ``--preset`` names, with the plain optimum; None: the usual."""
        if name is None:
            return cls()
        search = PRESETS[check_choice("preset", name, list(PRESETS))]
        return cls(search.objective, scale=search.scale, solver=search.solver, robust="off")

    def at(self, beta: float) -> Self:
        """Return the same settings with another β."""
        if not isinstance(self.objective, Objective):
            raise InvalidInputError(
                f"the objective {self.objective.to_dict()} has no β, so there is no path over β"
            )
        return replace(self, objective=replace(self.objective, beta=beta))
