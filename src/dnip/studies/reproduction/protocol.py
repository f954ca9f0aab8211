"""What all experiments share: opt and dev, the choice of settings, the two methods, the scores."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from dnip.deploying.evaluation import evaluate
from dnip.fitting.fit import fit_table
from dnip.fitting.tuning import Grid, tune
from dnip.method.objective import Objective
from dnip.solvers import Anneal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnip.method.coefficients import Coefficients
    from dnip.studies.reproduction.plan import Plan
    from dnip.tables import ProbabilityTable

#: The two methods that every experiment reports: annealing with settings chosen on dev, as
#: published; and this package's defaults, as ``dnip fit`` takes them.
PUBLISHED, OURS = "published", "ours"
METHODS = (PUBLISHED, OURS)

#: Seed of the cut into opt and dev, the same for every experiment.
CUT_SEED = 0


def score_table(test: ProbabilityTable) -> dict[str, Any]:
    """Return every metric of a table's raw argmax."""
    return evaluate([test]).to_dict()


def cut(pool: ProbabilityTable, dev_share: float) -> tuple[ProbabilityTable, ProbabilityTable]:
    """Return opt and dev: a cut by seed in which every class is divided alike."""
    parts = pool.split({"opt": 1 - dev_share, "dev": dev_share}, seed=CUT_SEED)
    return parts["opt"], parts["dev"]


def debias(
    opt: ProbabilityTable,
    test: ProbabilityTable,
    *,
    method: str,
    dev_share: float,
    grid: Mapping[str, list[float]],
    seed: int,
) -> dict[str, Any]:
    """Fit by one of the two methods and score the test table before and after.

    Parameters
    ----------
    opt : ProbabilityTable
        The pool: `dev_share` of it is dev, the rest opt. Both methods fit on the same opt rows.
    test : ProbabilityTable
    method : {"published", "ours"}
    dev_share : float
    grid : mapping
        Values of ``beta``, ``tau``, ``scale`` and ``smoothing`` that "published" chooses from.
    seed : int
        Of the solver.

    Returns
    -------
    dict
        ``n_opt``, ``raw`` and ``reweighted`` scores of the test table, ``weight_indices``,
        ``scale``, ``objective``, ``settings``, ``fit_seconds`` (of the last fit, without the
        choice of settings).
    """
    fitted_on, dev = cut(opt, dev_share)
    settings: dict[str, Any] = {}
    if method == PUBLISHED:
        settings = choose_on_dev(fitted_on, dev, grid, seed=seed)
    began = time.perf_counter()
    if method == PUBLISHED:
        objective = Objective(settings["beta"], settings["tau"], settings["smoothing"])
        scale = settings["scale"]
        fitted = fit_table(
            fitted_on, objective, robust="off", scale=scale, solver=Anneal(), seed=seed
        )
    else:
        fitted = fit_table(fitted_on, seed=seed)
    seconds = time.perf_counter() - began
    return {
        **score_before_and_after(test, fitted.coefficients),
        "n_opt": len(fitted_on),
        "weight_indices": fitted.solution.weight_indices.tolist(),
        "scale": fitted.coefficients.scale,
        "objective": fitted.solution.value,
        "settings": settings,
        "fit_seconds": seconds,
    }


def debias_settings(plan: Plan, method: str, seed: int | None) -> dict[str, Any]:
    """Return the settings of a cell of `debias`."""
    grid = {name: list(values) for name, values in vars(plan.grid).items()}
    return {
        "method": method,
        "dev_share": plan.dev_share,
        "grid": grid if method == PUBLISHED else {},
        "seed": seed or 0,
    }


def choose_on_dev(
    opt: ProbabilityTable,
    dev: ProbabilityTable,
    grid: Mapping[str, Sequence[float]],
    *,
    seed: int,
) -> dict[str, Any]:
    """Return the β, τ, K and μ whose fit by annealing has the lowest COBias on dev.

    Of those that are equal the most accurate is taken: the paper's stated priority.
    """
    found = tune(
        opt,
        grid=Grid(
            betas=tuple(grid["beta"]),
            taus=tuple(grid["tau"]),
            scales=tuple(int(scale) for scale in grid["scale"]),
            smoothings=tuple(grid["smoothing"]),
            robust_modes=("off",),
        ),
        criterion="cobias",
        confidence=0.0,
        dev=dev,
        solver=Anneal(),
        seed=seed,
    )
    chosen = found.choice.chosen.to_dict()
    return {name: chosen[name] for name in ("beta", "tau", "scale", "smoothing")}


def score_before_and_after(test: ProbabilityTable, coefficients: Coefficients) -> dict[str, Any]:
    """Return ``classes``, ``n``, and ``raw`` and ``reweighted`` scores."""
    return evaluate([test], coefficients).to_dict()
