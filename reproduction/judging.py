"""Scores of predictions with their intervals, and what the paper says judged by them.

The interval is a bootstrap over what was drawn: in each of `DRAWS` rounds the seeds of a task are
drawn with replacement, and so are its test rows, the same ones for all methods and seeds. The fits
stay as they are. It is a basic interval (twice the estimate less the upper and lower quantile):
differences between classes grow with noise, and that takes the growth away again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from dnip.base.typing import Floats
from reproduction.probabilities import ONE

#: Rounds of the bootstrap, and the level of its intervals.
DRAWS, LEVEL = 1000, 0.95
#: A claim needs so many test rows of every task.
LEAST_ROWS = 200
#: A key of `scores_of`, or a function of a row of results and weights (rounds, M).
Metric = str | Callable[[Any, Floats], Floats]
HOLDS, FAILS, OPEN, UNJUDGED = "holds", "does not hold", "open", "not judged"
_PAIRS = (("lower", "higher"), ("falls", "rises"), ("below", "above"))
#: What the name of a contrast says instead, if the contrast is below 0.
OPPOSITE = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}


class Unjudged(Exception):  # noqa: N818 - no error, a verdict
    """Why a claim is not judged."""


class Claim(NamedTuple):
    """What the paper says, its own numbers, ours, and the verdict."""

    experiment: str
    says: str
    paper: str
    ours: str
    verdict: str


def scores_of(counts: Floats) -> dict[str, Floats]:
    """Return metrics of confusion matrices (…, N, N); a class without rows counts nowhere.

    Examples
    --------
    >>> for name, value in scores_of(np.array([[8.0, 2.0], [4.0, 6.0]])).items():
    ...     print(name, value.round(3))
    accuracy 0.7
    cobias 0.2
    worst_class_accuracy 0.6
    cobias_single 0.2
    """
    right, true = np.diagonal(counts, axis1=-2, axis2=-1), counts.sum(axis=-1)
    rates, n = rates_of(counts), counts.shape[-1]
    first, second = np.triu_indices(n, 1)
    wrong = np.where(np.eye(n, dtype=bool), -1.0, counts)
    odd = wrong.argmax(axis=-1)
    of_odd = np.take_along_axis(rates, odd, axis=-1)
    single = np.where(wrong.max(axis=-1) > 0, np.abs(of_odd - rates), np.where(true > 0, 0, np.nan))
    return {
        "accuracy": right.sum(axis=-1) / true.sum(axis=-1),
        "cobias": np.nanmean(np.abs(rates[..., first] - rates[..., second]), axis=-1),
        "worst_class_accuracy": np.nanmin(rates, axis=-1),
        "cobias_single": np.nanmean(single, axis=-1),
    }


def rates_of(counts: Floats) -> Floats:
    """Return class accuracies of confusion matrices (…, N, N), nan for a class without rows."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.diagonal(counts, axis1=-2, axis2=-1) / counts.sum(axis=-1))


def count_pairs(labels: np.ndarray, predicted: np.ndarray, n: int, weights: Floats) -> Floats:
    """Return confusion matrices (rounds, N, N) of rows that count by weights (rounds, M)."""
    pairs = np.zeros((len(labels), n * n), np.float32)
    pairs[np.arange(len(labels)), labels * n + predicted] = 1
    return (weights @ pairs).reshape(-1, n, n).astype(float)


