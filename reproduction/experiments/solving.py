"""Table 3, appendix C and section 5.2: time, convergence, and weight scales of K points."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import dnip
from dnip.base.typing import Floats
from dnip.solvers import Solver
from dnip.solvers.search import PRESETS
from reproduction.experiments.base import Claims, Experiment, Run
from reproduction.judging import Scores
from reproduction.methods import (
    FIT,
    PAPER,
    RAW,
    SCALE,
    SIMILAR,
    AuthorsAnneal,
    Found,
    decide,
    naming,
)
from reproduction.presenting import TITLES, lines, markdown, short
from reproduction.probabilities import Cell

AUTHORS, SEARCH, EXACT, CHOSEN = "authors' schedule", "coordinate", "exact", "as chosen"
# Seconds for a proof, and "minutes" in seconds: the paper's own longest is 43 minutes.
PROOF, MINUTES = 20.0, 3600.0
# Values of Z nearer than this are the same.
SAME = 1e-6
RUNS = 3
SCALES = (10, 30, 100, 300, 1000)


def first_seed(run: Run) -> list[Cell]:
    """Return the 1-shot cells of the first seed of each task."""
    return list({cell.task: cell for cell in reversed([*run.data.cells()])}.values())[::-1]


def table_time(_run: Run, results: Any) -> str:
    """Return seconds, and the objective that was reached."""
    names = {CHOSEN: "annealing", **{name: name for name in (AUTHORS, SEARCH, EXACT)}}
    rows = []
    for task, of_task in results.groupby("task", sort=False):
        own = of_task.groupby("method").first()
        cells = [f"{own.seconds[name]:.2g} s, Z {own.value[name]:.4f}" for name in names]
        cells[-1] += "" if own.proven[EXACT] else " (no proof)"
        size = f"{own.n_opt.iloc[0]} × {own.n_classes.iloc[0]}"
        rows.append([task, size, *cells, f"{own.seconds[FIT]:.2g} s"])
    return markdown(["Task", "Rows × classes", *names.values(), FIT], rows)


def judge_time(_run: Run, results: Any, _scores: Scores) -> Claims:
    """Judge times and the order of the complexity."""
    own = results[results.method == CHOSEN].seconds
    words = f"{own.min():.2g} to {own.max():.2g} s in {len(own)} runs; per cent below an hour:"
    yield "minutes", lambda: {words: np.array([1 - own.max() / MINUTES])}


def readings(n_examples: int) -> dict[str, Solver | str]:
    """Return annealing as ``--preset paper`` chooses, then with one choice changed at a time."""
    chosen: Any = PRESETS["paper"].solver
    change = partial(replace, chosen)
    return {
        CHOSEN: chosen,
        **{f"λ = {chain:g}": change(chain=chain) for chain in (0.25, 1.0, 10.0)},
        "a tenth accepted ends a temperature": change(chain_accepted=0.1),
        "no end by acceptance": change(chain_accepted=1.0),
        **{f"to T = {last:g}": change(t_min=last) for last in (200.0, 2.0)},
        "T compared with Z": change(t_max=chosen.t_max * n_examples),
        AUTHORS: AuthorsAnneal(),
        SEARCH: SEARCH,
    }


def solve_ways(cell: Cell) -> list[Found]:
    """Minimise the published objective in each way, take the time, and fit by default."""
    opt, test, found = cell.opt, cell.test.p, []
    ways = {**readings(len(opt.y)), EXACT: EXACT}
    with naming(cell):
        for name, seed in product(ways, range(RUNS)):
            if name == EXACT and seed:
                continue  # it draws nothing
            began, limit = time.perf_counter(), PROOF if name == EXACT else None
            solution = dnip.solve(
                opt.p, opt.y, PAPER, scale=SCALE, solver=ways[name], seed=seed, time_limit=limit
            )
            notes = {"seconds": time.perf_counter() - began, "value": solution.value}
            notes["proven"] = solution.status.value == "optimal"
            found.append(Found(name, decide(test, solution.weight_indices), notes))
        best, proven = min(one.notes["value"] for one in found), found[-1].notes["proven"]
        began = time.perf_counter()
        weights = dnip.fit(opt.p, opt.y, seed=cell.seed).coefficients.weights
        fitted = Found(FIT, decide(test, weights), {"seconds": time.perf_counter() - began})
    for one in found:
        one.notes.update(gap=one.notes["value"] - best, optimum=best, proven=proven)
    return [*found, fitted]


def table_convergence(_run: Run, results: Any) -> str:
    """Return mean and worst gap of each reading, and how many runs are at the optimum."""
    rows = []
    for name, own in results[results.method != FIT].groupby("method", sort=False):
        hits = f"{(own.gap < SAME).sum()} of {len(own)}"
        rows.append([name, f"{own.gap.mean():.4f}", f"{own.gap.max():.4f}", hits])
    found = results.groupby("task", sort=False).first().itertuples()
    proofs = [f"{o.Index} {o.optimum:.4f}{'' if o.proven else ' (no proof)'}" for o in found]
    told = f"Optimum: {', '.join(proofs)}."
    return f"{markdown(['Annealing', 'Mean gap', 'Worst', 'At the optimum'], rows)}\n\n{told}"


def judge_convergence(_run: Run, results: Any, _scores: Scores) -> Claims:
    """Say how many runs end at a proven optimum; a finite run can neither show nor refute more."""
    own = results[(results.method == CHOSEN) & (results.proven == True)].gap  # noqa: E712
    yield "limit", f"{(own < SAME).sum()} of {len(own)} runs at the proven optimum"


def by_scale(cell: Cell) -> list[Found]:
    """Find the plain optimum of the published objective for each K."""
    found = [Found(RAW, decide(cell.test.p), {})]
    with naming(cell):
        for scale in SCALES:
            solution = dnip.solve(cell.opt.p, cell.opt.y, PAPER, scale=scale, seed=cell.seed)
            predicted = decide(cell.test.p, solution.weight_indices)
            found.append(Found(f"K = {scale}", predicted, {"value": solution.value}))
    return found


def draw_scale(figure: Any, run: Run, results: Any) -> None:
    """Draw scores over K, a line for each task."""
    places = [RAW, *(f"K = {scale}" for scale in SCALES)]
    means = results.groupby(["task", "method"])[list(TITLES)].mean()
    series = {short(task): means.loc[task].reindex(places) for task in run.data.tasks}
    lines(figure, series, [RAW, *map(str, SCALES)], "K")


def judge_scale(_run: Run, _results: Any, scores: Scores) -> Claims:
    """Judge on how many tasks K = 30 comes within two points of K = 300, in both metrics."""

    def most() -> dict[str, Floats]:
        lost = [Scores(scores.results, [t]).better("K = 300", "K = 30") for t in scores.tasks]
        enough = np.array([np.max([*of_task.values()], axis=0) < SIMILAR for of_task in lost])
        told = f"two points or less are lost on {enough[:, 0].sum()} of {len(lost)} tasks"
        return {f"{told}; their share above one half by": enough.mean(axis=0) - 0.5}

    yield "enough", most


TIME = Experiment(
    "time",
    "Time of the optimisation",
    lambda run: run.over(solve_ways, first_seed(run)),
    judge_time,
    table_time,
)
CONVERGENCE = Experiment(
    "convergence",
    "Annealing against the optimum",
    lambda run: run.over(solve_ways, first_seed(run)),
    judge_convergence,
    table_convergence,
)
SCALE_SIZES = Experiment(
    "scale",
    "Weight scales of K points, the plain optimum",
    lambda run: run.over(by_scale, run.data.cells()),
    judge_scale,
    draw=draw_scale,
)
