"""Confidence intervals of every metric, and what other rows are likely to show."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dnip.base.typing import Counts, Floats
from dnip.base.validation import check_level
from dnip.metrics.confusion import class_accuracies, cobias_of, odd_classes

# Draws of class accuracies for an interval, the same at every call.
_DRAWS, _SEED = 2_000, 0

#: The metrics whose change on the same rows has an interval.
PAIRED = ("accuracy", "cobias")

#: Low and high.
Interval = list[float]


def accuracy_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of the accuracy."""
    hits, sizes = hits_and_sizes(confusion)
    return list(map(float, wilson([hits.sum()], [sizes.sum()], level)[0]))


def class_accuracy_intervals(confusion: Counts, level: float) -> list[Interval | None]:
    """Return the interval of each class accuracy; None for a class without rows."""
    sizes = confusion.sum(axis=1)
    bounds = wilson(np.diag(confusion), sizes, level).tolist()
    return [ends if size else None for ends, size in zip(bounds, sizes, strict=True)]


def balanced_accuracy_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of the unweighted mean of the class accuracies.

    The distances of each from its Wilson limits add up in squares.

    References
    ----------
    Zou, Huang and Zhang, "A note on confidence interval estimation for a linear function of
    binomial proportions" (2009).

    Examples
    --------
    >>> [round(end, 2) for end in balanced_accuracy_interval(np.array([[8, 2], [4, 6]]), 0.9)]
    [0.52, 0.82]
    """
    hits, sizes = hits_and_sizes(confusion)
    p, ends = hits / sizes, wilson(hits, sizes, level).T
    below, above = (np.sqrt(((p - end) ** 2).sum()) / len(p) for end in ends)
    return [float(p.mean() - below), float(p.mean() + above)]


def macro_f1_interval(confusion: Counts, level: float) -> list[float]:
    """Return the interval of macro-F1: one row left out at a time, on the scale of log-odds.

    The jackknife also estimates the bias of few rows, and the interval is shifted by it. All rows
    of a cell are alike, so one step per cell is enough. Without any error, or without any success,
    the interval of the accuracy is returned.

    Parameters
    ----------
    confusion : ndarray of shape (N, N)
        Counts, rows true, columns predicted.
    level : float

    References
    ----------
    Efron and Stein, "The jackknife estimate of variance" (1981).

    Examples
    --------
    >>> low, high = macro_f1_interval(np.array([[40, 10], [10, 40]]), 0.9)
    >>> round(low, 2), round(high, 2)
    (0.73, 0.86)
    """
    counts = np.asarray(confusion, dtype=np.float64)
    n = counts.sum()
    right, size = np.diag(counts), counts.sum(axis=0) + counts.sum(axis=1)
    n_seen = np.count_nonzero(size)
    f1 = 2 * right / np.maximum(size, 1)
    # what leaving out a row changes: an error counts in the sizes of two classes
    without_error = 2 * right / np.maximum(size - 1, 1) - f1
    change = without_error[:, None] + without_error
    np.fill_diagonal(change, 2 * np.maximum(right - 1, 0) / np.maximum(size - 2, 1) - f1)
    change /= n_seen
    mean = float((counts * change).sum() / n)
    variance = (n - 1) / n * float((counts * (change - mean) ** 2).sum())
    value = float(f1.sum()) / n_seen
    if not 0 < value < 1:
        return list(map(float, wilson([right.sum()], [n], level)[0]))
    centre = min(max(value - (n - 1) * mean, value / 2), (1 + value) / 2)
    factor = float(np.exp(_z_score(level) * np.sqrt(variance) / (centre * (1 - centre))))
    odds = centre / (1 - centre)
    low, high = odds / factor, odds * factor
    return [float(low / (1 + low)), float(high / (1 + high))]


def cobias_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of COBias, from draws of the class accuracies.

    Rows of equally accurate classes differ by chance, and so the gap of few rows is too large;
    percentiles of the bootstrap, which adds chance once more, nearly always miss a small true gap.

    Examples
    --------
    >>> [round(end, 2) for end in cobias_interval(np.array([[45, 5], [20, 30]]), 0.9)]
    [0.14, 0.4]
    """
    return central(cobias_of(_drawn(confusion)), level)