def interval(values: Floats) -> tuple[float, float, float]:
    """Return an estimate, the first of the values, and its interval from the others."""
    if len(values) == 1:
        return (float(values[0]),) * 3
    low, high = np.quantile(values[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(values[0]), float(2 * values[0] - high), float(2 * values[0] - low)


def change(after: Floats, before: Floats) -> str:
    """Return a relative change and its interval, that of the logarithm: it never leaves −100 %.

    Examples
    --------
    >>> change(np.array([0.1, 0.15, 0.2]), np.array([0.5, 0.5, 0.5]))
    '−80.0 (−89.9 to −86.8) %'
    """
    logs = np.log(np.maximum(after, 1e-9) / np.maximum(before, 1e-9))
    return f"{percent(*np.expm1(interval(logs)))} %"


@cache
def row_weights(task: str, n: int) -> Floats:
    """Return how often each of n test rows counts, (1 + DRAWS, n): once, then as drawn."""
    rng = np.random.default_rng(crc32(f"rows of {task}".encode()))
    drawn = rng.multinomial(n, np.full(n, 1 / n), DRAWS)
    return np.vstack([np.ones(n), drawn]).astype(np.float32)


class Scores:
    """Averages of results over tasks, as the estimate and `DRAWS` rounds of the bootstrap.

    Parameters
    ----------
    results : DataFrame
        A row for each cell and method: ``task``, ``shots``, ``seed``, ``method``, ``n_classes``,
        and arrays ``labels`` and ``predicted`` of its test rows.
    tasks : sequence of str
        The planned tasks.
    """

    def __init__(self, results: Any, tasks: Sequence[str]) -> None:
        self.results, self.tasks = results, tuple(tasks)
        self._made: dict[int, dict[str, Floats]] = {}

    @cached_property
    def _records(self) -> dict[tuple[str, str, str], list[Any]]:
        found: dict[tuple[str, str, str], list[Any]] = {}
        for row in self.results.itertuples():
            found.setdefault((row.task, row.shots, row.method), []).append(row)
        return found

    def of_task(self, task: str, method: str, metric: Metric, shots: str = ONE) -> Floats:
        """Return the mean over seeds of one task, shape (1 + DRAWS,).

        A metric is a key of `scores_of`, or takes a row of the results and weights (1 + DRAWS, M).
        """
        rows = self._records.get((task, shots, method))
        if rows is None:
            raise Unjudged(f"{task} has no {named(shots)} rows")
        if min(len(row.labels) for row in rows) < LEAST_ROWS:
            raise Unjudged(f"{task} has fewer than {LEAST_ROWS} test rows")
        drawn = self._seeds(task, len(rows))
        values = [self._replicates(row, metric) for row in rows]
        return np.asarray(sum(w * value for w, value in zip(drawn, values, strict=True)))

    def mean(self, method: str, metric: Metric, shots: str = ONE) -> Floats:
        """Return the mean over all planned tasks, shape (1 + DRAWS,)."""
        return np.asarray(
            np.mean([self.of_task(t, method, metric, shots) for t in self.tasks], axis=0)
        )

    def less(self, metric: Metric, method: str, other: str, shots: str = ONE) -> Floats:
        """Return by how much the mean of a method is below that of another, (1 + DRAWS,)."""
        return self.mean(other, metric, shots) - self.mean(method, metric, shots)

    def better(self, method: str, other: str, shots: str = ONE) -> dict[str, Floats]:
        """Return by how much a method has less COBias and more accuracy than another."""
        return {
            "COBias lower by": self.less("cobias", method, other, shots),
            "accuracy higher by": self.less("accuracy", other, method, shots),
        }

    def falls(
        self, method: str, other: str, metrics: Sequence[str] = ("COBias", "accuracy"), **way: str
    ) -> dict[str, Floats]:
        """Return by how much metrics of a method, as they are called in print, are below others."""
        return {f"{m} falls by": self.less(m.lower(), method, other, **way) for m in metrics}

    def _replicates(self, row: Any, metric: Metric) -> Floats:
        weights = row_weights(row.task, len(row.labels))
        if not isinstance(metric, str):
            return metric(row, weights)
        if row.Index not in self._made:
            counts = count_pairs(row.labels, row.predicted, row.n_classes, weights)
            self._made[row.Index] = scores_of(counts)
        return self._made[row.Index][metric]

    def _seeds(self, task: str, n: int) -> Floats:
        rng = np.random.default_rng(crc32(f"seeds of {task}".encode()))
        drawn = rng.multinomial(n, np.full(n, 1 / n), DRAWS)
        return np.vstack([np.full(n, 1 / n), drawn / n]).T


def judge(
    experiment: str, said: Sequence[str], contrasts: Callable[[], Mapping[str, Floats]] | str
) -> Claim:
    """Judge a claim by contrasts that must all be above 0.

    It holds if every interval is above 0, and does not if one is below; else it is open.

    Parameters
    ----------
    said : sequence of str
        What the paper says, and its numbers.
    contrasts : callable
        Gives each contrast in rates, shape (1 + DRAWS,), by its name in words; or raises
        `Unjudged`. Text instead says why there are none.
    """
    says, paper = said
    try:
        if isinstance(contrasts, str):
            raise Unjudged(contrasts)
        intervals = {name: interval(values) for name, values in contrasts().items()}
    except Unjudged as why:  # too little was measured
        return Claim(experiment, says, paper, str(why), UNJUDGED)
    words = "; ".join(in_words(name, *ends) for name, ends in intervals.items())
    fails = FAILS if any(high < 0 for *_, high in intervals.values()) else OPEN
    verdict = HOLDS if all(low > 0 for _, low, _ in intervals.values()) else fails
    return Claim(experiment, says, paper, words, verdict)


def in_words(name: str, value: float, low: float, high: float) -> str:
    """Return a contrast in words; one below 0 says the opposite.

    Examples
    --------
    >>> in_words("COBias lower by", -0.104, -0.138, -0.084)
    'COBias higher by 10.4 (8.4 to 13.8)'
    """
    turned = re.sub(rf"\b({'|'.join(OPPOSITE)})\b", lambda m: OPPOSITE[m[1]], name, count=1)
    if value < 0 and turned != name:
        return f"{turned} {percent(-value, -high, -low)}"
    return f"{name} {percent(value, low, high)}"


def percent(value: float, low: float, high: float) -> str:
    """Return an estimate and its interval in per cent.

    Examples
    --------
    >>> percent(-0.391, -0.42, -0.363)
    '−39.1 (−42.0 to −36.3)'
    """
    if low == high:
        return f"{100 * value:.1f}".replace("-", "−")
    return f"{100 * value:.1f} ({100 * low:.1f} to {100 * high:.1f})".replace("-", "−")


def named(shots: str) -> str:
    """Return the paper's name of a way of prompting."""
    return {"balanced": "N-shot"}.get(shots, f"{shots}-shot" if shots.isdecimal() else shots)
