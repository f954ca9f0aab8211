"""Verdicts of `dnip fit` on every class mix and size: how often they are right on other rows.

    python -m benchmarks verdicts

The draws are those of `python -m benchmarks mixes`, with their unlabelled rows and without.
"""

from __future__ import annotations

import os
import warnings
from concurrent.futures import ProcessPoolExecutor

from benchmarks.mixes import DRAWS, SIZES, draws_of, raw, score
from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable
from dnip.base.errors import DNIPWarning
from dnip.fitting.fit import fit_table

#: What a verdict has to find on other rows.
GAIN = 0.02


def run(tables: list[Table]) -> None:
    """Print how often "apply" is right and wrong, by number of labels."""
    shared = [table for table in tables if "bundled" not in table.name] or tables
    four = [table for table in shared if table.opt.n_classes == 4]
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        judged = [crew.submit(_judge_all, table, seed) for table in four for seed in range(DRAWS)]
        _print_verdicts([row for one in judged for row in one.result()])


def _judge_all(table: Table, seed: int) -> list[tuple[int, bool, float]]:
    """Return labels, verdict and true change of error + 2.7·COBias of fits to draws."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)
        for draw in draws_of(table, seed):
            for more in (None, ProbabilityTable(draw.unlabelled)):
                fit = fit_table(
                    ProbabilityTable(draw.p, draw.labels), unlabelled=more, evidence=True
                )
                assert fit.evidence is not None
                after = score(draw, fit.coefficients.weights)
                change = after.z - score(draw, raw(draw)).z
                found.append((draw.size, fit.evidence.apply, change))
    return found


def _print_verdicts(rows: list[tuple[int, bool, float]]) -> None:
    printed = []
    for name, sizes in [*((f"{n:,} labels", (n,)) for n in SIZES), ("all", SIZES)]:
        here = [(apply, change) for size, apply, change in rows if size in sizes]
        worse = [apply for apply, change in here if change > 0]
        better = [apply for apply, change in here if change < -GAIN]
        applied = [change > 0 for apply, change in here if apply]
        printed.append(
            [
                name,
                f"{len(here)}",
                f"{sum(worse)} of {len(worse)}",
                f"{sum(better)} of {len(better)}",
                f"{sum(applied)} of {len(applied)}",
            ]
        )
    print_markdown(
        "Verdicts on other rows",
        [
            "labels",
            "fits",
            '"apply" where other rows lose',
            f'"apply" where they gain more than {GAIN:g}',
            'losses among "apply"',
        ],
        printed,
    )
