"""Deferring a share of rows to a helper, by raw probabilities and by corrected ones."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable
from dnip.base.errors import DNIPWarning
from dnip.fitting.deferring import threshold_of
from dnip.fitting.fit import fit
from dnip.method.prediction import decide, reweight
from dnip.metrics.confusion import cobias_of

SHARE, HELPERS = 0.3, (0.8, 0.9, 1.0)
SIZES, DRAWS = (200, 1_000, None), 5
WAYS = ("nothing", "raw", "corrected")
_NOT_LLM = ("cifar", "20news")


class Scores(NamedTuple):
    """What the system shows on test rows."""

    accuracy: float
    cobias: float
    worst: float
    share: float


def run(tables: list[Table]) -> None:
    """Print means over tables by labels and helper, then each table with a helper of 90 %.

    The helper is not drawn: each row that is deferred counts as so much of a right one as the
    helper is accurate.
    """
    tables = [table for table in tables if "bundled" not in table.name]
    llm = [table.name for table in tables if not table.name.startswith(_NOT_LLM)]
    others = [table.name for table in tables if table.name not in llm]
    found = {
        (table.name, size): _measure(table, size)
        for table in tables
        for size in SIZES
        if size is None or size < len(table.opt)
    }
    header = ["labels, helper", *WAYS, "COBias, of raw's"]
    for title, names in (("language models", llm), ("other classifiers", others)):
        rows = []
        for size in SIZES:
            for i, helper in enumerate(HELPERS):
                some = [found[name, size][i] for name in names if (name, size) in found]
                rows.append([f"{_labels(size)}, {helper:.0%}", *_cells(np.mean(some, axis=0))])
        about = f"accuracy / COBias / worst class / share, mean of {len(names)} tables"
        print_markdown(f"Deferring, {title}: {about}", header, rows)
    for size in SIZES:
        rows = [[name, *_cells(found[name, size][1])] for name, n in found if n == size]
        title = f"Deferring by table, {_labels(size)} labels, helper right on 90 %"
        print_markdown(title, ["table", *header[1:]], rows)


def _labels(size: int | None) -> str:
    return "all" if size is None else f"{size:,}"


def _cells(scores: np.ndarray) -> list[str]:
    """Return each way's scores, and the COBias of the last over that of the one before."""
    cells = [" / ".join(f"{value:.3f}" for value in way) for way in scores]
    return [*cells, f"{scores[-1, 1] / scores[-2, 1]:.2f}"]


def _measure(table: Table, size: int | None) -> np.ndarray:
    """Return scores of shape (helpers, ways, 4), means over draws of opt rows."""
    drawn = [table.opt]
    if size is not None:
        drawn = [table.opt.draw(size, seed) for seed in range(DRAWS)]
    scores = [[_ways(opt, table.test, one) for one in HELPERS] for opt in drawn]
    return np.asarray(np.mean(scores, axis=0))


def _ways(opt: ProbabilityTable, test: ProbabilityTable, accuracy: float) -> list[Scores]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)  # small draws lack classes
        weights = fit(opt, evidence=False).coefficients.multipliers
    raw = np.ones(opt.n_classes)
    ways = [(weights, 0.0), (raw, _threshold(opt, raw)), (weights, _threshold(opt, weights))]
    return [_scores(test, by, threshold, accuracy) for by, threshold in ways]


def _threshold(opt: ProbabilityTable, multipliers: np.ndarray) -> float:
    sureness = reweight(opt.probabilities, multipliers).max(axis=1)
    return threshold_of(sureness, np.ones(len(sureness)), SHARE)


def _scores(
    test: ProbabilityTable, multipliers: np.ndarray, threshold: float, accuracy: float
) -> Scores:
    q, labels, n_classes = reweight(test.probabilities, multipliers), test.labels, test.n_classes
    assert labels is not None
    deferred = q.max(axis=1) < threshold
    credit = np.where(deferred, accuracy, decide(test.probabilities, multipliers) == labels)
    sizes = np.bincount(labels, minlength=n_classes)
    rates = (np.bincount(labels, credit, n_classes) / np.maximum(sizes, 1))[sizes > 0]
    return Scores(credit.mean(), float(cobias_of(rates)), rates.min(), deferred.mean())
