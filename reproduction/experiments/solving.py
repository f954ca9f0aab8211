"""Table 3, appendix C and section 5.2: time, convergence, and weight scales of K points."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import dnip
from dnip.base.typing import Floats
from dnip.fitting.settings import PRESETS
from dnip.solvers import Solver
from reproduction.experiments.base import Experiment, Run
from reproduction.judging import FAILS, HOLDS, UNJUDGED, Claim, judge
from reproduction.methods import FIT, PAPER, RAW, SCALE, SIMILAR, Found, decide, naming
from reproduction.presenting import COLOURS, TITLES, by_task, markdown, plain, short
from reproduction.probabilities import ONE, Cell
from reproduction.published import paper_rows

ANNEALING, AUTHORS, SEARCH, EXACT = "annealing", "authors' schedule", "coordinate", "exact"
FINER = "annealing, K = 100"
# Seconds for a proof, and "minutes" in seconds: the paper's own longest is 43 minutes.
PROOF, MINUTES = 20.0, 3600.0
# How near to 1 an exponent is.
NEAR = 0.25
RUNS = 3
# Values of Z nearer than this are the same.
SAME = 1e-6
SCALES = (10, 30, 100, 300, 1000)


def first_seed(run: Run) -> list[Cell]:
    """Return the 1-shot cells of the first seed of each task."""
    found: dict[str, Cell] = {}
    for cell in run.data.cells(ONE):
        found.setdefault(cell.task, cell)
    return list(found.values())


def time_solvers(cell: Cell) -> list[Found]:
    """Minimise the same objective in each way, and take the time."""
    opt, n = cell.opt, cell.opt.p.shape[1]
    ways: dict[str, Any] = {
        ANNEALING: (PRESETS["paper"].solver, SCALE),
        FINER: (PRESETS["paper"].solver, 100),
        AUTHORS: (PRESETS["authors"].solver, SCALE),
        SEARCH: ("coordinate", SCALE),
        EXACT: ("exact", SCALE),
    }
    found = []
    with naming(cell):
        for name, (solver, scale) in ways.items():
            limit = PROOF if solver == "exact" else None
            began = time.perf_counter()
            solution = dnip.solve(
                opt.p, opt.y, PAPER, scale=scale, solver=solver, seed=cell.seed, time_limit=limit
            )
            notes = {
                "seconds": time.perf_counter() - began,
                "space": n * scale,
                "evaluations": solution.evaluations,
                "value": solution.value,
                "status": solution.status.value,
            }
            found.append(Found(name, decide(cell.test.p, solution.weight_indices), notes))
        began = time.perf_counter()
        weights = dnip.fit(opt.p, opt.y, seed=cell.seed).coefficients.weights
        notes = {"seconds": time.perf_counter() - began}
    began = time.perf_counter()
    predicted = decide(cell.test.p, weights)
    notes["microseconds_a_row"] = 1e6 * (time.perf_counter() - began) / len(cell.test.y)
    return [*found, Found(FIT, predicted, notes)]


def table_time(run: Run, results: Any) -> str:
    """Return seconds, and the objective that was reached, then the paper's table."""
    rows = []
    for task in (t for t in run.data.tasks if t in set(results.task)):
        own = results[results.task == task].set_index("method")
        cells = []
        for name in (ANNEALING, FINER, AUTHORS, SEARCH, EXACT):
            one = own.loc[name]
            mark = "" if name != EXACT or one.status == "optimal" else " (no proof)"
            cells.append(f"{one.seconds:.2g} s, Z {one.value:.4f}{mark}")
        size = f"{own.n_opt.iloc[0]} × {own.n_classes.iloc[0]}"
        rows.append([task, size, *cells, f"{own.loc[FIT].seconds:.2g} s"])
    header = ["Task", "Rows × classes", ANNEALING, FINER, AUTHORS, SEARCH, EXACT]
    told = (
        f"One process, first seed, published objective, K = 30 but for the second. {FIT}: with its "
        "evidence, on its own objective and scale, so that its Z is another. A row costs "
        f"{results.microseconds_a_row.mean():.2g} µs at test: a product and an argmax."
    )
    ours = markdown([*header, FIT], rows)
    return "\n\n".join([ours, told, "The paper's numbers:", markdown(*paper_rows("time"))])


