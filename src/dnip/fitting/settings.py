"""The settings of a fit, and those that have a name: the published ones, and ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Unpack, get_args

from dnip.base.option import Switch
from dnip.base.validation import check_choice
from dnip.method.defer import Deferral
from dnip.method.objective import ConfusionFunction, Objective, ObjectiveLike
from dnip.method.scales import DEFAULT_SCALE
from dnip.priors.target import PriorLike
from dnip.solvers import Anneal, SearchKeywords, SearchSettings, Solver

#: When to fit robustly: where it is quick, always, or never.
ROBUST: tuple[str, ...] = get_args(Switch)


class FitKeywords(SearchKeywords, total=False):
    """What a fit takes by keyword, besides its data; see :class:`FitSettings`."""

    robust: str
    target_prior: PriorLike | None
    defer: float | None
    helper_accuracy: float | None


@dataclass(frozen=True, eq=False)
class FitSettings(SearchSettings):
    """Everything that a fit needs to know besides its data.

    Parameters
    ----------
    objective : Objective or callable, optional
        As for :class:`~dnip.solvers.SearchSettings`, like `scale`, `solver`, `seed`, `time_limit`
        and `constraints`.
    robust : {"auto", "on", "off"}, default="auto"
        Whether to find weights that hold on other rows, or the plain optimum on the labelled ones.
    target_prior : mapping, sequence, "uniform" or "estimate", optional
        The class mix to fit for. It is checked when the classes are known.
    defer : float, optional
        The share of rows to defer to a person or a larger model, above 0 and below 1.
    helper_accuracy : float or None, default=0.9
        How often that helper is right in every class; None: serve the rows that remain best.
    **search
        The other settings of the search.

    Raises
    ------
    InvalidInputError
        For a setting outside its range, or a solver that cannot minimise the objective.

    Examples
    --------
    >>> settings = FitSettings(scale=30, robust="off")
    >>> settings.robust, str(settings.scale), settings.solver
    ('off', '30', Coordinate(effort=1.0))
    """

    robust: str
    target_prior: PriorLike | None
    defer: float | None
    helper_accuracy: float | None

    def __init__(
        self,
        objective: ObjectiveLike | ConfusionFunction | None = None,
        *,
        robust: str = "auto",
        target_prior: PriorLike | None = None,
        defer: float | None = None,
        helper_accuracy: float | None = 0.9,
        **search: Unpack[SearchKeywords],
    ) -> None:
        super().__init__(objective, **search)
        vars(self).update(robust=check_choice("robust", robust, ROBUST), target_prior=target_prior)
        if defer is not None:
            Deferral((), defer, helper_accuracy)  # refuses what is out of range
        vars(self).update(defer=defer, helper_accuracy=helper_accuracy)


def beta_of(objective: ObjectiveLike) -> float:
    """Return the weight of COBias by which a fit is judged: the default, if it has none itself."""
    return objective.beta if isinstance(objective, Objective) else Objective().beta


class Preset(NamedTuple):
    """Settings that have a name, as :class:`FitSettings` takes them.

    Attributes
    ----------
    objective : Objective
    scale : int or str
    solver : str or Solver
    robust : str

    Examples
    --------
    >>> PAPER.scale, PAPER.objective.smoothing, OURS.scale
    (30, 4000.0, 'log:1000')
    >>> PAPER.solver.chain, AUTHORS.solver.max_generated
    (3.0, 6)
    """

    objective: Objective
    scale: int | str = DEFAULT_SCALE
    solver: str | Solver = "coordinate"
    robust: str = "auto"


#: K of the paper.
PAPER_SCALE = 30

#: The defaults of a fit.
OURS = Preset(Objective())
#: The paper's annealing, β = 2.7, τ = 0.2, K = 30. The paper chooses μ on a dev set and does not
#: print it. A plain fit has no dev set and takes that of the authors' code, 4000.
PAPER = Preset(Objective.published(), PAPER_SCALE, Anneal.paper(), "off")
#: The public code of a later paper of the authors: at most 6 moves at each temperature, μ = 4000.
AUTHORS = PAPER._replace(solver=Anneal())
#: What ``--preset`` takes.
PRESETS = {"paper": PAPER, "authors": AUTHORS}
