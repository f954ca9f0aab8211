"""Default fits on every class mix and size, beside others: `docs/choosing.md`.

    python -m benchmarks mixes

Draws of the opt halves, class shares shuffled over the classes; scored on draws of the test halves
with the same shares. Printed is error + β·COBias, lower is better, with our default β and with the
published one, for which the published methods and "ours, β = 2.7" search.
"""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Constraints, Objective, ProbabilityTable, solve
from dnip.base.errors import DNIPWarning
from dnip.base.typing import Floats, Integers, Labels, Probabilities
from dnip.fitting.fit import fit
from dnip.metrics import class_accuracies, cobias, confusion_matrix
from dnip.solvers import Settings
from dnip.solvers.search import PAPER
from reproduction.methods import AuthorsAnneal

MIXES: dict[str, list[float] | None] = {
    "balanced": None,
    "mild, .55/.25/.14/.06": [0.55, 0.25, 0.14, 0.06],
    "strong, .80/.12/.06/.02": [0.80, 0.12, 0.06, 0.02],
}
SIZES = (30, 100, 300, 1_000)
UNLABELLED, SCORED = 1_000, 3_000
DRAWS, TAIL_DRAWS = 4, 4
PUBLISHED = Objective.published()
#: Labels per class of long tails, whose rarest class has this part of the first one's share.
TAIL_SIZES, TAIL = (10, 30, 100), 0.02


class Draw(NamedTuple):
    """Rows to fit on, rows without labels, and rows to score on."""

    mix: str
    size: int
    p: Probabilities
    labels: Labels
    unlabelled: Probabilities
    test_p: Probabilities
    test_labels: Labels


class Scored(NamedTuple):
    """What weights do on the test rows."""

    accuracy: float
    cobias: float
    worst: float
    silenced: int

    def z(self, beta: float) -> float:
        """Return error + β·COBias."""
        return 1 - self.accuracy + beta * self.cobias


def raw(draw: Draw) -> Floats:
    return np.ones(draw.p.shape[1])


def batch_calibration(draw: Draw) -> Floats:
    return np.asarray(1 / np.concatenate([draw.p, draw.unlabelled]).mean(axis=0))


def published(draw: Draw, preset: Settings) -> Floats:
    goal, scale, solver = preset.objective, preset.scale, preset.solver
    return solve(draw.p, draw.labels, goal, scale=scale, solver=solver).weights


def optimum(draw: Draw, objective: Objective | None = None) -> Floats:
    """Fit the plain optimum; of an objective, without floors."""
    free = Constraints(allow_silence=objective is not None)
    return solve(draw.p, draw.labels, objective, constraints=free).weights


def ours(draw: Draw, *, objective: Objective | None = None, alone: bool = False) -> Floats:
    table = ProbabilityTable(draw.p, draw.labels)
    more = None if alone else ProbabilityTable(draw.unlabelled)
    return fit(table, objective=objective, unlabelled=more, evidence=False).coefficients.weights


METHODS: dict[str, Callable[[Draw], Floats]] = {
    "raw argmax": raw,
    "batch calibration": batch_calibration,
    "the paper's annealing": partial(published, preset=PAPER),
    "the authors' schedule": partial(published, preset=replace(PAPER, solver=AuthorsAnneal())),
    "plain optimum": optimum,
    "ours, no unlabelled rows": partial(ours, alone=True),
    "ours": ours,
    "ours, β = 2.7": partial(ours, objective=Objective(PUBLISHED.beta)),
}
#: Plain optima of other objectives with the published β, free to silence classes.
OBJECTIVES: dict[str, Callable[[Draw], Floats]] = {
    "no PMI": partial(optimum, objective=Objective(PUBLISHED.beta)),
    "τ = 0.2, μ = 0.4·M": partial(optimum, objective=replace(PUBLISHED, smoothing=None)),
    "τ = 0.2, μ = 1": partial(optimum, objective=replace(PUBLISHED, smoothing=1.0)),
    "τ = 0.2, μ = 4000": partial(optimum, objective=PUBLISHED),
}


def run(tables: list[Table]) -> None:
    """Print mixes and sizes, objectives, and long tails."""
    shared = [table for table in tables if "bundled" not in table.name] or tables
    four = [table for table in shared if table.opt.n_classes == 4]
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        jobs = [(table, seed) for table in four for seed in range(DRAWS)]
        for title, methods in (("Methods", METHODS), ("Objectives, plain optima", OBJECTIVES)):
            work = [crew.submit(_score_all, *job, methods) for job in jobs]
            _print_cells(title, methods, [row for one in work for row in one.result()])
        tails = [table for table in shared if table.opt.n_classes in (10, 20)]
        _print_tails(tails, crew)


