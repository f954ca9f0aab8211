"""The settings that have a name: the published ones, and ours."""

from __future__ import annotations

from dataclasses import replace

from dnip.method.objective import Objective, ObjectiveLike
from dnip.solvers import Anneal, Settings


def beta_of(objective: ObjectiveLike) -> float:
    """Return the weight of COBias by which a fit is judged: the default, if it has none itself."""
    return objective.beta if isinstance(objective, Objective) else Objective().beta


#: K of the paper.
PAPER_SCALE = 30

#: The defaults of a fit.
OURS = Settings()
#: The paper's annealing, β = 2.7, τ = 0.2, K = 30. The paper chooses μ on a dev set and does not
#: print it. A plain fit has no dev set and takes that of the authors' code, 4000.
PAPER = Settings(Objective.published(), scale=PAPER_SCALE, solver=Anneal.paper(), robust="off")
#: The public code of a later paper of the authors: at most 6 moves at each temperature, μ = 4000.
AUTHORS = replace(PAPER, solver=Anneal())
#: What ``--preset`` takes.
PRESETS = {"paper": PAPER, "authors": AUTHORS}
