"""Fits on few labels, beside what they should reach: `docs/few-labels.md` says how they work."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Objective, solve
from dnip.errors import DNIPWarning
from dnip.metrics import accuracy, cobias, confusion_matrix
from dnip.robust import solve_robustly
from dnip.solvers import Anneal
from dnip.tables.sampling import BALANCED_UP_TO, draw_rows
from dnip.typing import Floats, Integers, Labels, Probabilities

UNLABELLED = 1_000
ALL = 0  # labels: every row of the opt half
SIZES = (10, 30, 100, 500, ALL)
DRAWS, SKEWED_DRAWS, MANY_DRAWS = 20, 5, 5
REPEATS = 9
SHARE = 0.85  # of the one frequent class
MANY_SIZES = {20: (100, 500, 2_000, ALL), 100: (500, 2_000, ALL)}


class Goal(NamedTuple):
    """What the robust fit should reach: accuracy above, and part of COBias below, two others."""

    above_published: float
    below_published: float
    above_batch: float
    below_batch: float


GOALS = {
    10: Goal(0.04, 0.65, 0, 0),
    30: Goal(0.035, 0.54, 0, 0),
    100: Goal(0.02, 0.48, 0.01, 0.20),
    500: Goal(0.005, 0.50, 0, 0.45),
    ALL: Goal(0, 0.50, -np.inf, 0.75),
}


class Half(NamedTuple):
    """Rows of a table."""

    probabilities: Probabilities
    labels: Labels


class Halves(NamedTuple):
    """A table to draw from, and the rows to score on."""

    opt: Half
    test: Half


class Draw(NamedTuple):
    """What a method is given."""

    labelled: Half
    unlabelled: Probabilities
    seed: int


def raw(draw: Draw) -> Floats:
    return np.ones(draw.unlabelled.shape[1])


def published(draw: Draw) -> Floats:
    found = solve(*draw.labelled, Objective.published(), solver=Anneal(), seed=draw.seed)
    return found.weights


def plain(draw: Draw) -> Floats:
    return solve(*draw.labelled, seed=draw.seed).weights


def batch_calibration(draw: Draw) -> Floats:
    batch = draw.unlabelled if len(draw.unlabelled) else draw.labelled.probabilities
    return np.asarray(1 / batch.mean(axis=0))


def robust(draw: Draw) -> Floats:
    unlabelled = draw.unlabelled if len(draw.unlabelled) else None
    found = solve_robustly(*draw.labelled, unlabelled=unlabelled, seed=draw.seed)
    return found.solution.weights


def robust_alone(draw: Draw) -> Floats:
    return robust(draw._replace(unlabelled=draw.unlabelled[:0]))


Method = Callable[[Draw], Floats]
Means = dict[str, Floats]  # accuracy and COBias by method


def run(tables: list[Table]) -> None:
    """Print the three protocols: few labels, one frequent class, many classes."""
    shared = [table for table in tables if "bundled" not in table.name]
    four = [_halves(table) for table in shared or tables if table.opt.n_classes == 4]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # of classes that a draw misses
        _few_labels(four)
        _skewed(four)
        for table in tables:
            if table.opt.n_classes in MANY_SIZES:
                _many_classes(table)
    _time()


def _few_labels(tables: Sequence[Halves]) -> None:
    methods: dict[str, Method] = {
        "raw argmax": raw,
        "published annealing": published,
        "plain optimum": plain,
        "batch calibration": batch_calibration,
        "robust": robust,
        "robust, no unlabelled rows": robust_alone,
    }
    means = {size: _means(methods, tables, size, DRAWS) for size in SIZES}
    _print_means(f"Few labels: {len(tables)} tables of 4 classes, {DRAWS} draws of each", means)
    rows = []
    for size, goal in GOALS.items():
        ours, row = means[size]["robust"], [_name(size)]
        for other, above, below in (
            ("published annealing", goal.above_published, goal.below_published),
            ("batch calibration", goal.above_batch, goal.below_batch),
        ):
            theirs = means[size][other]
            asked = f" (≥ {above:+.3f})" if np.isfinite(above) else ""
            row.append(f"{ours[0] - theirs[0]:+.3f}{asked}")
            row.append(f"{ours[1] / theirs[1] - 1:+.0%} (≤ {-below:+.0%})")
        rows.append(row)
    print_markdown(
        "The robust fit less others, on the same draws (what it should reach)",
        ["labels", "accuracy - published", "COBias", "accuracy - batch calibration", "COBias"],
        rows,
    )


def _skewed(tables: Sequence[Halves]) -> None:
    methods: dict[str, Method] = {
        "raw argmax": raw,
        "batch calibration": batch_calibration,
        "plain optimum": plain,
        "robust": robust,
        "robust, no unlabelled rows": robust_alone,
    }
    skewed = [Halves(*(_skew(half, c) for half in table)) for table in tables for c in range(4)]
    means = {size: _means(methods, skewed, size, SKEWED_DRAWS, balanced=False) for size in SIZES}
    title = f"One class has {SHARE:.0%} of the rows: each class of {len(tables)} tables in turn"
    _print_means(title, means)


def _many_classes(table: Table) -> None:
    methods: dict[str, Method] = {"raw argmax": raw, "plain optimum": plain, "robust": robust}
    sizes, halves = MANY_SIZES[table.opt.n_classes], _halves(table)
    means = {size: _means(methods, [halves], size, MANY_DRAWS) for size in sizes}
    _print_means(f"{table.opt.n_classes} classes: {table.name}, {MANY_DRAWS} draws", means)


def _time() -> None:
    """Print how long fits of 500 rows and 5 classes take, plain and robust in turn."""
    rng = np.random.default_rng(0)
    rows = []
    for n_unlabelled in (0, UNLABELLED, 5 * UNLABELLED):
        labels = rng.integers(5, size=500 + n_unlabelled)
        scores = rng.normal(size=(len(labels), 5)) + 1.2 * np.eye(5)[labels]
        p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        draw = Draw(Half(p[:500], labels[:500]), p[500:], seed=0)
        seconds: dict[Method, list[float]] = {plain: [], robust: []}
        for _ in range(REPEATS + 1):
            for method, taken in seconds.items():
                began = time.perf_counter()
                method(draw)
                taken.append(time.perf_counter() - began)
        # the first turn compiles
        once, blended = (1e3 * np.median(taken[1:]) for taken in seconds.values())
        rows.append(
            [f"{n_unlabelled:,}", f"{once:.1f}", f"{blended:.1f}", f"{blended / once:.0f}× (≤ 60×)"]
        )
    print_markdown(
        "A fit of 500 rows and 5 classes", ["unlabelled rows", "plain, ms", "robust, ms", ""], rows
    )


def _halves(table: Table) -> Halves:
    halves = [half.labelled() for half in (table.opt, table.test)]
    return Halves(*(Half(half.probabilities, np.asarray(half.labels)) for half in halves))


def _skew(half: Half, frequent: int) -> Half:
    """Leave out rows until one class has its share and the others have equal shares."""
    rng = np.random.default_rng(frequent)
    n_classes = half.probabilities.shape[1]
    shares = np.full(n_classes, (1 - SHARE) / (n_classes - 1))
    shares[frequent] = SHARE
    sizes = np.bincount(half.labels, minlength=n_classes)
    quotas = (shares * (sizes / shares).min()).astype(int)
    rows = np.concatenate(
        [
            rng.choice(np.flatnonzero(half.labels == c), n, replace=False)
            for c, n in enumerate(quotas)
        ]
    )
    return Half(half.probabilities[rows], half.labels[rows])


def _means(
    methods: Mapping[str, Method],
    tables: Sequence[Halves],
    size: int,
    draws: int,
    *,
    balanced: bool | None = None,
) -> Means:
    scores: dict[str, list[tuple[float, float]]] = {name: [] for name in methods}
    for opt, test in tables:
        for draw in _draws(opt, size, draws, balanced=balanced):
            for name, method in methods.items():
                predicted = (method(draw) * test.probabilities).argmax(axis=1)
                confusion = confusion_matrix(test.labels, predicted, test.probabilities.shape[1])
                scores[name].append((accuracy(confusion), cobias(confusion)))
    return {name: np.mean(values, axis=0) for name, values in scores.items()}


def _draws(opt: Half, size: int, draws: int, *, balanced: bool | None) -> Iterator[Draw]:
    """Yield draws of at least two classes, each with unlabelled rows of the rest."""
    n_rows, n_classes = opt.probabilities.shape
    if size == ALL:
        yield Draw(opt, opt.probabilities[:0], seed=0)
        return
    made = 0
    size = min(size, n_rows)
    if balanced is None:
        balanced = size <= BALANCED_UP_TO
    for seed in count():
        rows: Integers = draw_rows(opt.labels, n_classes, size, seed, balanced=balanced)
        if len(np.unique(opt.labels[rows])) == 1:
            continue
        rest = np.random.default_rng(seed).permutation(np.setdiff1d(np.arange(n_rows), rows))
        labelled = Half(opt.probabilities[rows], opt.labels[rows])
        yield Draw(labelled, opt.probabilities[rest[:UNLABELLED]], seed)
        made += 1
        if made == draws:
            return


def _name(size: int) -> str:
    return "all" if size == ALL else f"{size:,}"


def _print_means(title: str, means: Mapping[int, Means]) -> None:
    names = next(iter(means.values()))
    rows = [
        [name, *[f"{by_name[name][0]:.3f} / {by_name[name][1]:.3f}" for by_name in means.values()]]
        for name in names
    ]
    header = ["accuracy / COBias", *[f"{_name(size)} labels" for size in means]]
    print_markdown(title, header, rows)
