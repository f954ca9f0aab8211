"""The solvers beside what a user would pick instead, on the same objective, table and time.

    python -m benchmarks race cells

The authors' loops and SciPy's dual annealing start again with another seed until time is up.
`cells` has the default search beside SciPy's differential evolution on prompted cells, with free
weights each.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from itertools import count, product
from statistics import median_low
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import differential_evolution, dual_annealing

from benchmarks import authors_loops
from benchmarks.tables import Table, print_markdown
from dnip import Constraints, Objective, solve
from dnip.metrics import accuracy, cobias, worst_class_accuracy
from reproduction.judging import named
from reproduction.probabilities import BALANCED, COMMITTED, FIVE, ONE, Cell, read

if TYPE_CHECKING:
    from dnip.base.typing import Counts, Floats, Labels, Probabilities

OBJECTIVE, SCALE = Objective.published(), 30
SECONDS, SEEDS = 1.0, 3
#: When the best so far is looked at.
CHECKPOINTS = (0.01, 0.1, 1.0)
#: Values that differ by less are the same: sums of rates in another order.
TOLERANCE = 1e-12
METRICS = (accuracy, cobias, worst_class_accuracy)

#: Prompted cells, the rows of each, and tasks whose many classes would take SciPy minutes.
CELLS, ROWS, SLOW_TASKS = 10, 500, ("dbpedia",)
#: Generations of differential evolution, and how far its log-weights may be from 0.
GENERATIONS, FARTHEST = 60, 9.0

#: Every new best of a run: seconds since it began, and Z.
Course = list[tuple[float, float]]


class Stop(Exception):  # noqa: N818 - an event, no error
    """Time is up."""


def run(tables: list[Table]) -> None:
    """Print Z by time on each table, then what the coordinate search gains over each peer."""
    races = {}
    for name, opt, _ in tables:
        rows = opt.labelled()
        assert rows.labels is not None
        races[name] = race(rows.probabilities, rows.labels)
        _print_race(name, races[name])
    _print_summary(races)


def race(
    p: Probabilities, labels: Labels, seconds: float = SECONDS, seeds: int = SEEDS
) -> dict[str, list[Course]]:
    """Return the course of every run by contestant."""
    return {
        name: [search(p, labels, seconds, seed) for seed in range(seeds)]
        for name, search in CONTESTANTS.items()
    }


def _ours(solver: str) -> Callable[..., Course]:
    def search(p: Probabilities, labels: Labels, seconds: float, seed: int) -> Course:
        found = solve(
            p, labels, OBJECTIVE, scale=SCALE, solver=solver, seed=seed, time_limit=seconds
        )
        return [(each.seconds, each.incumbent) for each in found.trace if each.seconds <= seconds]

    return search


def _until_stopped(seconds: float, seed: int, search: Callable[..., object]) -> Course:
    """Run a search again and again; it tells every value that it finds to its last argument."""
    course: Course = []
    began = time.perf_counter()

    def note(value: float) -> float:
        now = time.perf_counter() - began
        if now >= seconds:
            raise Stop
        if not course or value < course[-1][1] - TOLERANCE:
            course.append((now, value))
        return value

    for own_seed in count(1000 * seed):
        try:
            search(own_seed, note)
        except Stop:
            return course
    raise AssertionError  # never: count has no end


def _loops(p: Probabilities, labels: Labels, seconds: float, seed: int) -> Course:
    """Run the authors' annealing, in plain Python."""
    rows, true = p.tolist(), labels.tolist()

    def search(own_seed: int, note: Callable[[float], float]) -> None:
        def tell(_: list[int], value: float) -> None:
            note(value)

        authors_loops.anneal(
            rows,
            true,
            scale=SCALE,
            beta=OBJECTIVE.beta,
            tau=OBJECTIVE.tau,
            smoothing=OBJECTIVE.smoothing_over(len(labels)),
            seed=own_seed,
            note=tell,
        )

    return _until_stopped(seconds, seed, search)


def _dual_annealing(p: Probabilities, labels: Labels, seconds: float, seed: int) -> Course:
    """Run SciPy's annealing on rounded numbers; without local search, which needs slopes."""
    n = p.shape[1]

    def search(own_seed: int, note: Callable[[float], float]) -> None:
        def value(point: Floats) -> float:
            return note(OBJECTIVE(counts_under(p, labels, np.clip(np.rint(point), 1, SCALE))))

        dual_annealing(
            value,
            [(0.5, SCALE + 0.5)] * n,
            no_local_search=True,
            maxiter=10**9,
            maxfun=10**9,
            x0=np.full(n, float(SCALE)),
            rng=np.random.default_rng(own_seed),
        )

    return _until_stopped(seconds, seed, search)


def counts_under(p: Probabilities, labels: Labels, weights: Floats) -> Counts:
    """Return the confusion matrix under weights."""
    n = p.shape[1]
    predicted = np.argmax(p * weights, axis=1)
    return np.bincount(labels * n + predicted, minlength=n * n).reshape(n, n)


CONTESTANTS: dict[str, Callable[..., Course]] = {
    "coordinate": _ours("coordinate"),
    "exact": _ours("exact"),
    "anneal": _ours("anneal"),
    "authors' loops": _loops,
    "dual annealing": _dual_annealing,
}


