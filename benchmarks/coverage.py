"""Coverage: how often 90 % intervals hold what a large test half says (`docs/evidence.md`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.tables import Table, print_markdown
from dnip import Coefficients, ProbabilityTable
from dnip.evaluation import evaluate, scores
from dnip.fitting import fit_table

LEVEL = 0.9
DRAWS = 200
SIZES = (30, 100, 500)
SINGLE = ("accuracy", "cobias", "worst_class_accuracy", "cobias_single", "macro_f1")
#: By metric: whether each interval held the truth, and its width.
Held = dict[str, list[tuple[bool, float]]]


def run(tables: list[Table]) -> None:
    """Print coverage of `evaluate`, draw by draw against the whole test half."""
    shared = [table for table in tables if "bundled" not in table.name]
    four = [table for table in shared or tables if table.opt.n_classes == 4]
    _test_side(four)


def _test_side(tables: Sequence[Table]) -> None:
    header = ["metric", *[f"{n} rows, {kind}" for n in SIZES for kind in ("uniform", "balanced")]]
    for side in ("raw", "reweighted", "difference"):
        held = [
            [
                _evaluations(table, n, side, balanced=balanced)
                for n in SIZES
                for balanced in (False, True)
            ]
            for table in tables
        ]
        metrics = held[0][0]
        rows = [
            [_NAMES.get(metric, metric), *[_cell([h[i][metric] for h in held]) for i in range(6)]]
            for metric in metrics
        ]
        print_markdown(
            f"evaluate, {side}: coverage over {len(tables)} tables, {DRAWS} draws each "
            "(least and most of a table), and mean width",
            header,
            rows,
        )


_NAMES = {
    "accuracy": "accuracy",
    "cobias": "COBias",
    "worst_class_accuracy": "worst class",
    "cobias_single": "COBias_single",
    "macro_f1": "macro-F1",
    "class_accuracies": "class accuracies",
}


def _cell(held: Sequence[list[tuple[bool, float]]]) -> str:
    parts = [np.mean([hit for hit, _ in one]) for one in held]
    width = np.mean([width for one in held for _, width in one])
    return f"{np.mean(parts):.0%} ({min(parts):.0%} to {max(parts):.0%}), {width:.2f}"


def _evaluations(table: Table, n: int, side: str, *, balanced: bool) -> Held:
    """Score draws of the test half under coefficients of the opt half."""
    test = table.test.labelled()
    coefficients = fit_table(table.opt).coefficients
    whole = truth_of(test, coefficients, balanced=balanced)[side]
    held: Held = {}
    for draw in draws_of(test, n, balanced=balanced):
        told = evaluate([draw], coefficients).to_dict(LEVEL)
        intervals = told[side]["intervals"]
        for metric in (*(m for m in SINGLE if m in intervals), "class_accuracies"):
            note(held, metric, intervals[metric], whole[metric])
    return held


def draws_of(table: ProbabilityTable, n: int, *, balanced: bool) -> Iterator[ProbabilityTable]:
    """Yield draws in which at least two classes have rows."""
    made = 0
    for seed in count():
        draw = table.draw(n, seed, balanced=balanced)
        if len(np.unique(np.asarray(draw.labels))) > 1:
            yield draw
            made += 1
        if made == DRAWS:
            return


def truth_of(
    test: ProbabilityTable, coefficients: Coefficients, *, balanced: bool
) -> dict[str, Any]:
    """Score all rows; as if classes were equally frequent where that is how draws are made."""
    evaluation = evaluate([test], coefficients)
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


def note(held: Held, metric: str, interval: list[Any], truth: ArrayLike) -> None:
    """Note whether an interval, or each of a list of them, holds the truth."""
    intervals = interval if metric == "class_accuracies" else [interval]
    for bounds, value in zip(intervals, np.atleast_1d(truth).tolist(), strict=True):
        if bounds is not None:
            low, high = bounds
            hit = bool(low - 1e-9 <= value <= high + 1e-9)
            held.setdefault(metric, []).append((hit, high - low))
