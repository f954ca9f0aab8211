"""Limits on other rows: how often they hold there, and what is gained within them.

    python -m benchmarks constraints

Fits to draws of the opt halves, scored on the test halves.
"""

from __future__ import annotations

import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Constraints, Objective, solve
from dnip.base.errors import DNIPWarning
from dnip.fitting.fit import fit
from dnip.metrics import accuracy, cobias, worst_class_accuracy
from dnip.using.evaluation import evaluate

LIMITS = (0.0, 0.01, 0.02)
LABELS, DRAWS = 400, 10


class Kept(NamedTuple):
    """What one fit costs and gains on other rows."""

    loss: float
    cut: float
    worst: float


def run(tables: list[Table]) -> None:
    """Print a line per limit, over all tables, and a line per table for each."""
    shared = [table for table in tables if "bundled" not in table.name] or tables
    told, by_table = [], []
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        fronts = list(crew.map(_to_be_had, shared))
        for limit in LIMITS:
            work = [
                [crew.submit(_fit, table, limit, seed) for seed in range(DRAWS)] for table in shared
            ]
            fits = [[one.result() for one in own] for own in work]
            most = [cuts[limit] for cuts in fronts]
            told.append([f"{limit:g}", *_cells([one for fit in fits for one in fit], limit, most)])
            by_table += [
                [f"{table.name}, {limit:g}", *_cells(fit, limit, [cut])]
                for table, fit, cut in zip(shared, fits, most, strict=True)
            ]
    header = ["broken, of fits", "accuracy lost", "worst class", "COBias cut", "to be had", "part"]
    what = f"`--max-accuracy-loss`, {DRAWS} draws of {LABELS} labels"
    print_markdown(f"All {len(shared)} tables: {what} each", ["limit", *header], told)
    print_markdown(f"By table: {what}", ["table and limit", *header], by_table)


def _cells(fits: list[Kept], limit: float, most: list[float]) -> list[str]:
    """Sum up fits, with the mean of the cuts that weights can make on those rows at that loss."""
    loss, cut, worst = np.mean(fits, axis=0)
    broken = sum(fit.loss > limit + 1e-9 for fit in fits)
    had = np.mean(most)
    return [
        f"{broken} of {len(fits)}",
        f"{loss:.3f}",
        f"{worst:+.3f}",
        f"{cut:.3f}",
        f"{had:.3f}",
        f"{cut / had:.0%}",
    ]


def _fit(table: Table, limit: float, seed: int) -> Kept:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # of classes that a draw misses
        fitted = fit(table.opt.draw(LABELS, seed), constraints=Constraints(limit), evidence=False)
    there = evaluate([table.test], coefficients=fitted.coefficients)
    assert there.reweighted is not None
    before, after = there.raw, there.reweighted
    return Kept(
        accuracy(before) - accuracy(after),
        cobias(before) - cobias(after),
        worst_class_accuracy(after) - worst_class_accuracy(before),
    )


def _to_be_had(table: Table) -> dict[float, float]:
    """Return how far weights found on the test half itself cut COBias within each limit."""
    test = table.test.labelled()
    assert test.labels is not None
    raw = evaluate([test]).raw
    even = Objective(terms=("cobias",), beta=1)
    found = {
        limit: solve(test.probabilities, test.labels, even, constraints=Constraints(limit))
        for limit in LIMITS
    }
    return {limit: cobias(raw) - solution.terms["cobias"] for limit, solution in found.items()}
