"""The methods that experiments compare, on the same rows and by the same scores.

"paper" is annealing as far as the paper describes it, "authors" by the schedule of the authors'
later code: both with settings chosen on dev where an experiment gives a grid. "optimum" minimises
the published objective as well as the default solver can, "ours" is what ``dnip fit`` does by
default.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.fitting import settings as presets
from dnip.fitting.fit import fit
from dnip.method.objective import Objective
from dnip.solvers import Coordinate
from dnip.tables.evaluation import evaluate
from reproduction.degenerate import score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dnip.fitting.record import Fit
    from dnip.tables import ProbabilityTable
    from reproduction.cell import Cell
    from reproduction.experiment import Experiment
    from reproduction.plan import ReproductionPlan
    from reproduction.sources import Source, Sources

PAPER, AUTHORS, OPTIMUM, OURS = "paper", "authors", "optimum", "ours"
#: The raw argmax, in results.
RAW = "raw"
#: The methods in words. What the paper says is judged on the first of them.
METHOD_TITLES = {
    PAPER: "paper's annealing",
    AUTHORS: "authors' schedule",
    OPTIMUM: "plain optimum",
    OURS: "DNIP, ours",
}
METHODS = tuple(METHOD_TITLES)
#: The raw argmax and the methods, in words.
TITLES = {RAW: "raw argmax", **METHOD_TITLES}
#: What pictures show, for want of room.
PICTURED = {way: TITLES[way] for way in (RAW, PAPER, OURS)}

#: COBias values that differ by no more are similar; the paper gives no number.
SIMILAR = 0.02

_PRESETS = {
    PAPER: presets.PAPER,
    AUTHORS: presets.AUTHORS,
    OPTIMUM: replace(presets.PAPER, solver=Coordinate()),
}
# Seed of the division into opt and dev, the same for every experiment.
_CUT_SEED = 0
_Candidate = TypeVar("_Candidate")


def cut(pool: ProbabilityTable, dev_share: float) -> tuple[ProbabilityTable, ProbabilityTable]:
    """Return opt and dev: a division by seed in which every class has the same shares."""
    parts = pool.split({"opt": 1 - dev_share, "dev": dev_share}, seed=_CUT_SEED)
    return parts["opt"], parts["dev"]


def usual_objective(method: str) -> Objective:
    """Return the objective of a method: the published one, or the default of ``dnip fit``.

    Examples
    --------
    >>> usual_objective("paper").smoothing, usual_objective("ours").smoothing
    (4000.0, None)
    """
    return Objective() if method == OURS else Objective.published()


def fit_by(
    method: str,
    opt: ProbabilityTable,
    seed: int,
    objective: Objective | None = None,
    *,
    scale: int = presets.PAPER_SCALE,
    unlabelled: ProbabilityTable | None = None,
) -> Fit:
    """Fit by a method, by default under its own settings.

    Parameters
    ----------
    method : {"paper", "authors", "optimum", "ours"}
    opt : ProbabilityTable
    seed : int
    objective : Objective, optional
        In place of the method's own: β = 2.7, τ = 0.2, μ = 4000, or the defaults for "ours".
    scale : int, default=30
        K; "ours" has its own.
    unlabelled : ProbabilityTable, optional
        More rows, for "ours"; the other methods read labelled rows only.

    Examples
    --------
    >>> import numpy as np
    >>> from dnip import ProbabilityTable
    >>> opt = ProbabilityTable(np.array([[0.9, 0.1], [0.6, 0.4]] * 9), np.array([0, 1] * 9))
    >>> fit_by("paper", opt, seed=0).solution.solver
    'anneal'
    """
    goal = usual_objective(method) if objective is None else objective
    if method == OURS:
        return fit(opt, objective=goal, unlabelled=unlabelled, seed=seed, evidence=False)
    preset = _PRESETS[method]
    return fit(
        opt,
        objective=goal,
        robust=preset.robust,
        scale=scale,
        solver=preset.solver,
        seed=seed,
        evidence=False,
    )


def best_of(
    candidates: Iterable[_Candidate], scores_of: Callable[[_Candidate], Mapping[str, Any]]
) -> _Candidate:
    """Return the best candidate by the criterion of the paper's ablations.

    COBias comes first; among methods of similar COBias, accuracy (section 5.5). That similar is
    within 2 points of the lowest, and that dev is judged so too, is chosen here: the paper does not
    say how it chooses on dev.

    Examples
    --------
    >>> pairs = [(0.10, 0.60), (0.11, 0.70), (0.20, 0.90)]
    >>> best_of(pairs, lambda pair: {"cobias": pair[0], "accuracy": pair[1]})
    (0.11, 0.7)
    """
    scored = [(one, scores_of(one)) for one in candidates]
    lowest = min(found["cobias"] for _, found in scored)
    near = [(one, found) for one, found in scored if found["cobias"] <= lowest + SIMILAR]
    return max(near, key=lambda pair: (pair[1]["accuracy"], -pair[1]["cobias"]))[0]


def choose_on_dev(
    method: str,
    opt: ProbabilityTable,
    dev: ProbabilityTable,
    grid: Mapping[str, Sequence[float]],
    *,
    seed: int,
) -> tuple[dict[str, Any], Fit]:
    """Return the β, τ, K and μ that `best_of` takes by the scores of dev, and their fit.

    Raises
    ------
    InvalidInputError
        If dev holds labels of one class only.
    """
    labels = dev.labelled().labels
    if labels is None or len(np.unique(labels)) < 2:
        raise InvalidInputError(
            f"{dev.source}: {len(dev)} of {len(opt) + len(dev)} rows are dev, which is too few to "
            "choose settings on: they are of one class",
            hint="Give the plan a larger dev_share, such as 0.2, or more rows of data",
        )
    tried = []
    for beta, tau, scale, smoothing in product(
        *(grid[name] for name in ("beta", "tau", "scale", "smoothing"))
    ):
        if tau == 0 and smoothing != grid["smoothing"][0]:
            continue  # without the PMI term, μ changes nothing
        fit = fit_by(method, opt, seed, Objective(beta, tau, smoothing), scale=int(scale))
        settings = {"beta": beta, "tau": tau, "scale": int(scale), "smoothing": smoothing}
        tried.append((settings, fit, scores_after(fit, dev)))
    settings, fit, _ = best_of(tried, lambda one: one[2])
    return settings, fit


def debias(
    opt: ProbabilityTable,
    test: ProbabilityTable,
    *,
    dev_share: float,
    grid: Mapping[str, list[float]],
    seed: int,
) -> dict[str, Any]:
    """Fit by every method and score the test table before and after.

    Parameters
    ----------
    opt : ProbabilityTable
        The pool: `dev_share` of it is dev, the rest opt. All methods fit on the same opt rows.
    test : ProbabilityTable
    dev_share : float
    grid : mapping
        Values of ``beta``, ``tau``, ``scale`` and ``smoothing`` that annealing chooses from, by
        either schedule. The other methods have the settings of `fit_by`.
    seed : int
        Seed of the solver.

    Returns
    -------
    dict
        ``classes``, ``n_opt``, ``n_dev``, ``n``, the chosen ``settings`` by schedule, and the
        scores of the test table under ``raw`` and every method; and ``course``, the objective
        values computed, the last one and the best one at each temperature of the paper's annealing.
    """
    rows, dev = cut(opt, dev_share)
    chosen = {m: choose_on_dev(m, rows, dev, grid, seed=seed) for m in (PAPER, AUTHORS)}
    fits = {method: fit for method, (_, fit) in chosen.items()}
    fits |= {method: fit_by(method, rows, seed) for method in (OPTIMUM, OURS)}
    return {
        "classes": list(test.classes),
        "n_opt": len(rows),
        "n_dev": len(dev),
        "n": len(test.labelled()),
        "settings": {method: settings for method, (settings, _) in chosen.items()},
        "course": [(e.evaluations, e.value, e.incumbent) for e in fits[PAPER].solution.trace],
        RAW: raw_scores(test),
        **{method: scores_after(fit, test) for method, fit in fits.items()},
    }


def debias_cell(
    experiment: Experiment,
    source: Source,
    labels: Mapping[str, Any] | None = None,
    *,
    seed: int | None = None,
) -> Cell:
    """Return the cell of all methods on a source; `seed` is that of the source by default."""
    grid = experiment.plan.grid
    settings = {
        "grid": grid.model_dump(mode="json"),
        "seed": (source.seed or 0) if seed is None else seed,
    }
    with_mu = sum(len(grid.smoothing) if tau else 1 for tau in grid.tau)
    chains = len(grid.beta) * with_mu * sum(grid.scale) / presets.PAPER_SCALE
    return experiment.cell(debias, source, labels or {}, settings, chains=chains)


def in_percent(rates: Mapping[str, float]) -> str:
    """Return rates of variants in words, in per cent.

    Examples
    --------
    >>> in_percent({"raw": 0.5, "z1": 0.25})
    'raw argmax 50.0, z1 25.0'
    """
    return ", ".join(f"{TITLES.get(name, name)} {100 * rate:.1f}" for name, rate in rates.items())


def scores_after(fit: Fit, test: ProbabilityTable) -> dict[str, Any]:
    """Return every score of the test rows under a fit, with its weights and objective."""
    reweighted = evaluate([test], coefficients=fit.coefficients).reweighted
    assert reweighted is not None
    return {
        **score(reweighted, test.classes),
        "weights": fit.coefficients.weights.tolist(),
        "objective": fit.solution.value,
    }


def raw_scores(test: ProbabilityTable) -> dict[str, Any]:
    """Return every score of the test rows under the raw argmax."""
    return score(evaluate([test]).raw, test.classes)


def seeded(sources: Sources, plan: ReproductionPlan) -> Iterator[tuple[Source, int]]:
    """Yield 1-shot sources with the seed of their fits: that of the prompt, as in the paper.

    Saved tables come from one prompt: each is fitted once with every seed of the plan.
    """
    for source in sources.one_shot():
        for seed in plan.seeds if source.seed is None else [source.seed]:
            yield source, seed
