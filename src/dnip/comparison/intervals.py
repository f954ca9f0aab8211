"""Intervals by bootstrap over test rows, the same resampled rows for every method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnip.typing import Floats, Labels

#: What is scored, by the names of :func:`dnip.evaluation.scores`.
METRICS = ("accuracy", "cobias", "worst_class_accuracy", "macro_f1")

#: Share of the resamples that an interval holds.
COVERAGE = 0.95

# Cells of resampled counts that are held at once.
_CELLS = 20_000_000


def bootstrap(
    true: Labels,
    predictions: Mapping[str, Sequence[Labels]],
    n_classes: int,
    *,
    resamples: int,
    seed: int = 0,
) -> dict[str, Floats]:
    """Score every method on resampled test rows; its score is the mean over its runs.

    Parameters
    ----------
    true : ndarray of shape (T,)
        Class indices.
    predictions : mapping of str to sequence of ndarray of shape (T,)
        The predictions of each method, run by run.
    n_classes : int
        N.
    resamples : int
        B.
    seed : int, default=0
        Of the resampling.

    Returns
    -------
    dict of str to ndarray of shape (B, metrics)
        The same resample in the same row for every method, so differences are paired.

    Examples
    --------
    >>> import numpy as np
    >>> true = np.array([0, 1] * 50)
    >>> scores = bootstrap(true, {"perfect": [true]}, 2, resamples=3)
    >>> scores["perfect"].tolist()
    [[1.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0], [1.0, 0.0, 1.0, 1.0]]
    """
    rng = np.random.default_rng(seed)
    n_rows = len(true)
    size = max(1, _CELLS // n_rows)
    parts: dict[str, list[Floats]] = {name: [] for name in predictions}
    for first in range(0, resamples, size):
        weights = _draw(n_rows, min(size, resamples - first), rng)
        totals = weights @ _one_hot(true, n_classes)
        known: dict[bytes, Floats] = {}  # many methods decide alike in every run
        for name, runs in predictions.items():
            scores = []
            for predicted in runs:
                key = predicted.tobytes()
                if key not in known:
                    known[key] = _score(weights, totals, true, predicted)
                scores.append(known[key])
            parts[name].append(np.mean(scores, axis=0))
    return {name: np.concatenate(blocks) for name, blocks in parts.items()}


def interval(resampled: Floats) -> tuple[float, float]:
    """Return the ends of the middle 95 % of resampled scores.

    Examples
    --------
    >>> low, high = interval(np.arange(1001.0))
    >>> round(low), round(high)
    (25, 975)
    """
    low, high = np.quantile(resampled, [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return float(low), float(high)


def _draw(n_rows: int, size: int, rng: np.random.Generator) -> Floats:
    """Return how often each row was drawn, (size, T); whole numbers, as products are fast so."""
    drawn = [np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows) for _ in range(size)]
    return np.array(drawn, np.float64)


def _one_hot(classes: Labels, n_classes: int) -> Floats:
    return np.asarray(np.eye(n_classes)[classes])


def _score(weights: Floats, totals: Floats, true: Labels, predicted: Labels) -> Floats:
    """Return the metrics of one run under each resample, (size, metrics)."""
    n_classes = totals.shape[1]
    right = predicted == true
    correct = weights[:, right] @ _one_hot(true[right], n_classes)
    guessed = weights @ _one_hot(predicted, n_classes)
    with np.errstate(invalid="ignore"):
        rates = correct / totals  # NaN for a class that was not drawn
        f1 = 2 * correct / (totals + guessed)
    columns = [
        correct.sum(axis=1) / totals.sum(axis=1),
        _cobias(rates),
        np.nanmin(rates, axis=1),
        np.nanmean(f1, axis=1),
    ]
    return np.stack(columns, axis=1)


def _cobias(rates: Floats) -> Floats:
    """Return COBias of class accuracies row by row; a class without any is left out.

    Over ascending accuracies Σ_{i<j} |A_j - A_i| = Σ_i (2i - n + 1) A_i; NaN sorts last.
    """
    ascending = np.sort(rates, axis=1)
    seen = np.count_nonzero(~np.isnan(rates), axis=1)
    ranks = 2 * np.arange(rates.shape[1]) - seen[:, None] + 1
    total = np.nansum(ranks * ascending, axis=1)
    return np.asarray(total / np.maximum(seen * (seen - 1) / 2, 1))
