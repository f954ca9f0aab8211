"""What a fit expects on other rows, held against other rows (`docs/evidence.md`).

    python -m benchmarks expected

Draws of a table are fitted with the defaults, and scored on all its other rows.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import product

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable
from dnip.fitting.fit import fit
from dnip.using.evaluation import evaluate

SIZES = (100, 400, 1_500)
DRAWS = 10
METRICS = {"accuracy": "accuracy", "cobias": "COBias", "worst_class_accuracy": "worst class"}
#: Of one fit, by metric: what is expected, what is met, and the two ends of the interval.
Expected = dict[str, tuple[float, float, float, float]]


def run(tables: list[Table]) -> None:
    """Print bias, coverage and width by size, over the tables of at most ten classes."""
    chosen = [table for table in tables if table.opt.n_classes <= 10]
    work = list(product(SIZES, chosen, range(DRAWS)))
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        found = list(crew.map(_expect, *zip(*work, strict=True)))
    rows = []
    for size, (metric, title) in product(SIZES, METRICS.items()):
        each = zip(found, work, strict=True)
        fits = np.array([one[metric] for one, what in each if one and what[0] == size])
        rows.append([f"{size:,}", title, str(len(fits)), *_summary(fits)])
    print_markdown(
        f"Expected on other rows, and met ({len(chosen)} tables, {DRAWS} draws each)",
        ["labels", "metric", "fits", "met", "expected less met", "in the range", "width", "spread"],
        rows,
    )


def _summary(fits: np.ndarray) -> Sequence[str]:
    expected, met, low, high = fits.T
    inside = ((low <= met) & (met <= high)).mean()
    spread = np.diff(np.quantile(met, [0.05, 0.95]))[0]
    numbers = [f"{inside:.0%}", f"{(high - low).mean():.3f}", f"{spread:.3f}"]
    return [f"{met.mean():.3f}", f"{(expected - met).mean():+.4f}", *numbers]


def _expect(size: int, table: Table, seed: int) -> Expected:
    """Fit some rows of a table; nothing where they lack a class, or are most of it."""
    opt, test = table.opt, table.test
    assert opt.labels is not None
    assert test.labels is not None
    labels = np.concatenate([opt.labels, test.labels])
    p = np.concatenate([opt.probabilities, test.probabilities])
    rows = ProbabilityTable(p, labels, classes=opt.classes)
    order = np.random.default_rng(seed).permutation(len(rows))
    few, others = rows.take(np.sort(order[:size])), rows.take(np.sort(order[size:]))
    if size > len(rows) // 2 or len(np.unique(labels[order[:size]])) < opt.n_classes:
        return {}
    fitted = fit(few, evidence=True)
    assert fitted.evidence is not None
    told = fitted.evidence.to_dict(0.9)["reweighted"]
    met = evaluate([others], coefficients=fitted.coefficients).to_dict()["reweighted"]
    return {name: (told[name], met[name], *told["intervals"][name]) for name in METRICS}
