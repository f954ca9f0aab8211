"""Coverage: how often 90 % intervals hold what a large test half says (`docs/evidence.md`).

    python -m benchmarks coverage

Draws of the test half are judged as `dnip evaluate` does, against all rows of the test half.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count, product
from typing import Any

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import Coefficients, ProbabilityTable
from dnip.fitting.fit import fit
from dnip.metrics import scores
from dnip.using.evaluation import evaluate

LEVEL = 0.9
DRAWS = 200
SIZES = (30, 100, 500)

METRICS = {
    "accuracy": "accuracy",
    "cobias": "COBias",
    "worst_class_accuracy": "worst class",
    "cobias_single": "COBias_single",
    "macro_f1": "macro-F1",
    "class_accuracies": "class accuracies",
}
SIDES = ("raw", "reweighted", "difference")
#: By side and metric: whether each interval held the truth, and its width.
Held = dict[tuple[str, str], list[tuple[bool, float]]]


def run(tables: list[Table]) -> None:
    """Print coverage of what `dnip evaluate` says."""
    shared = [table for table in tables if "bundled" not in table.name]
    four = [table for table in shared or tables if table.opt.n_classes == 4]
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        _test_side(four, crew)


def _test_side(tables: Sequence[Table], crew: ProcessPoolExecutor) -> None:
    cells = list(product(SIZES, (False, True)))
    work = [(table, n, balanced) for n, balanced in cells for table in tables]
    found = list(crew.map(_evaluations, *zip(*work, strict=True)))
    _print_coverage("evaluate", found, cells, tables, DRAWS)


def _print_coverage(
    title: str,
    found: Sequence[Held],
    cells: Sequence[tuple[int, bool]],
    tables: Sequence[Table],
    draws: int,
) -> None:
    per_cell = [found[i : i + len(tables)] for i in range(0, len(found), len(tables))]
    header = [f"{title}, {LEVEL:.0%}"]
    header += [f"{n} rows, {'balanced' if balanced else 'uniform'}" for n, balanced in cells]
    rows = []
    for side, metric in product(SIDES, METRICS):
        if (side, metric) in found[0]:
            held = [[one[side, metric] for one in cell] for cell in per_cell]
            rows.append([f"{METRICS[metric]}, {side}", *map(_cell, held)])
    print_markdown(
        f"{title}: part of the intervals that hold the truth ({len(tables)} tables, {draws} draws "
        "each; in brackets the mean width)",
        header,
        rows,
    )


def _cell(held: Sequence[list[tuple[bool, float]]]) -> str:
    hits = [hit for one in held for hit, _ in one]
    widths = [width for one in held for _, width in one]
    return f"{np.mean(hits):.0%} ({np.mean(widths):.2f})"


def _evaluations(table: Table, n: int, balanced: bool) -> Held:
    """Score draws of the test half under coefficients of the opt half."""
    test = table.test.labelled()
    coefficients = fit(table.opt, evidence=False).coefficients
    truth = truth_of(test, coefficients, balanced=balanced)
    held: Held = {}
    for draw in draws_of(test, n, DRAWS, balanced=balanced):
        told = evaluate([draw], coefficients=coefficients).to_dict(LEVEL)
        for side in SIDES:
            note(held, side, told[side]["intervals"], truth[side])
    return held


def draws_of(
    table: ProbabilityTable, n: int, draws: int, *, balanced: bool
) -> Iterator[ProbabilityTable]:
    """Yield draws in which at least two classes have rows."""
    made = 0
    for seed in count():
        draw = table.draw(n, seed, balanced=balanced)
        if len(np.unique(np.asarray(draw.labels))) > 1:
            yield draw
            made += 1
        if made == draws:
            return


def truth_of(
    test: ProbabilityTable, coefficients: Coefficients, *, balanced: bool
) -> dict[str, Any]:
    """Score all rows; as if classes were equally frequent where that is how draws are made."""
    evaluation = evaluate([test], coefficients=coefficients)
    assert evaluation.reweighted is not None
    true: dict[str, Any] = {}
    for side, confusion in (("raw", evaluation.raw), ("reweighted", evaluation.reweighted)):
        counted = confusion / confusion.sum(axis=1, keepdims=True) if balanced else confusion
        true[side] = scores(counted)
    before, after = true["raw"], true["reweighted"]
    true["difference"] = {
        **{metric: after[metric] - before[metric] for metric in ("accuracy", "cobias")},
        "class_accuracies": np.subtract(after["class_accuracies"], before["class_accuracies"]),
    }
    return true


def note(held: Held, side: str, intervals: dict[str, Any], truth: dict[str, Any]) -> None:
    """Note whether intervals, or each of a list of them, hold the truth."""
    for metric in METRICS.keys() & intervals.keys():
        told = intervals[metric]
        each = told if metric == "class_accuracies" else [told]
        for bounds, value in zip(each, np.atleast_1d(truth[metric]).tolist(), strict=True):
            if bounds is not None:
                low, high = bounds
                hit = bool(low - 1e-9 <= value <= high + 1e-9)
                held.setdefault((side, metric), []).append((hit, high - low))
