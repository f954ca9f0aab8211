"""Settings of a fit that have a name: the published ones, and ours."""

from __future__ import annotations

from typing import NamedTuple

from dnip.method.objective import Objective
from dnip.method.scales import DEFAULT_SCALE


class Preset(NamedTuple):
    """Settings of a fit, as :class:`~dnip.solvers.FitSettings` takes them.

    Attributes
    ----------
    objective : Objective
    scale : int or str
    solver : str
    robust : str

    Examples
    --------
    >>> PAPER.scale, PAPER.objective.smoothing, OURS.scale
    (30, 4000.0, 'log:1000')
    """

    objective: Objective
    scale: int | str = DEFAULT_SCALE
    solver: str = "coordinate"
    robust: str = "auto"


#: K of the paper.
PAPER_SCALE = 30

#: The defaults of a fit.
OURS = Preset(Objective())
#: The published fit: annealing, β = 2.7, τ = 0.2, μ = 4000, K = 30.
PAPER = Preset(Objective.published(), scale=PAPER_SCALE, solver="anneal", robust="off")
#: What ``--preset`` takes.
PRESETS = {"paper": PAPER}