def _at(courses: list[Course], seconds: float) -> float:
    """Return the median over runs of the best value by a time."""
    return median_low(
        min((z for when, z in course if when <= seconds), default=math.inf) for course in courses
    )


def _first(courses: list[Course], value: float) -> float:
    """Return the median over runs of when a value was reached."""
    return median_low(
        min((when for when, z in course if z <= value + TOLERANCE), default=math.inf)
        for course in courses
    )


def _print_race(name: str, found: dict[str, list[Course]]) -> None:
    rows = [
        [who, *(f"{_at(courses, limit):.5f}" for limit in CHECKPOINTS)]
        for who, courses in found.items()
    ]
    print_markdown(f"{name}: Z by time", ["", *(f"{t:g} s" for t in CHECKPOINTS)], rows)


def _print_summary(races: dict[str, dict[str, list[Course]]]) -> None:
    rows = []
    for who in [name for name in CONTESTANTS if name not in ("coordinate", "exact")]:
        no_worse, ratios = [0] * len(CHECKPOINTS), []
        for found in races.values():
            ours, theirs = found["coordinate"], found[who]
            for place, limit in enumerate(CHECKPOINTS):
                no_worse[place] += _at(ours, limit) <= _at(theirs, limit) + TOLERANCE
            best = _at(theirs, SECONDS)
            if best < math.inf:
                ratios.append(_first(theirs, best) / _first(ours, best))
        told = [f"{each} of {len(races)}" for each in no_worse]
        rows.append([who, *told, f"{min(ratios):.1f}×", f"{median_low(ratios):.0f}×"])
    header = ["", *(f"by {limit:g} s" for limit in CHECKPOINTS), "least ratio", "median"]
    title = f"`coordinate` at least as good, of {len(races)} tables; times sooner at a peer's best"
    print_markdown(title, header, rows)


def _evenly_drawn() -> Iterator[Cell]:
    """Yield cells of the saved probabilities that lie evenly over tasks, prompts and seeds."""
    saved = read(COMMITTED)
    tasks = [task for task in saved.tasks if task not in SLOW_TASKS]
    every = [cell for shots in (ONE, FIVE, BALANCED) for cell in saved.cells(shots, tasks)]
    yield from every[:: len(every) // CELLS][:CELLS]


def cells(_tables: list[Table]) -> None:
    """Print Z of the default search and of SciPy's on prompted cells; both may silence classes."""
    rows, seconds, apart = [], {"ours": 0.0, "SciPy": 0.0}, []
    for cell, beta in product(_evenly_drawn(), (Objective().beta, OBJECTIVE.beta)):
        p, labels, goal = cell.opt.p[:ROWS], cell.opt.y[:ROWS], Objective(beta)
        values, shown = [], []
        for who, search in (("ours", default_search), ("SciPy", evolution)):
            began = time.process_time()
            ends = [counts_under(p, labels, search(p, labels, goal, seed)) for seed in range(SEEDS)]
            seconds[who] += time.process_time() - began
            values.append([goal(counts) for counts in ends])
            scores = ([f(counts) for f in METRICS] for counts in ends)
            told = " / ".join(f"{value:.3f}" for value in np.mean(list(scores), axis=0))
            silent = np.mean([np.count_nonzero(np.diag(counts) == 0) for counts in ends])
            shown += [f"{np.mean(values[-1]):.4f}", told, f"{silent:.1f}"]
        apart += np.subtract(values[1], values[0]).tolist()
        name = f"{cell.task}, {named(cell.shots)}, seed {cell.seed}, β = {beta:g}"
        rows.append([name, *shown])
    columns = ("Z", "accuracy / COBias / worst class", "classes never right")
    header = [f"{ROWS} rows, mean of {SEEDS} seeds", *columns, *(f"{c}, SciPy" for c in columns)]
    print_markdown("The default search beside differential evolution", header, rows)
    behind, ahead = (sum(sign * gap > TOLERANCE for gap in apart) for sign in (1, -1))
    header = ["searches", "SciPy behind", "mean gap", "largest", "SciPy ahead", "processor time"]
    gaps = f"{np.mean(apart):.3f}", f"{max(apart):.3f}"
    times = f"{seconds['SciPy'] / seconds['ours']:.0f} times ours"
    row = [f"{len(apart)}", f"{behind}", *gaps, f"{ahead}", times]
    print_markdown("All searches by differential evolution", header, [row])


def default_search(p: Probabilities, labels: Labels, goal: Objective, seed: int) -> Floats:
    free = Constraints(allow_silence=True)
    return solve(p, labels, goal, constraints=free, seed=seed).multipliers


def evolution(p: Probabilities, labels: Labels, goal: Objective, seed: int) -> Floats:
    found = differential_evolution(
        lambda point: goal(counts_under(p, labels, np.exp(point))),
        [(-FARTHEST, FARTHEST)] * p.shape[1],
        maxiter=GENERATIONS,
        polish=False,
        rng=np.random.default_rng(seed),
    )
    return np.asarray(np.exp(found.x))
