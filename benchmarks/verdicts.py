"""Verdicts of `dnip fit` on every class mix and size: how often they are right on other rows.

    python -m benchmarks verdicts gains

The draws of the first are those of `python -m benchmarks mixes`, with their unlabelled rows and
without. `gains` draws uniformly from the opt halves. Both judge by the default objective.
"""

from __future__ import annotations

import math
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from statistics import fmean
from typing import NamedTuple

import numpy as np

from benchmarks.mixes import DRAWS, SIZES, Scored, draws_of, raw, score, scores_of
from benchmarks.tables import Table, print_markdown
from dnip import Objective, ProbabilityTable, evaluate, fit
from dnip.base.errors import DNIPWarning

#: What a verdict has to find on other rows.
GAIN = 0.02
N_CLASSES = 4

#: Labels of a draw, draws of a table, and the most classes that refits are quick for.
GAIN_SIZES, GAIN_DRAWS, MOST_CLASSES = (100, 400, 1_500), 10, 20
SIDES = ("raw", "reweighted")


class Judged(NamedTuple):
    """A verdict on one draw, and what the fit does on other rows."""

    mix: str
    size: int
    with_unlabelled: bool
    apply: bool
    change: float  # of error + β·COBias
    after: Scored


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
    found, beta = [], Objective().beta
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)
        for draw in draws_of(table, seed):
            before = score(draw, raw(draw)).z(beta)
            for more in (None, ProbabilityTable(draw.unlabelled)):
                fitted = fit(ProbabilityTable(draw.p, draw.labels), unlabelled=more, evidence=True)
                assert fitted.evidence is not None
                after = score(draw, fitted.coefficients.weights)
                applies = not fitted.evidence.objections
                told = more is not None, applies, after.z(beta) - before, after
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
        balanced = [one for one in here if one.mix == "balanced"]
        after = (
            scores_of(one.after for one in balanced if one.with_unlabelled == more)
            for more in (False, True)
        )
        known = 1.64 * math.sqrt(0.25 / (size / N_CLASSES))
        told = *after, _gaining(here), f"± {known:.2f}"
        rows.append([f"{size // N_CLASSES}", *told])
    header = [
        "labels of each class",
        "labels only",
        "with rows without labels",
        'verdict "apply" where it helps',
        "the accuracy of a class is known to",
    ]
    about = "accuracy / COBias / worst class after"
    print_markdown(f"Labels per class, balanced draws: {about}", header, rows)


def _gaining(judged: list[Judged]) -> str:
    return _part([one.apply for one in judged if one.change < -GAIN])


def _part(found: list[bool]) -> str:
    return f"{sum(found)} of {len(found)}"


class Verdict(NamedTuple):
    """The verdict on one draw, and what the fit does on other rows."""

    table: str
    size: int
    verdict: str
    change: float  # of error + β·COBias


def gains(tables: list[Table]) -> None:
    """Print how many real gains are recommended, and how many recommended fits are worse."""
    few = [table for table in tables if table.opt.n_classes <= MOST_CLASSES]
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        work = [crew.submit(_verdicts, table, seed) for table in few for seed in range(GAIN_DRAWS)]
        verdicts = [verdict for done in work for verdict in done.result()]
    rows = []
    for name, sizes in [*((f"{n:,} labels", (n,)) for n in GAIN_SIZES), ("all", GAIN_SIZES)]:
        here = [verdict for verdict in verdicts if verdict.size in sizes]
        gaining = [verdict for verdict in here if verdict.change < -GAIN]
        applied = [verdict for verdict in here if verdict.verdict == "apply"]
        recommended = _count(gaining, [verdict.verdict == "apply" for verdict in gaining])
        worse, much_worse = (
            _count(applied, [verdict.change > most for verdict in applied]) for most in (0, GAIN)
        )
        rows.append([name, f"{len(here)}", recommended, worse, much_worse])
    header = [
        f"β = {Objective().beta:g}",
        "fits",
        f'"apply" where other rows gain more than {GAIN:g}',
        'worse among "apply"',
        f"worse by more than {GAIN:g}",
    ]
    print_markdown("Gains that are recommended, ± standard errors", header, rows)


def _verdicts(table: Table, seed: int) -> list[Verdict]:
    """Fit on draws of the opt half, and score the whole test half."""
    opt, rng, beta = table.opt.labelled(), np.random.default_rng(seed), Objective().beta
    assert opt.labels is not None
    verdicts = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # of classes that a draw misses
        for size in (size for size in GAIN_SIZES if size <= len(opt)):
            rows = rng.choice(len(opt), size, replace=False)
            fitted = fit(opt.probabilities[rows], opt.labels[rows], classes=opt.classes)
            scores = evaluate(table.test, coefficients=fitted.coefficients).to_dict()
            before, after = (beta * scores[s]["cobias"] - scores[s]["accuracy"] for s in SIDES)
            verdicts.append(Verdict(table.name, size, fitted.verdict, after - before))
    return verdicts


def _count(verdicts: list[Verdict], hits: list[bool]) -> str:
    """Return how many are hits; draws of one table are not independent, so tables are the units."""
    share = fmean(hits or [0])
    by_table = dict.fromkeys((verdict.table for verdict in verdicts), 0.0)
    for verdict, hit in zip(verdicts, hits, strict=True):
        by_table[verdict.table] += hit - share
    n = len(by_table)
    error = math.sqrt(sum(off**2 for off in by_table.values()) * n / max(n - 1, 1))
    return f"{sum(hits)} of {len(hits)} ± {error:.1f}"