def cobias_single_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of COBias_single, given the odd classes of these rows."""
    return central(single_gap(confusion, _drawn(confusion)), level)


def worst_class_interval(confusion: Counts, level: float) -> Interval:
    """Return the interval of the lowest class accuracy."""
    return central(_drawn(confusion).min(axis=1), level)


def _drawn(confusion: Counts) -> Floats:
    """Return draws of the class accuracies, the same at every call."""
    return draw_accuracies(*hits_and_sizes(confusion), _DRAWS, np.random.default_rng(_SEED))


def difference_intervals(
    agreement: Counts, level: float = 0.9, target: Floats | None = None
) -> dict[str, Any]:
    """Return the intervals of what changes between two sets of weights on the same rows.

    Parameters
    ----------
    agreement : ndarray of shape (N, 2, 2)
        Rows of each class by whether the first and whether the second set got them right.
    level : float, default=0.9
    target : ndarray of shape (N,), optional
        Class shares that the accuracy is for; classes without a share do not count.

    Returns
    -------
    dict
        ``[low, high]`` of second less first for ``accuracy`` and ``cobias``, and a list of them,
        None for a class without rows, under ``class_accuracies``.

    Examples
    --------
    >>> agreement = np.array([[[2, 2], [8, 88]], [[30, 40], [2, 28]]])
    >>> intervals = difference_intervals(agreement)
    >>> [round(bound, 2) for bound in intervals["accuracy"]]
    [0.1, 0.22]
    >>> [round(bound, 2) for bound in intervals["cobias"]]
    [-0.56, -0.31]
    """
    check_level("confidence", level)
    if target is not None:
        agreement = agreement * (target > 0)[:, None, None]
    sizes = agreement.sum(axis=(1, 2))
    gained, lost = agreement[:, 0, 1], agreement[:, 1, 0]
    by_class = paired_bounds(gained, lost, sizes, level).tolist()
    rng, n = np.random.default_rng(_SEED), sizes[sizes > 0].astype(np.float64)
    before, after = (
        # each by itself: what both sides share would only make the interval narrower
        cobias_of(draw_accuracies(hits[sizes > 0].astype(np.float64), n, _DRAWS, rng))
        for hits in (agreement[:, 1, :].sum(axis=1), agreement[:, :, 1].sum(axis=1))
    )
    return {
        "accuracy": accuracy_change(agreement, level, target),
        "cobias": central(after - before, level),
        "class_accuracies": [by_class[c] if size else None for c, size in enumerate(sizes)],
    }


def accuracy_change(agreement: Counts, level: float, target: Floats | None = None) -> Interval:
    """Return the interval of what changes in accuracy between two sets of weights.

    Parameters
    ----------
    agreement, level, target
        As for `difference_intervals`.

    Examples
    --------
    >>> agreement = np.array([[[2, 2], [8, 88]], [[30, 40], [2, 28]]])
    >>> [round(bound, 2) for bound in accuracy_change(agreement, 0.9)]
    [0.1, 0.22]
    """
    sizes = agreement.sum(axis=(1, 2))
    shares, n_effective = sizes.astype(np.float64), float(sizes.sum())
    if target is not None:
        shares, n_effective = target * (sizes > 0), effective_rows(sizes, target)
    weight = shares / shares.sum() * n_effective / np.maximum(sizes, 1)
    gained, lost = weight @ agreement[:, 0, 1], weight @ agreement[:, 1, 0]
    return list(map(float, paired_bounds([gained], [lost], [n_effective], level)[0]))


def effective_rows(support: Floats, target: Floats) -> float:
    """Return how many equally weighted rows tell the error rate as precisely: (Σ w)² / Σ w².

    Parameters
    ----------
    support : ndarray of shape (N,)
        Labelled rows of each class.
    target : ndarray of shape (N,)
        Class shares that they are weighed to (Kish 1965).

    Examples
    --------
    >>> effective_rows(np.array([3.0, 1.0]), np.array([0.5, 0.5]))
    3.0
    """
    counted = (support > 0) & (target > 0)
    shares = target[counted] / target[counted].sum()
    return float(1 / (shares**2 / support[counted]).sum())


def wilson(hits: ArrayLike, sizes: ArrayLike, level: float) -> Floats:
    """Return the score interval of proportions.

    It keeps its level on few rows, unlike plain resampling: 5 right of 5 give [0.65, 1], where
    resampling gives [1, 1].

    Parameters
    ----------
    hits, sizes : array-like of shape (N,)
        Successes and trials.
    level : float
        Between 0 and 1.

    Returns
    -------
    ndarray of shape (N, 2)
        Low and high; ``nan`` where there were no trials.

    References
    ----------
    Wilson, "Probable inference, the law of succession, and statistical inference" (1927); Brown,
    Cai and DasGupta, "Interval estimation for a binomial proportion" (2001).

    Examples
    --------
    >>> wilson([5, 30], [5, 60], 0.9).round(2)
    array([[0.65, 1.  ],
           [0.4 , 0.6 ]])
    """
    k, n = (np.asarray(counts, dtype=np.float64) for counts in (hits, sizes))
    z = _z_score(level)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = np.where(n > 0, k / n, np.nan)
    middle = (k + z * z / 2) / (n + z * z)
    half = z / (n + z * z) * np.sqrt(np.maximum(n * p * (1 - p), 0) + z * z / 4)
    bounds = np.stack([np.maximum(middle - half, 0), np.minimum(middle + half, 1)], axis=-1)
    bounds[k == 0, 0] = 0
    bounds[k == n, 1] = 1
    bounds[n == 0] = np.nan
    return np.asarray(bounds)


def paired_bounds(gained: ArrayLike, lost: ArrayLike, sizes: ArrayLike, level: float) -> Floats:
    """Return the interval of the difference of two proportions on the same rows.

    Only rows that one of both got right count. One row is added to either side, so that none in a
    few rows does not mean none at all.

    Parameters
    ----------
    gained, lost : array-like of shape (N,)
        Rows that only the second, and that only the first got right.
    sizes : array-like of shape (N,)
        All rows.
    level : float

    Returns
    -------
    ndarray of shape (N, 2)
        Of second less first; ``nan`` where there were no rows.

    References
    ----------
    Bonett and Price, "Adjusted Wald confidence interval for a difference of binomial proportions
    based on paired data" (2012).

    Examples
    --------
    >>> paired_bounds([12], [3], [100], 0.9).round(3)
    array([[0.023, 0.153]])
    """
    b, c, n = (np.asarray(counts, dtype=np.float64) for counts in (gained, lost, sizes))
    up, down = (b + 1) / (n + 2), (c + 1) / (n + 2)
    half = _z_score(level) * np.sqrt((up + down - (up - down) ** 2) / (n + 2))
    bounds = np.stack([up - down - half, up - down + half], axis=-1).clip(-1, 1)
    bounds[n == 0] = np.nan
    return np.asarray(bounds)


def _z_score(level: float) -> float:
    """Return how many standard deviations hold a normal variable with this probability.

    Examples
    --------
    >>> round(_z_score(0.9), 3)
    1.645
    """
    return NormalDist().inv_cdf((1 + level) / 2)


def central(values: Floats, level: float) -> list[float]:
    """Return the ends of the central part of some draws.

    Examples
    --------
    >>> central(np.arange(101.0), 0.5)
    [25.0, 75.0]
    """
    return list(map(float, np.quantile(values, [(1 - level) / 2, (1 + level) / 2])))


# Standard deviations that true class accuracies may have among each other, on the angular scale
# (0 to π/2); all are equally likely.
_SPREADS = np.concatenate([[0.0], np.geomspace(0.004, 0.8, 60)])
_WIDTHS = np.gradient(_SPREADS)
# Where the rows show no chance at all, equal accuracies leave all of it open.
_TINY = 1e-12


def draw_accuracies(
    hits: Floats, sizes: Floats, n_draws: int, rng: np.random.Generator, *, followed: float = 0.0
) -> Floats:
    """Draw what the true class accuracies may be, (n_draws, N), given few rows of each class.

    The accuracies x_i of rows, as angles arcsin √x so that their variance V_i = 1/(4n_i + 2) is
    known, are the true ones plus chance e_i. The true ones lie around a common mean, with an
    unknown standard deviation. Gaps are shrunk as far as chance explains them.

    Coefficients that were fitted on the same rows have followed chance: they raise a class that was
    unlucky. Then the observed accuracy is x_i = d_i + (1 - κ)·e_i, and the true one is
    d_i - κ·e_i. At an optimum, κ = 1: the rows show no chance at all, and the true accuracies
    scatter around the observed ones as those of a new sample would.

    Parameters
    ----------
    hits, sizes : ndarray of shape (N,)
        Rows predicted right, and all rows, of each class; at least one row of each.
    n_draws : int
    rng : numpy.random.Generator
    followed : float, default=0
        κ, 0 to 1; 0 for coefficients that are independent of the rows.

    References
    ----------
    Gelman, "Prior distributions for variance parameters in hierarchical models" (2006).

    Examples
    --------
    >>> hits, sizes, rng = np.array([9.0, 7.0, 6.0]), np.full(3, 10.0), np.random.default_rng(0)
    >>> draws = draw_accuracies(hits, sizes, 1000, rng)
    >>> draws.shape, draws.mean(axis=0).round(1)
    ((1000, 3), array([0.8, 0.7, 0.6]))
    """
    observed = np.arcsin(np.sqrt((hits + 0.375) / (sizes + 0.75)))
    chance = 1 / (4 * sizes + 2)
    left = (1 - followed) ** 2 * chance
    real = _SPREADS[:, None] ** 2 + _TINY
    precision = 1 / (real + left)
    mean = (precision * observed).sum(axis=1) / precision.sum(axis=1)
    log_likelihood = (
        np.log(precision).sum(axis=1)
        - np.log(precision.sum(axis=1))
        - (precision * (observed - mean[:, None]) ** 2).sum(axis=1)
    ) / 2
    likelihood = _WIDTHS * np.exp(log_likelihood - log_likelihood.max())
    spread = rng.choice(len(_SPREADS), n_draws, p=likelihood / likelihood.sum())

    total = real[spread] + left
    middle = mean[spread] + rng.standard_normal(n_draws) / np.sqrt((1 / total).sum(axis=1))
    # given x_i, spread and mean: a normal variable, by the rule of joint normal ones
    shrinkage = (real[spread] - followed * (1 - followed) * chance) / total
    deviation = np.sqrt(chance * real[spread] / total)
    angles = middle[:, None] + shrinkage * (observed - middle[:, None])
    angles += deviation * rng.standard_normal(angles.shape)
    return np.asarray(np.sin(angles.clip(0, np.pi / 2)) ** 2)


def hits_and_sizes(confusion: Counts) -> tuple[Floats, Floats]:
    """Return the rows predicted right, and all rows, of each class that has rows."""
    sizes = confusion.sum(axis=1)
    present = sizes > 0
    return np.diag(confusion)[present].astype(float), sizes[present].astype(float)


def single_gap(confusion: Counts, accuracies: Floats) -> Floats:
    """Return COBias_single of accuracies of the classes with rows, (..., N), shape (...,).

    The odd classes are those of the confusion matrix.
    """
    present = np.flatnonzero(confusion.sum(axis=1))
    odd = odd_classes(confusion)[present]
    position = np.full(len(confusion) + 1, -1)  # the last stands for no odd class
    position[present] = np.arange(len(present))
    rival = position[odd]
    erring = np.flatnonzero(rival >= 0)
    if not len(erring):
        return np.zeros(accuracies.shape[:-1])
    # a class whose odd class has no rows is left out of the mean, one without an error is not
    n_averaged = len(present) - np.count_nonzero((odd >= 0) & (rival < 0))
    gaps = np.abs(accuracies[..., rival[erring]] - accuracies[..., erring])
    return np.asarray(gaps.sum(axis=-1) / n_averaged)


# κ is estimated from five refits, to about a quarter: the draws are shared by five values of it,
# which cut a normal variable of that deviation into equal parts.
_DOUBTS = 0.25 * np.array([-1.28, -0.52, 0.0, 0.52, 1.28])
# Draws in all, and of values: enough for the tails of few classes, and fewer for many.
_MOST_DRAWS, _DRAWN_CELLS = 4_000, 100_000


class Expectation:
    """What other rows are likely to show, judged by rows that the weights have not seen.

    Weights that make measured accuracies equal leave the true ones apart by about as much as the
    measured ones vary by chance. So gaps are computed from draws of what the true accuracies may
    be, and the numbers here are means of these.

    Parameters
    ----------
    confusion : ndarray of shape (N, N)
        Counts of rows, rows true, each predicted by weights that have not seen it.
    followed : float, default=1.0
        κ of these weights; see `followed_chance`. An optimum follows chance altogether.
    spread : float, default=0.0
        How far other labels would have moved COBias through the weights; see `refit_spread`.

    Attributes
    ----------
    rates : ndarray of shape (K, N)
        The draws, of the classes that have rows.
    drawn : dict of str to ndarray
        Draws of the metrics that depend on gaps, by their names in ``METRICS``. The same draws at
        every call.
    followed, spread : float

    Examples
    --------
    >>> few, many = np.array([[6, 4], [4, 6]]), np.array([[600, 400], [400, 600]])
    >>> round(Expectation(few).cobias, 2), round(Expectation(many).cobias, 2)
    (0.15, 0.02)
    >>> [round(bound, 2) for bound in Expectation(many).intervals(0.9)["cobias"]]
    [0.0, 0.04]
    >>> Expectation(many)
    Expectation(COBias 0.016, worst class 0.592)
    """

    def __init__(self, confusion: Counts, followed: float = 1.0, *, spread: float = 0.0) -> None:
        self.followed, self.spread = followed, spread
        hits, sizes = hits_and_sizes(confusion)
        n_draws = min(_MOST_DRAWS, max(_DRAWN_CELLS // len(sizes), 500)) // len(_DOUBTS)
        rng = np.random.default_rng(_SEED)
        kappas = np.clip(followed + _DOUBTS, 0.0, 1.0).tolist()
        rates = np.concatenate(
            [draw_accuracies(hits, sizes, n_draws, rng, followed=kappa) for kappa in kappas]
        )
        if spread > 0 and (mean := cobias_of(rates).mean()) > 0:
            deviation = spread / mean  # log-normal, so that gaps stay gaps and keep their mean
            factors = np.exp(deviation * rng.normal(size=len(rates)) - deviation**2 / 2)
            middle = rates.mean(axis=1, keepdims=True)
            rates = np.clip(middle + factors[:, None] * (rates - middle), 0.0, 1.0)
        self.rates = rates
        self.drawn = {
            "cobias": cobias_of(rates),
            "cobias_single": single_gap(confusion, rates),
            "worst_class_accuracy": rates.min(axis=1),
        }

    def __repr__(self) -> str:
        worst = self.worst_class_accuracy
        return f"Expectation(COBias {self.cobias:.3f}, worst class {worst:.3f})"

    def of(self, confusion: Counts) -> Expectation:
        """Return what to expect by other counts, of the same weights."""
        return Expectation(confusion, self.followed, spread=self.spread)

    @property
    def cobias(self) -> float:
        """The COBias to expect."""
        return float(self.drawn["cobias"].mean())

    @property
    def worst_class_accuracy(self) -> float:
        """The accuracy to expect of the class that will be worst."""
        return float(self.drawn["worst_class_accuracy"].mean())

    def to_dict(self) -> dict[str, float]:
        """Return each metric."""
        return {name: float(values.mean()) for name, values in self.drawn.items()}

    def intervals(self, level: float) -> dict[str, list[float]]:
        """Return the interval of each metric, of a level between 0 and 1."""
        return {name: central(values, level) for name, values in self.drawn.items()}


def followed_chance(on_all: Sequence[Counts], left_out: Sequence[Counts]) -> float:
    """Return κ: how far weights follow the chance of the rows that they are fitted on.

    Weights that make labelled rows equally right err by the chance of these rows. Each refit lacks
    one fold, so it does not follow the chance of that fold: a class that was lucky there is left
    too strong. The regression of the class accuracies of a refit, on all rows, on the luck of its
    own fold tells κ. Levels that all classes share do not matter for gaps and are taken out.

    Parameters
    ----------
    on_all, left_out : sequence of ndarray of shape (N, N)
        Counts of each refit: on all labelled rows, and on those that it has not seen.

    Returns
    -------
    float
        From 0, for weights that do not depend on the rows, to 1, for an optimum of them.

    Examples
    --------
    >>> same = [np.array([[8, 2], [3, 7]])] * 2
    >>> followed_chance(same, [np.array([[5, 0], [3, 2]]), np.array([[3, 2], [0, 5]])])
    0.0
    """
    present = on_all[0].sum(axis=1) > 0
    rates = np.array([class_accuracies(counts)[present] for counts in on_all])
    luck = np.array([class_accuracies(counts)[present] for counts in left_out]) - rates
    luck[np.isnan(luck)] = 0.0
    moved, luck = _centred(rates), _centred(luck)
    power = float((luck**2).sum())
    # refits share all folds but one: the mean of k - 1 folds moves by 1/(k - 1) of one fold
    slope = (len(rates) - 1) * float((moved * luck).sum()) / power if power > 0 else 0.0
    return min(max(slope, 0.0), 1.0)


def _centred(values: Floats) -> Floats:
    values = values - values.mean(axis=1, keepdims=True)
    return np.asarray(values - values.mean(axis=0))


def refit_spread(on_all: Sequence[Counts]) -> float:
    """Return how far other labels would have moved COBias through the weights of a fit.

    It is the standard error of the jackknife: refits that each lack one of k folds differ by less
    than fits to other labels do, by √(k - 1).

    Parameters
    ----------
    on_all : sequence of ndarray of shape (N, N)
        Counts of each refit on all labelled rows.

    Examples
    --------
    >>> round(refit_spread([np.array([[9, 1], [2, 8]]), np.array([[8, 2], [2, 8]])]), 3)
    0.05
    """
    gaps = [cobias_of(np.divide(*hits_and_sizes(counts))) for counts in on_all]
    return float(np.std(gaps) * sqrt(len(gaps) - 1)) if gaps else 0.0
