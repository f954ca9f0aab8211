"""The two methods that every experiment compares, on the same rows and by the same scores.

"published" is the paper's: annealing, and settings chosen on dev where an experiment gives a grid.
"ours" is what ``dnip fit`` does by default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnip.deploying.evaluation import evaluate
from dnip.fitting.fit import fit_table
from dnip.fitting.tuning import Grid, tune
from dnip.method.objective import Objective
from dnip.metrics import scores
from dnip.solvers.presets import PAPER, PAPER_SCALE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dnip.fitting.record import Fit
    from dnip.studies.reproduction.cell import Cell
    from dnip.studies.reproduction.experiment import Experiment
    from dnip.studies.reproduction.plan import ReproductionPlan
    from dnip.studies.reproduction.sources import Source, Sources
    from dnip.tables import ProbabilityTable

PUBLISHED, OURS = "published", "ours"
METHODS = (PUBLISHED, OURS)
#: The raw argmax, in results.
RAW = "raw"
#: The raw argmax and the methods, in words.
METHOD_TITLES = {PUBLISHED: "DNIP as published", OURS: "DNIP, ours"}
TITLES = {RAW: "raw argmax", **METHOD_TITLES}
WAYS = tuple(TITLES)

# Seed of the division into opt and dev, the same for every experiment.
_CUT_SEED = 0


def cut(pool: ProbabilityTable, dev_share: float) -> tuple[ProbabilityTable, ProbabilityTable]:
    """Return opt and dev: a division by seed in which every class has the same shares."""
    parts = pool.split({"opt": 1 - dev_share, "dev": dev_share}, seed=_CUT_SEED)
    return parts["opt"], parts["dev"]


def usual_objective(method: str) -> Objective:
    """Return the objective of a method: the published settings, or the defaults.

    Examples
    --------
    >>> usual_objective("published").smoothing, usual_objective("ours").smoothing
    (4000.0, None)
    """
    return PAPER.objective if method == PUBLISHED else Objective()


def fit_by(
    method: str,
    opt: ProbabilityTable,
    seed: int,
    objective: Objective | None = None,
    *,
    scale: int = PAPER_SCALE,
    unlabelled: ProbabilityTable | None = None,
) -> Fit:
    """Fit as published (annealing, β = 2.7, τ = 0.2, μ = 4000, K = 30), or as ``dnip fit`` does.

    Parameters
    ----------
    method : {"published", "ours"}
    opt : ProbabilityTable
    seed : int
    objective : Objective, optional
        In place of the method's own.
    scale : int, default=30
        K of the published method; ours has its own.
    unlabelled : ProbabilityTable, optional
        More rows, for ours; the published method reads labelled rows only.

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
        return fit_table(
            opt, goal, robust=PAPER.robust, scale=scale, solver=PAPER.solver, seed=seed
        )
    return fit_table(opt, goal, unlabelled=unlabelled, seed=seed)


def choose_on_dev(
    opt: ProbabilityTable,
    dev: ProbabilityTable,
    grid: Mapping[str, Sequence[float]],
    *,
    seed: int,
) -> dict[str, Any]:
    """Return the β, τ, K and μ whose fit by annealing has the lowest COBias on dev.

    Among equal ones the most accurate is chosen: the paper's stated priority.
    """
    found = tune(
        opt,
        grid=Grid(
            betas=tuple(grid["beta"]),
            taus=tuple(grid["tau"]),
            scales=tuple(int(scale) for scale in grid["scale"]),
            smoothings=tuple(grid["smoothing"]),
            robust_modes=(PAPER.robust,),
        ),
        criterion="cobias",
        confidence=0.0,
        dev=dev,
        solver=PAPER.solver,
        seed=seed,
    )
    chosen = found.choice.chosen.to_dict()
    return {name: chosen[name] for name in ("beta", "tau", "scale", "smoothing")}


def debias(
    opt: ProbabilityTable,
    test: ProbabilityTable,
    *,
    dev_share: float,
    grid: Mapping[str, list[float]],
    seed: int,
) -> dict[str, Any]:
    """Fit by both methods and score the test table before and after.

    Parameters
    ----------
    opt : ProbabilityTable
        The pool: `dev_share` of it is dev, the rest opt. Both methods fit on the same opt rows.
    test : ProbabilityTable
    dev_share : float
    grid : mapping
        Values of ``beta``, ``tau``, ``scale`` and ``smoothing`` that "published" chooses from.
    seed : int
        Seed of the solver.

    Returns
    -------
    dict
        ``classes``, ``n_opt``, ``n``, the chosen ``settings``, and the scores of the test table
        under ``raw``, ``published`` and ``ours``.
    """
    rows, dev = cut(opt, dev_share)
    settings = choose_on_dev(rows, dev, grid, seed=seed)
    objective = Objective(settings["beta"], settings["tau"], settings["smoothing"])
    published = fit_by(PUBLISHED, rows, seed, objective, scale=settings["scale"])
    return {
        "classes": list(test.classes),
        "n_opt": len(rows),
        "n": len(test.labelled()),
        "settings": settings,
        RAW: raw_scores(test),
        PUBLISHED: scores_after(published, test),
        OURS: scores_after(fit_by(OURS, rows, seed), test),
    }


def debias_cell(
    experiment: Experiment,
    source: Source,
    labels: Mapping[str, Any] | None = None,
    *,
    seed: int | None = None,
) -> Cell:
    """Return the cell of both methods on a source; `seed` is that of the source by default."""
    settings = {
        "grid": experiment.plan.grid.model_dump(mode="json"),
        "seed": (source.seed or 0) if seed is None else seed,
    }
    return experiment.cell(debias, source, labels or {}, settings)


def in_percent(rates: Mapping[str, float]) -> str:
    """Return rates of variants in words, in per cent.

    Examples
    --------
    >>> in_percent({"raw": 0.5, "z1": 0.25})
    'raw argmax 50.0, z1 25.0'
    """
    return ", ".join(f"{TITLES.get(name, name)} {100 * rate:.1f}" for name, rate in rates.items())


def scores_after(fit: Fit, test: ProbabilityTable) -> dict[str, Any]:
    """Return every metric of the test rows under a fit, with its weights and objective."""
    reweighted = evaluate([test], fit.coefficients).reweighted
    assert reweighted is not None
    return {
        **scores(reweighted),
        "weights": fit.coefficients.weights.tolist(),
        "objective": fit.solution.value,
    }


def raw_scores(test: ProbabilityTable) -> dict[str, Any]:
    """Return every metric of the test rows under the raw argmax."""
    return scores(evaluate([test]).raw)


def seeded(sources: Sources, plan: ReproductionPlan) -> Iterator[tuple[Source, int]]:
    """Yield 1-shot sources with the seed of their fits: that of the prompt, as in the paper.

    Saved tables come from one prompt: each is fitted once with every seed of the plan.
    """
    for source in sources.one_shot():
        for seed in plan.seeds if source.seed is None else [source.seed]:
            yield source, seed