def draw_time(figure: Any, run: Run, results: Any) -> None:
    """Draw seconds over NK."""
    figure.set_size_inches(6, 3.6)
    axes = figure.subplots()
    for number, name in enumerate((ANNEALING, AUTHORS, SEARCH, EXACT), start=1):
        own = results[results.method.isin([name, *([FINER] if name == ANNEALING else [])])]
        axes.loglog(own.space, own.seconds, "o", color=COLOURS[number], label=name)
    axes.set_xlabel("NK")
    axes.set_ylabel("seconds")
    axes.legend(fontsize=8, frameon=False)
    plain(axes)


def judge_time(run: Run, results: Any) -> Iterator[Claim]:
    """Judge times and the order of the complexity."""
    own = results[results.method == ANNEALING]
    words = f"{own.seconds.min():.2g} to {own.seconds.max():.2g} s, {len(own)} runs"
    verdict = HOLDS if own.seconds.max() < MINUTES else FAILS
    says = "Optimisation takes minutes on every dataset"
    yield Claim("time", says, "203 to 2,584 s, on a CPU that is not named", words, verdict)
    both = results[results.method.isin([ANNEALING, FINER])]
    x, y = np.log(both.space.to_numpy(float)), np.log(both.evaluations.to_numpy(float))
    rng = np.random.default_rng(0)
    draws = [np.arange(len(x)), *rng.integers(0, len(x), (1000, len(x)))]
    slopes = np.array([np.polyfit(x[d], y[d], 1)[0] for d in draws if np.ptp(x[d]) > 0])
    yield judge(
        "time",
        "The complexity of annealing, counted in sampled points, is O(NK)",
        "λNK · log_α(T_min / T_max) points, no figures",
        lambda: {
            f"exponent {slopes[0]:.2f}: hundredths above {1 - NEAR}": slopes - (1 - NEAR),
            f"hundredths below {1 + NEAR}": 1 + NEAR - slopes,
        },
    )
    cost = f"{results.microseconds_a_row.mean():.2g} µs a row; the file holds no time of the model"
    says = "At test, weights cost next to nothing: a product and an argmax for each answer"
    yield Claim("time", says, "no number", cost, UNJUDGED)


def readings(n_examples: int) -> dict[str, Solver | str]:
    """Return annealing as ``--preset paper`` chooses, then with one choice changed at a time."""
    chosen: Any = PRESETS["paper"].solver
    change = partial(replace, chosen)
    return {
        "as chosen": chosen,
        **{f"λ = {chain:g}": change(chain=chain) for chain in (0.25, 1.0, 10.0)},
        "a tenth accepted ends a temperature": change(chain_accepted=0.1),
        "no end by acceptance": change(chain_accepted=1.0),
        **{f"to T = {last:g}": change(t_min=last) for last in (200.0, 2.0)},
        "T compared with Z": change(t_max=chosen.t_max * n_examples),
        AUTHORS: PRESETS["authors"].solver,
        SEARCH: "coordinate",
    }


def converge(cell: Cell) -> list[Found]:
    """Return the gap to the optimum under each reading of what the paper leaves open."""
    opt = cell.opt
    solve = partial(dnip.solve, opt.p, opt.y, PAPER, scale=SCALE)
    with naming(cell):
        best = solve(solver="exact", time_limit=PROOF)
        runs = [
            (name, solve(solver=solver, seed=seed))
            for name, solver in readings(len(opt.y)).items()
            for seed in range(RUNS)
        ]
    optimum = min(best.value, *(one.value for _, one in runs))
    proven = best.status.value == "optimal"
    return [
        Found(
            name,
            decide(cell.test.p, one.weight_indices),
            {"gap": max(one.value - optimum, 0.0), "optimum": optimum, "proven": proven},
        )
        for name, one in runs
    ]


