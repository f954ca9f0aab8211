"""Settings of a fit that have a name: the published ones, and ours."""

from __future__ import annotations

from typing import NamedTuple

from dnip.method.objective import Objective
from dnip.method.scales import DEFAULT_SCALE
from dnip.solvers.anneal import Anneal
from dnip.solvers.driver import Solver


class Preset(NamedTuple):
    """Settings of a fit, as :class:`~dnip.solvers.FitSettings` takes them.

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
#: The paper's text: chains of λNK moves, β = 2.7, τ = 0.2, K = 30. The paper chooses μ on a dev set
#: and does not print it. A plain fit has no dev set and takes that of the authors' code, 4000;
#: `dnip tune` can choose it.
PAPER = Preset(Objective.published(), PAPER_SCALE, Anneal.paper(), "off")
#: The public code of a later paper of the authors: at most 6 moves at each temperature, μ = 4000.
AUTHORS = PAPER._replace(solver=Anneal())
#: What ``--preset`` takes.
PRESETS = {"paper": PAPER, "authors": AUTHORS}
