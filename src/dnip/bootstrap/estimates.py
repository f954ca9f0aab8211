"""What labels tell of coefficients that were fitted on them: out of bag, and of what chance did."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.intervals import Bounds, draw_accuracies

if TYPE_CHECKING:
    from dnip.typing import Booleans, Floats, Integers, Labels

# A resample holds this part of the rows on average, 1 - 1/e: the weight of what is out of bag.
_IN_BAG = 1 - np.exp(-1)
_DRAWS = 4_000
_SEED = 0


class Marks(NamedTuple):
    """Which labelled rows are predicted right, by whom."""

    labels: Labels  # (M,) of the classes that have rows, numbered from 0
    raw: Booleans  # (M,) by the raw argmax
    fitted: Booleans  # (M,) by the coefficients
    refitted: Booleans  # (B, M) by those of every resample
    drawn: Integers  # (B, M) how often the resample holds the row


class Estimates(NamedTuple):
    """Class accuracies of the coefficients on other rows, and how they follow chance."""

    sizes: Floats  # (N,) labels
    raw: Floats  # (N,) class accuracies of the raw argmax
    seen: Floats  # (N,) of the coefficients, on the rows that they were fitted on
    corrected: Floats  # (N,) the same, less what fitting flatters them by
    followed: float  # κ, the part of chance that the fit follows
    jitter: Floats  # (N,) variance, as angles, that the fit adds by itself


def estimate(marks: Marks) -> Estimates:
    """Correct class accuracies for having been fitted, and measure how much was followed.

    The correction is the .632 estimator, class by class: rows that a resample does not hold judge
    the coefficients that it gave, and count 0.632; the rows themselves count the rest.

    What a fit does to COBias is another matter, for which the mean of such estimates is blind: a
    fit raises classes that were unlucky, so the very chance that its rows no longer show stands in
    the true accuracies, and sets them apart. How much does is seen in the resamples, whose rows are
    known: with x a class accuracy on the resample, y on all rows and e = x - y the chance of the
    resample, κ = -cov(y, e) / var(e), gaps to the mean of the classes being what counts. What of
    the variance of y is not κe is jitter.

    References
    ----------
    Efron, "Estimating the error rate of a prediction rule" (1983), for .632.
    """
    n_classes = int(marks.labels.max()) + 1
    member = np.eye(n_classes)[marks.labels]
    sizes = member.sum(axis=0)
    raw, seen = (right @ member / sizes for right in (marks.raw, marks.fitted))

    out = marks.drawn == 0
    judged = out.astype(np.float64) @ member
    times = judged.sum(axis=0)
    right_out = ((out & marks.refitted).astype(np.float64) @ member).sum(axis=0)
    out_of_bag = np.where(times > 0, right_out / np.maximum(times, 1), seen)
    corrected = (1 - _IN_BAG) * seen + _IN_BAG * out_of_bag

    on_all = marks.refitted @ member / sizes
    chance = _apart((marks.drawn * marks.refitted) @ member / sizes - on_all)
    moved = _apart(on_all)
    chance, moved = chance - chance.mean(axis=0), moved - moved.mean(axis=0)
    power = float((chance**2).sum())
    followed = 0.0
    if power > 0:
        followed = float(np.clip(-(chance * moved).sum() / power, 0, 1))
    freedom = max((len(on_all) - 1) * (n_classes - 1), 1)
    jitter = max(0.0, float((moved**2).sum()) - followed**2 * power) / freedom
    likely = (seen * sizes + 0.5) / (sizes + 1)
    return Estimates(sizes, raw, seen, corrected, followed, jitter / (4 * likely * (1 - likely)))


def _apart(accuracies: Floats) -> Floats:
    """Return how far every class is above the mean of the classes."""
    return np.asarray(accuracies - accuracies.mean(axis=1, keepdims=True))


def fitted_draws(estimates: Estimates) -> Floats:
    """Draw what the true class accuracies of the coefficients may be, shape (4000, N)."""
    return draw_accuracies(
        estimates.seen * estimates.sizes,
        estimates.sizes,
        _DRAWS,
        np.random.default_rng(_SEED),
        followed=estimates.followed,
        jitter=estimates.jitter,
    )


def central(values: Floats, level: float) -> Bounds:
    """Return the central part of draws, and their median."""
    low, middle, high = np.quantile(values, [(1 - level) / 2, 0.5, (1 + level) / 2])
    return Bounds(float(low), float(middle), float(high))