def _score_all(
    table: Table, seed: int, methods: dict[str, Callable[[Draw], Floats]]
) -> list[tuple[str, int, str, Scored]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # of classes that a draw misses
        return [
            (draw.mix, draw.size, name, score(draw, method(draw)))
            for draw in draws_of(table, seed)
            for name, method in methods.items()
        ]


def draws_of(table: Table, seed: int) -> Iterator[Draw]:
    """Yield draws of one table, one of each mix and size that it has rows for."""
    rng = np.random.default_rng([seed, zlib.crc32(table.name.encode())])
    n = table.opt.n_classes
    halves = []
    for half in (table.opt, table.test):
        labelled = half.labelled()
        halves.append((labelled.probabilities, np.asarray(labelled.labels)))
    (p, labels), (test_p, test_labels) = halves
    for mix, shares in MIXES.items():
        share = np.full(n, 1 / n) if shares is None else rng.permutation(shares)
        test = draw_mix(test_labels, share, SCORED, rng)
        opt = draw_mix(labels, share, len(labels), rng)
        for size in SIZES:
            if size > len(opt) - 200:
                continue
            yield Draw(
                mix,
                size,
                p[opt[:size]],
                labels[opt[:size]],
                p[opt[size:]][:UNLABELLED],
                test_p[test],
                test_labels[test],
            )


def draw_mix(labels: Labels, shares: Floats, most: int, rng: np.random.Generator) -> Integers:
    """Draw shuffled row numbers in these class shares: as many as there are, or `most`."""
    sizes = np.bincount(labels, minlength=len(shares))
    n = min(most, int((sizes / shares).min()))
    drawn = [
        rng.choice(np.flatnonzero(labels == c), max(2, round(n * share)), replace=False)
        for c, share in enumerate(shares.tolist())
    ]
    return rng.permutation(np.concatenate(drawn))


def score(draw: Draw, weights: Floats) -> Scored:
    n = draw.p.shape[1]
    before, after = (
        confusion_matrix(draw.test_labels, (draw.test_p * w).argmax(axis=1), n)
        for w in (np.ones(n), weights)
    )
    accuracy, gap = float(np.trace(after) / after.sum()), cobias(after)
    silenced = (np.diag(before) > 0) & (np.diag(after) == 0)
    worst = float(np.nanmin(class_accuracies(after)))
    return Scored(accuracy, gap, worst, int(silenced.sum()))


def _print_cells(
    title: str, methods: Iterable[str], rows: list[tuple[str, int, str, Scored]]
) -> None:
    cells = dict.fromkeys((mix, size) for mix, size, _, _ in rows)
    for beta in (Objective().beta, PUBLISHED.beta, None):
        printed = []
        for mix, size in cells:
            line = [f"{mix}, {size:,} labels"]
            for name in methods:
                found = [s for m, k, other, s in rows if (m, k, other) == (mix, size, name)]
                shown = scores_of(found)
                if beta is not None:
                    shown = f"{np.mean([s.z(beta) for s in found]):.3f}"
                n_silenced = sum(s.silenced for s in found)
                line.append(shown + (f" ({n_silenced} silenced)" if n_silenced else ""))
            printed.append(line)
        what = "accuracy / COBias / worst class" if beta is None else f"error + {beta:g}·COBias"
        print_markdown(f"{title}: {what}", ["draws", *methods], printed)


def scores_of(scored: Iterable[Scored]) -> str:
    """Return mean accuracy, COBias and worst class as a cell."""
    return " / ".join(f"{value:.3f}" for value in np.mean([s[:3] for s in scored], axis=0))


def _print_tails(tables: list[Table], crew: ProcessPoolExecutor) -> None:
    work = {
        (table.name, size): [crew.submit(_tail, table, size, seed) for seed in range(TAIL_DRAWS)]
        for table in tables
        for size in TAIL_SIZES
    }
    printed = []
    for (name, size), futures in work.items():
        before, after = zip(*(future.result() for future in futures), strict=True)
        worse = sum(b.cobias > a.cobias for a, b in zip(before, after, strict=True))
        printed.append(
            [
                f"{name}, {size} labels per class",
                *map(scores_of, (before, after)),
                f"{worse} of {TAIL_DRAWS}",
                f"{sum(s.silenced for s in after)}",
            ]
        )
    print_markdown(
        "Long tails: accuracy / COBias / worst class",
        ["draws", "raw argmax", "ours", "COBias higher", "classes silenced"],
        printed,
    )


def _tail(table: Table, size: int, seed: int) -> tuple[Scored, Scored]:
    rng = np.random.default_rng(seed)
    n = table.opt.n_classes
    share = TAIL ** (np.arange(n) / (n - 1))
    share = rng.permutation(share / share.sum())
    test_labels, labels = np.asarray(table.test.labels), np.asarray(table.opt.labels)
    test = draw_mix(test_labels, share, len(test_labels), rng)
    opt = draw_mix(labels, share, size * n, rng)
    draw = Draw(
        "tail",
        size,
        table.opt.probabilities[opt],
        labels[opt],
        np.empty((0, n)),
        table.test.probabilities[test],
        test_labels[test],
    )
    return score(draw, raw(draw)), score(draw, ours(draw, alone=True))
