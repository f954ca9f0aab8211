"""A look every day: how often `dnip check` alarms in a series of looks, rightly and wrongly.

    python -m benchmarks looks

The rows of a fit and those of each day are drawn with replacement from all rows of a table, so
that nothing but chance sets them apart (`docs/monitoring.md`).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import log

import numpy as np

from benchmarks.drift import ALPHA, _gained, _moved
from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable
from dnip.base.errors import DNIPWarning
from dnip.base.typing import Booleans, Floats, Integers
from dnip.deploying.check import QUESTIONS, ROWS_OF_A_LOOK
from dnip.deploying.class_scores import ClassScores
from dnip.deploying.looks import Look
from dnip.fitting.fit import fit_table
from dnip.tables.sketch import Sketch

SERIES, DAYS = 200, 100
FIT_ROWS, MOST_CLASSES = 500, 4
#: Rows of a day, and whether they have labels.
UNMOVED = ((100, False), (300, False), (1_000, False), (300, True))
#: Rows of a day after a drift, the first such day, and for how many days it is waited for.
MOVED_ROWS, STARTS, PATIENCE = 500, (1, 10, 30, 100), 30
#: Where the model itself changes: how much the logit of a class gains.
BIAS = 0.5

#: The level of the i-th day; the last way spends more slowly, and its parts add up to 1, too.
WAYS: dict[str, Callable[[int], float]] = {
    "each day at .05": lambda _: ALPHA,
    "1 / (i·(i + 1))": lambda i: Look(i, ALPHA).level,
    "1 / (i·log² i)": lambda i: ALPHA / 2.1097 / ((i + 1) * log(i + 1) ** 2),
}
#: With labels, a look takes longer.
WITH_LABELS = 2


class Series:
    """A fit to some rows of a table, and days drawn from all of them."""

    def __init__(self, table: Table, number: int, *, labelled: bool = False) -> None:
        halves = [half.labelled() for half in (table.opt, table.test)]
        self.p = np.concatenate([half.probabilities for half in halves])
        self.labels = np.concatenate([half.labels for half in halves if half.labels is not None])
        self.shares = np.bincount(self.labels) / len(self.labels)
        self.rng = np.random.default_rng(number)
        rows = self.draw(FIT_ROWS)
        self._sketch = Sketch.of(self.p[rows])
        if labelled:
            fit = ProbabilityTable(self.p[rows], self.labels[rows], classes=table.opt.classes)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DNIPWarning)
                self._fitted = fit_table(fit, evidence=True).coefficients
            scores = ClassScores.from_fit(self._fitted.fit, fit.n_classes)
            assert scores is not None
            self._scores = scores

    def draw(self, size: int, mix: Floats | None = None) -> Integers:
        """Draw the rows of a day."""
        weight = np.ones(len(self.p)) if mix is None else (mix / self.shares)[self.labels]
        return self.rng.choice(len(self.p), size, p=weight / weight.sum())

    def compare(self, p: Floats) -> Floats:
        """Return the p values of a day without labels, one for each of `WAYS`."""
        values = (self._sketch.compare(p, least_rows=n).p_value for n in (0, ROWS_OF_A_LOOK))
        return np.array([*values])[[0, 1, 1]]

    def is_worse(self, rows: Integers, level: float) -> bool:
        """Say whether accuracy or COBias of a day got worse, as `dnip check` tells."""
        labels, n_classes = self.labels[rows], self.p.shape[1]
        right = labels[(self.p[rows] * self._fitted.multipliers).argmax(axis=1) == labels]
        seen, hits = (np.bincount(of, minlength=n_classes) for of in (labels, right))
        now = ClassScores(seen, hits)
        accuracy, cobias = self._scores.compare(now, 1 - level)
        return accuracy.now < accuracy.low or (cobias is not None and cobias.now > cobias.high)


def run(tables: list[Table]) -> None:
    """Print false alarms in series of looks, and for how long a drift goes unnoticed."""
    few = [table for table in tables if table.opt.n_classes <= MOST_CLASSES]
    work = [few[number % len(few)] for number in range(SERIES)], range(SERIES)
    with ProcessPoolExecutor(os.cpu_count()) as crew:
        rows = []
        for size, labelled in UNMOVED:
            each = crew.map(partial(_alarms, size=size, labelled=labelled), *work, chunksize=8)
            shares = [f"{share:.1%}" for share in np.mean([*each], axis=0)]
            missing = ["–"] * (len(WAYS) - len(shares))
            of = "with labels" if labelled else "without labels"
            rows.append([f"{size:,} rows {of}", *shares, *missing])
        waits = [*crew.map(_waits, *work, chunksize=8)]
    title = f"False alarms on unmoved tables, {SERIES} series of {DAYS} looks"
    print_markdown(title, ["a day", *WAYS], rows)
    rows = []
    for number, name in enumerate(DRIFTS):
        for place, start in enumerate(STARTS):
            days = np.array(waits)[:, number, place]
            rows.append([name, f"{start}", *map(_told, days.T)])
    title = f"Days until a drift is noticed at {MOVED_ROWS} rows a day"
    print_markdown(title, ["drift", "begins on day", *WAYS], rows)


def _alarms(table: Table, number: int, *, size: int, labelled: bool) -> Booleans:
    """Return in which ways an unmoved series alarms."""
    series = Series(table, number, labelled=labelled)
    ways = [*WAYS.values()][: WITH_LABELS if labelled else None]
    alarms = np.zeros(len(ways), bool)
    for day in range(1, DAYS + 1):
        rows = series.draw(size)
        p_values = series.compare(series.p[rows])
        for way, level_of in enumerate(ways):
            level = level_of(day) / (QUESTIONS if labelled else 1)
            if not alarms[way]:
                worse = labelled and series.is_worse(rows, level)
                alarms[way] = worse or p_values[way] <= level
    return alarms


def _waits(table: Table, number: int) -> Floats:
    """Return the days until each drift is noticed, by its first day and by ways."""
    series = Series(table, number)
    found = []
    for drift in DRIFTS.values():
        mix, bias = drift(series.shares, series.rng)
        days = []
        for _ in range(PATIENCE):
            p = series.p[series.draw(MOVED_ROWS, mix)] * np.exp(bias)
            days.append(series.compare(p / p.sum(axis=1, keepdims=True)))
        levels = [
            [[of(start + day) for of in WAYS.values()] for day in range(PATIENCE)]
            for start in STARTS
        ]
        noticed = np.array(days) <= np.array(levels)
        waits: Floats = np.where(noticed.any(axis=1), noticed.argmax(axis=1) + 1, np.inf)
        found.append(waits)
    return np.array(found)


def _biased(shares: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    return shares, BIAS * np.eye(len(shares))[rng.integers(len(shares))]


#: Of class shares, a class mix, and what is added to the logits.
DRIFTS: dict[str, Callable[[Floats, np.random.Generator], tuple[Floats, Floats]]] = {
    "one class gains 20 points": lambda *given: (_gained(*given), np.zeros(1)),
    "20 points go from few to one": lambda *given: (_moved(*given), np.zeros(1)),
    f"a logit gains {BIAS:g}": _biased,
}


def _told(days: Floats) -> str:
    """Say on how many first days, and after how many days in half of the series."""
    middle = np.median(days)
    half = f"over {PATIENCE}" if np.isinf(middle) else f"{middle:.0f}"
    return f"{half} ({np.mean(days == 1):.0%} at once)"
