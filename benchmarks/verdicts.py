"""Verdicts of `dnip fit` on every class mix and size: how often they are right on other rows.

    python -m benchmarks verdicts

The draws are those of `python -m benchmarks mixes`, with their unlabelled rows and without.
"""

from __future__ import annotations

import math
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from statistics import fmean
from typing import NamedTuple

from benchmarks.mixes import DRAWS, SIZES, draws_of, raw, score
from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable
from dnip.base.errors import DNIPWarning
from dnip.fitting.fit import fit

#: What a verdict has to find on other rows.
GAIN = 0.02
N_CLASSES = 4


class Judged(NamedTuple):
    """A verdict on one draw, and what the fit does on other rows."""

    mix: str
    size: int
    with_unlabelled: bool
    apply: bool
    change: float  # of error + 2.7·COBias
    cobias: float


def run(tables: list[Table]) -> None:
    """Print how often "apply" is right and wrong, and what labels are enough for."""
    shared = [table for table in tables if "bundled" not in table.name] or tables
    four = [table for table in shared if table.opt.n_classes == N_CLASSES]
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        work = [crew.submit(_judge_all, table, seed) for table in four for seed in range(DRAWS)]
        judged = [one for done in work for one in done.result()]
    _print_verdicts(judged)
    _print_per_class(judged)


def _judge_all(table: Table, seed: int) -> list[Judged]:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)
        for draw in draws_of(table, seed):
            before = score(draw, raw(draw)).z
            for more in (None, ProbabilityTable(draw.unlabelled)):
                fitted = fit(ProbabilityTable(draw.p, draw.labels), unlabelled=more, evidence=True)
                assert fitted.evidence is not None
                after = score(draw, fitted.coefficients.weights)
                told = more is not None, fitted.evidence.apply, after.z - before, after.cobias
                found.append(Judged(draw.mix, draw.size, *told))
    return found


def _print_verdicts(judged: list[Judged]) -> None:
    rows = []
    for name, sizes in [*((f"{n:,} labels", (n,)) for n in SIZES), ("all", SIZES)]:
        here = [one for one in judged if one.size in sizes]
        worse = [one.apply for one in here if one.change > 0]
        applied = [one.change > 0 for one in here if one.apply]
        rows.append([name, f"{len(here)}", _part(worse), _gaining(here), _part(applied)])
    header = [
        "labels",
        "fits",
        '"apply" where other rows lose',
        f'"apply" where they gain more than {GAIN:g}',
        'losses among "apply"',
    ]
    print_markdown("Verdicts on other rows", header, rows)


def _print_per_class(judged: list[Judged]) -> None:
    rows = []
    for size in SIZES:
        here = [one for one in judged if one.size == size]
        means = [
            fmean(
                one.cobias for one in here if one.mix == "balanced" and one.with_unlabelled == more
            )
            for more in (False, True)
        ]
        known = 1.64 * math.sqrt(0.25 / (size / N_CLASSES))
        told = f"{means[0]:.3f}", f"{means[1]:.3f}", _gaining(here), f"± {known:.2f}"
        rows.append([f"{size // N_CLASSES}", *told])
    header = [
        "labels of each class",
        "COBias after, labels only",
        "with rows without labels",
        'verdict "apply" where it helps',
        "the accuracy of a class is known to",
    ]
    print_markdown("Labels per class, balanced draws", header, rows)


def _gaining(judged: list[Judged]) -> str:
    return _part([one.apply for one in judged if one.change < -GAIN])


def _part(found: list[bool]) -> str:
    return f"{sum(found)} of {len(found)}"
