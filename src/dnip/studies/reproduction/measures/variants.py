"""The two fits that every experiment sets side by side, with one change at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnip.deploying.evaluation import evaluate
from dnip.fitting.fit import fit_table
from dnip.method.objective import Objective
from dnip.metrics import scores
from dnip.solvers import solve
from dnip.studies.reproduction.naming import METHOD_TITLES
from dnip.studies.reproduction.protocol import PUBLISHED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnip.fitting.fit import Fit
    from dnip.studies.reproduction.plan import Plan
    from dnip.studies.reproduction.sources import Source, Sources
    from dnip.tables import ProbabilityTable

#: How the methods are called in results; and in words.
RAW = "raw"
TITLES = {RAW: "raw argmax", **METHOD_TITLES}

#: K of the paper.
SCALE = 30


def usual_objective(method: str) -> Objective:
    """Return the objective of a method: the published settings, or the defaults.

    Examples
    --------
    >>> usual_objective("published").smoothing, usual_objective("ours").smoothing
    (4000.0, None)
    """
    return Objective.published() if method == PUBLISHED else Objective()


def fit_by(
    method: str, opt: ProbabilityTable, seed: int, objective: Objective | None = None
) -> Fit:
    """Fit as published (annealing, β = 2.7, τ = 0.2, μ = 4000), or as ``dnip fit`` does.

    Parameters
    ----------
    method : {"published", "ours"}
    opt : ProbabilityTable
    seed : int
    objective : Objective, optional
        In place of the method's own.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> opt = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]] * 9), np.array([0, 1] * 9))
    >>> fit_by("published", opt, seed=0).solution.solver
    'anneal'
    """
    goal = usual_objective(method) if objective is None else objective
    if method == PUBLISHED:
        return fit_table(opt, goal, robust="off", scale=SCALE, solver="anneal", seed=seed)
    return fit_table(opt, goal, seed=seed)


def scores_after(fit: Fit, test: ProbabilityTable) -> dict[str, Any]:
    """Return every metric of the test rows under a fit, with its weights."""
    reweighted = evaluate([test], fit.coefficients).reweighted
    assert reweighted is not None
    return {**scores(reweighted), "weights": fit.coefficients.weights.tolist()}


def raw_scores(test: ProbabilityTable) -> dict[str, Any]:
    """Return every metric of the test rows under the raw argmax."""
    return scores(evaluate([test]).raw)


def seeded(sources: Sources, plan: Plan) -> list[tuple[Source, int]]:
    """Return 1-shot sources with the seed of their fits: that of the prompt, as in the paper.

    Saved tables come from one prompt; the seeds of the plan are then those of the fits alone.
    """
    pairs: list[tuple[Source, int]] = []
    for source in sources.one_shot():
        seeds: Sequence[int] = plan.seeds if source.seed is None else [source.seed]
        pairs += [(source, seed) for seed in seeds]
    return pairs


# Rows and seconds of a rehearsal: enough to reach every kernel of the exact solver.
_FEW_ROWS, _FEW_SECONDS = 60, 5.0


def rehearse(rows: ProbabilityTable) -> None:
    """Run every solver on a few rows, so that nothing is compiled while a clock runs.

    Examples
    --------
    >>> from dnip.studies.demonstration import bundled_table
    >>> rehearse(bundled_table("opt"))
    """
    few = rows.draw(min(len(rows), max(_FEW_ROWS, rows.n_classes)), seed=0)
    assert few.labels is not None
    for solver in ("anneal", "coordinate", "exact"):
        solve(
            few.probabilities,
            few.labels,
            Objective.published(),
            scale=SCALE,
            solver=solver,
            time_limit=_FEW_SECONDS,
            classes=rows.classes,
        )