def table_convergence(run: Run, results: Any) -> str:
    """Return mean and worst gap of each reading, and how many runs are at the optimum."""
    rows = []
    for name, own in results.groupby("method", sort=False):
        hits = f"{(own.gap < SAME).sum()} of {len(own)}"
        rows.append([name, f"{own.gap.mean():.4f}", f"{own.gap.max():.4f}", hits])
    proofs = results.groupby("task", sort=False).first()
    told = ", ".join(
        f"{task} {one.optimum:.4f}{'' if one.proven else ' (no proof)'}"
        for task, one in proofs.iterrows()
    )
    return "\n\n".join(
        [
            markdown(["Annealing", "Mean gap", "Worst", "Runs at the optimum"], rows),
            f"Gap of Z to the optimum at K = 30, first seed, {RUNS} runs each. Optimum: {told}. "
            "Without a proof, the best value of all runs stands for it.",
        ]
    )


def draw_convergence(figure: Any, run: Run, results: Any) -> None:
    """Draw the mean gap of each reading."""
    figure.set_size_inches(7, 3.6)
    axes = figure.subplots()
    means = results.groupby("method", sort=False).gap.mean()
    axes.barh(np.arange(len(means)), means, color=COLOURS[1])
    axes.set_yticks(np.arange(len(means)), means.index, fontsize=8)
    axes.set_xscale("symlog", linthresh=1e-4)
    axes.invert_yaxis()
    axes.set_xlabel("mean gap of Z to the optimum")


def judge_convergence(run: Run, results: Any) -> Iterator[Claim]:
    """Say how many runs end at a proven optimum; a finite run can neither show nor refute more."""
    own = results[(results.method == "as chosen") & results.proven]
    words = f"{(own.gap < SAME).sum()} of {len(own)} runs at the proven optimum, "
    words += f"at most {own.gap.max():.4f} above it" if len(own) else "nothing proven"
    says = "The probability that annealing ends at a global optimum goes to 1"
    yield Claim("convergence", says, "a proof for endless time, no numbers", words, UNJUDGED)


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
    """Draw accuracy and COBias over K, a line for each task."""
    figure.set_size_inches(10, 3.4)
    names = [RAW, *(f"K = {scale}" for scale in SCALES)]
    for axes, metric in zip(figure.subplots(1, 3), list(TITLES)[:3], strict=True):
        for number, task in enumerate(run.data.tasks):
            own = results[results.task == task].groupby("method")[metric].mean().reindex(names)
            axes.plot(
                range(len(names)), 100 * own, "o-", color=COLOURS[number % 8], label=short(task)
            )
        axes.set_xticks(range(len(names)), [RAW, *map(str, SCALES)])
        axes.set_title(f"{TITLES[metric]} (%)", fontsize=10, loc="left")
        axes.set_xlabel("K")
        plain(axes)
    figure.axes[-1].legend(fontsize=7, frameon=False)


def judge_scale(run: Run, results: Any) -> Iterator[Claim]:
    """Judge whether K = 30 comes within two points of K = 300."""
    scores = run.scores(results)

    def lost() -> dict[str, Floats]:
        loss = {
            "COBias": scores.mean("K = 30", "cobias") - scores.mean("K = 300", "cobias"),
            "accuracy": scores.mean("K = 300", "accuracy") - scores.mean("K = 30", "accuracy"),
        }
        return {f"loss of {n} below two points by": SIMILAR - one for n, one in loss.items()}

    says = "Thirty weights to choose from are enough on most datasets"
    yield judge("scale", says, "no numbers", lost)


TIME = Experiment(
    "time",
    "Time of the optimisation",
    "table 3",
    lambda run: run.over(time_solvers, first_seed(run), jobs=1),
    table_time,
    draw_time,
    judge_time,
)
CONVERGENCE = Experiment(
    "convergence",
    "Annealing against the optimum",
    "appendix C",
    lambda run: run.over(converge, first_seed(run)),
    table_convergence,
    draw_convergence,
    judge_convergence,
)
SCALE_SIZES = Experiment(
    "scale",
    "Weight scales of K points, the plain optimum",
    "section 5.2",
    lambda run: run.over(by_scale, run.data.cells(ONE)),
    lambda run, results: by_task(results, run.data.tasks),
    draw_scale,
    judge_scale,
)
