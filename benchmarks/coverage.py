"""Coverage: how often 90 % intervals hold what a large test half says (`docs/evidence.md`).

    python -m benchmarks coverage

Draws of the test half are judged as `dnip evaluate` does, draws of the opt half as `dnip fit`
does; both against all rows of the test half.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import count, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.tables import Table, print_markdown
from dnip import Coefficients, ProbabilityTable
from dnip.bootstrap import EvidenceSettings, FitEvidence
from dnip.errors import DNIPWarning
from dnip.evaluation import evaluate, scores
from dnip.fitting import Fit, fit_table

LEVEL = 0.9
DRAWS = 200
SIZES = (30, 100, 500)
#: The evidence of a fit takes two dozen refits, and so fewer draws.
FIT_DRAWS, FIT_SIZES = 50, (10, 30, 100, 500)
UNLABELLED = 1_000
#: Draws that are added to once more, by the labels that were asked for.
MOST_MORE = 600

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


class Judged(NamedTuple):
    """One draw of the opt half: its evidence, and the truth."""

    applied: bool
    gained: bool  # COBias falls on the test half, and accuracy by no more than the tolerance
    asked: int | None  # more labels
    settled_later: bool | None


def run(tables: list[Table]) -> None:
    """Print coverage on the test side, on the opt side, and how often verdicts are right."""
    shared = [table for table in tables if "bundled" not in table.name]
    four = [table for table in shared or tables if table.opt.n_classes == 4]
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        _test_side(four, crew)
        for mode, unlabelled in (("auto", 0), ("auto", UNLABELLED), ("off", 0)):
            _opt_side(four, mode, unlabelled, crew)


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
    coefficients = fit_table(table.opt).coefficients
    truth = truth_of(test, coefficients, balanced=balanced)
    held: Held = {}
    for draw in draws_of(test, n, DRAWS, balanced=balanced):
        told = evaluate([draw], coefficients).to_dict(LEVEL)
        for side in SIDES:
            note(held, side, told[side]["intervals"], truth[side])
    return held


def _opt_side(
    tables: Sequence[Table], mode: str, unlabelled: int, crew: ProcessPoolExecutor
) -> None:
    cells = list(product(FIT_SIZES, (False, True)))
    work = [(table, n, bal, mode, unlabelled) for n, bal in cells for table in tables]
    found = list(crew.map(_fits, *zip(*work, strict=True)))
    title = f"fit --robust {mode}, {unlabelled:,} unlabelled rows"
    _print_coverage(title, [held for held, _ in found], cells, tables, FIT_DRAWS)
    rows = []
    for place, (n, balanced) in enumerate(cells):
        cell = found[place * len(tables) : (place + 1) * len(tables)]
        judged = [one for _, verdicts in cell for one in verdicts]
        gained, lost = ([o for o in judged if o.gained is side] for side in (True, False))
        later = [o.settled_later for o in judged if o.settled_later is not None]
        asked = [o.asked for o in judged if o.asked is not None]
        rows.append(
            [
                f"{n} labels, {'balanced' if balanced else 'uniform'}",
                f"{len(gained)} of {len(judged)}",
                _part([o.applied for o in gained]),
                _part([o.applied for o in lost]),
                f"{np.median(asked):.0f}" if asked else "–",
                f"{_part(later)} of {len(later)}" if later else "–",
            ]
        )
    print_markdown(
        f"{title}: verdicts",
        [
            "draws",
            "truly better",
            "of these: apply",
            "of the others: apply",
            "more labels, median",
            "settled with so many",
        ],
        rows,
    )


def _part(values: Sequence[bool | None]) -> str:
    return f"{np.mean([bool(value) for value in values]):.0%}" if values else "–"


def _fits(
    table: Table,
    n: int,
    balanced: bool,
    mode: str,
    unlabelled: int,
) -> tuple[Held, list[Judged]]:
    """Fit draws of the opt half, and hold what they say of themselves against the test half."""
    opt, test = table.opt.labelled(), table.test.labelled()
    held: Held = {}
    verdicts: list[Judged] = []
    for seed, draw in enumerate(draws_of(opt, n, FIT_DRAWS, balanced=balanced)):
        rest = _rest(opt, unlabelled, seed)
        fitted = _fit(draw, mode, rest)
        evidence = _evidence(fitted)
        truth = truth_of(test, fitted.coefficients, balanced=balanced)
        for side in SIDES:
            note(held, side, getattr(evidence, side)["intervals"], truth[side])
        change = truth["difference"]
        gained = change["cobias"] < 0 and change["accuracy"] >= -evidence.tolerance
        more, settled = None, None
        if evidence.more is not None:
            more = int(evidence.more.sum())
            if more <= MOST_MORE:
                larger = _add(opt, draw, evidence.more, seed)
                settled = None if larger is None else _evidence(_fit(larger, mode, rest)).settled
        verdicts.append(Judged(evidence.apply, gained, more, settled))
    return held, verdicts


def _fit(draw: ProbabilityTable, mode: str, rest: ProbabilityTable | None) -> Fit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # of classes that a draw misses
        wanted = EvidenceSettings(always=True, confidence=LEVEL)
        return fit_table(draw, robust=mode, unlabelled=rest, evidence=wanted)


def _evidence(fitted: Fit) -> FitEvidence:
    assert fitted.evidence is not None
    return fitted.evidence


def _rest(opt: ProbabilityTable, n: int, seed: int) -> ProbabilityTable | None:
    if not n:
        return None
    rows = np.random.default_rng(seed).choice(len(opt), min(n, len(opt)), replace=False)
    return ProbabilityTable(opt.probabilities[rows], None, None, opt.classes, opt.source)


def _add(
    opt: ProbabilityTable, draw: ProbabilityTable, more: ArrayLike, seed: int
) -> ProbabilityTable | None:
    """Return a draw with more labels of each class; None where the half has not so many."""
    rng = np.random.default_rng(seed)
    labels = np.asarray(opt.labels)
    parts = [draw]
    for c, wanted in enumerate(np.asarray(more).tolist()):
        of_class = np.flatnonzero(labels == c)
        if wanted > len(of_class) // 2:
            return None
        parts.append(opt.take(rng.choice(of_class, wanted, replace=False)))
    return ProbabilityTable(
        np.concatenate([part.probabilities for part in parts]),
        np.concatenate([np.asarray(part.labels) for part in parts]),
        None,
        opt.classes,
        opt.source,
    )


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
