"""Levels: how often what is said with a level holds, on made rows whose truth is known.

    python -m benchmarks levels

Tables of real models are in the benchmarks `coverage` and `drift`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import numpy as np

from benchmarks.tables import Table, print_markdown
from dnip import ProbabilityTable, evaluate
from dnip.base.typing import Counts
from dnip.method.kept import ClassScores, Sketch
from dnip.metrics import METRICS, metric_intervals, scores
from dnip.metrics.chance import has_signal
from dnip.metrics.intervals import Expectation, balanced_accuracy_interval, paired_bounds

DRAWS = 1_000
LEVEL = 0.9
# How often each class is taken for each, of all rows.
CHANCES = np.array([[0.35, 0.1, 0.05], [0.09, 0.15, 0.06], [0.02, 0.06, 0.12]])

#: What was said held, draw after draw.
Held = Iterator[bool]


def run(_tables: list[Table]) -> None:
    """Print how often each promise holds."""
    promises: dict[str, tuple[str, Callable[[], Held]]] = {
        "change of a proportion, 8 rows": (">= 90 %", partial(_changes, 8)),
        "change of a proportion, 125 rows": (">= 90 %", partial(_changes, 125)),
        "balanced accuracy, 25 rows a class": (">= 90 %", _means),
        "accuracy in another mix": (">= 90 %", _other_mixes),
        **{
            f"{metric.title}, {n} rows": ("90 %", partial(_intervals, name, n))
            for n in (30, 100)
            for name, metric in METRICS.items()
        },
        **{
            f"COBias to expect, κ = {kappa:g}": ("90 %", partial(_expected, kappa))
            for kappa in (0.0, 0.5, 1.0)
        },
        "accuracy of new rows like those of a fit": ("95 %", partial(_alike, 0)),
        "COBias of new rows like those of a fit": ("95 %", partial(_alike, 1)),
        "COBias of new rows where a fit closed a gap": (">= 95 %", _closed),
        "a sketch of rows like those of a fit": (">= 95 %", _sketches),
        "noise is called noise": (">= 98 %", _noise),
    }
    rows = []
    for name, (asked, promise) in promises.items():
        held = list(islice(promise(), DRAWS))
        rows.append([name, asked, f"{np.mean(held):.1%}"])
    print_markdown(f"Promises on made rows, {DRAWS:,} draws each", ["what", "said", "held"], rows)


def _changes(n: int) -> Held:
    rng = np.random.default_rng(0)
    while True:  # neither, the second only, the first only, both
        _, gained, lost, _ = rng.multinomial(n, [0.1, 0.3, 0.1, 0.5])
        low, high = paired_bounds([gained], [lost], [n], LEVEL)[0]
        yield bool(low <= 0.2 <= high)


def _means() -> Held:
    rng, accuracies = np.random.default_rng(0), np.array([0.9, 0.3, 0.6])
    while True:
        low, high = balanced_accuracy_interval(_counts(rng.binomial(25, accuracies), 25), LEVEL)
        yield low <= accuracies.mean() <= high


def _other_mixes() -> Held:
    chances, target = np.array([0.9, 0.6, 0.3]), np.array([0.7, 0.2, 0.1])
    labels, rng = np.repeat(np.arange(3), 60), np.random.default_rng(0)
    while True:
        right = rng.random(180) < chances[labels]
        table = ProbabilityTable(np.eye(3)[np.where(right, labels, (labels + 1) % 3)], labels)
        told = evaluate(table, target=target).to_dict(LEVEL)["raw"]["intervals"]["accuracy"]
        yield told[0] <= chances @ target <= told[1]


def _intervals(metric: str, n: int) -> Held:
    rng, truth = np.random.default_rng(0), scores(CHANCES)[metric]
    while True:
        drawn = rng.multinomial(n, CHANCES.ravel()).reshape(3, 3)
        if np.count_nonzero(drawn.sum(axis=1)) > 1:
            low, high = metric_intervals(drawn, LEVEL)[metric]
            yield low <= truth <= high


def _expected(kappa: float) -> Held:
    """Yield for rows left out that show x = d + (1 - κ)e; the true accuracies are d - κe."""
    rng, size = np.random.default_rng(1), 60
    while True:
        base = rng.normal(0.75, 0.05, 4)
        luck = rng.normal(0, np.sqrt(0.75 * 0.25 / size), 4)
        seen = np.clip(np.rint(size * (base + (1 - kappa) * luck)), 0, size)
        true = base - kappa * luck
        low, high = Expectation(_counts(seen, size), kappa).intervals(LEVEL)["cobias"]
        yield low <= np.abs(true[:, None] - true).sum() / 12 <= high


def _alike(which: int) -> Held:
    rng = np.random.default_rng(0)
    while True:
        rates = rng.uniform(0.5, 0.9, 4)
        fitted, now = _scores(rng, [200] * 4, rates), _scores(rng, [100, 50, 200, 30], rates)
        score = fitted.compare(now, 0.95)[which]
        assert score is not None
        yield score.low <= score.now <= score.high


def _closed() -> Held:
    """Yield for a fit that made equal what chance set apart: rates are off by that chance."""
    rng, fitted = np.random.default_rng(1), ClassScores(np.full(4, 100), np.full(4, 80))
    while True:
        rates = np.clip(rng.normal(0.8, np.sqrt(0.8 * 0.2 / 100), 4), 0, 1)
        score = fitted.compare(_scores(rng, [100] * 4, rates), 0.95)[1]
        assert score is not None
        yield score.now <= score.high


def _sketches() -> Held:
    rng = np.random.default_rng(0)
    while True:
        p = rng.dirichlet([2, 1, 1], 700)
        yield Sketch.of(p[:500]).compare(p[500:]).p_value > 0.05


def _noise() -> Held:
    rng = np.random.default_rng(0)
    while True:
        n, n_classes = int(rng.integers(60, 400)), int(rng.integers(2, 9))
        labels = rng.choice(n_classes, n, p=rng.dirichlet(np.ones(n_classes)))
        yield has_signal(rng.dirichlet(np.ones(n_classes), n), labels) is not True


def _scores(rng: np.random.Generator, rows: list[int], rates: np.ndarray) -> ClassScores:
    return ClassScores(np.asarray(rows), rng.binomial(rows, rates))


def _counts(right: np.ndarray, size: int) -> Counts:
    """Return a confusion matrix in which errors go to the next class."""
    return np.asarray(np.diag(right) + np.roll(np.diag(size - right), 1, axis=1))
