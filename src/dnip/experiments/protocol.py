"""What all experiments share: opt and dev, the choice of settings, the two methods, the scores."""

from __future__ import annotations

import time
from itertools import product
from typing import TYPE_CHECKING, Any

from dnip.evaluation import evaluate
from dnip.fitting import fit_table
from dnip.metrics import accuracy, cobias
from dnip.objective import Objective
from dnip.solvers import Anneal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dnip.coefficients import Coefficients
    from dnip.experiments.plan import Plan
    from dnip.tables import ProbabilityTable
    from dnip.typing import Counts

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
    if method == PUBLISHED:
        settings = choose_on_dev(fitted_on, dev, grid, seed=seed)
        began = time.perf_counter()
        fitted = published_fit(fitted_on, settings, seed=seed)
    else:
        settings = {}
        began = time.perf_counter()
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


def published_fit(opt: ProbabilityTable, settings: Mapping[str, Any], *, seed: int) -> Any:  # noqa: ANN401
    """Fit as published: annealing under given β, τ, K and μ, the plain optimum of Z."""
    objective = Objective(settings["beta"], settings["tau"], settings["smoothing"])
    return fit_table(
        opt, objective, robust="off", scale=settings["scale"], solver=Anneal(), seed=seed
    )


def choose_on_dev(
    opt: ProbabilityTable,
    dev: ProbabilityTable,
    grid: Mapping[str, list[float]],
    *,
    seed: int,
) -> dict[str, Any]:
    """Return the settings of the grid whose fit has the lowest COBias on dev.

    Among those within a point of the lowest COBias, the most accurate wins: the paper's stated
    priority.
    """
    tried = []
    names = ("beta", "tau", "scale", "smoothing")
    for values in product(*(grid[name] for name in names)):
        settings = dict(zip(names, values, strict=True))
        confusion = confusion_after(dev, published_fit(opt, settings, seed=seed).coefficients)
        tried.append((cobias(confusion), accuracy(confusion), settings))
    lowest = min(gap for gap, _, _ in tried)
    near = [
        (right, -gap, number)
        for number, (gap, right, _) in enumerate(tried)
        if gap <= lowest + 0.01
    ]
    _, _, best = max(near, key=lambda one: (one[0], one[1], -one[2]))
    return tried[best][2]


def confusion_after(table: ProbabilityTable, coefficients: Coefficients) -> Counts:
    """Return the confusion counts of a table under coefficients."""
    counted = evaluate([table], coefficients).reweighted
    assert counted is not None
    return counted


def score_before_and_after(test: ProbabilityTable, coefficients: Coefficients) -> dict[str, Any]:
    """Return ``classes``, ``n``, and ``raw`` and ``reweighted`` scores."""
    return evaluate([test], coefficients).to_dict()
