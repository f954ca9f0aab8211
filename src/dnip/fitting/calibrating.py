"""The calibration that coefficients carry; the class mix, and whether other rows are as it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.typing import Floats, Labels, Probabilities
from dnip.fitting.smooth import batch_shift, fit_shift
from dnip.method.problem import draw_per_class
from dnip.metrics.chance import smirnov_p_value
from dnip.metrics.intervals import effective_rows
from dnip.priors.estimate import (
    Calibration,
    PriorEstimate,
    centred,
    estimate_prior,
    likely_shares,
    log_probabilities,
    most_rows,
    softmax,
)
from dnip.priors.target import PriorLike, TargetPrior, check_prior, is_estimate, read_prior
from dnip.tables.sampling import RowSample

# Rows of each class that a calibration is learned from, and cells in all. That is enough for its
# few parameters, and takes milliseconds.
_ROWS, _CELLS, _LEAST_ROWS = 1_000, 100_000, 10

# Precision of the prior on log-odds. It is weaker than for the weights of a robust fit, because
# errors of a calibration go straight into the class shares that it estimates.
_PULL = 3.0


def calibrate(
    probabilities: Probabilities,
    labels: Labels,
    weight: Floats | None = None,
    deadline: float | None = None,
) -> Calibration:
    """Fit one additive log-weight per class and one temperature, by class-balanced log-loss.

    With few labels, the log-weights are pulled to the batch calibration of the labelled rows, whose
    class mix is known. A class without labels gets the mean of the others.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
    weight : ndarray of shape (M,), optional
        How much each example counts, 1 on average.
    deadline : float, optional
        A ``time.perf_counter`` reading at which to stop with the best so far.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.6, 0.4]] * 20)
    >>> calibration = calibrate(p, np.array([0, 1] * 20))
    >>> calibration.log_weights.round(1), calibration.labels
    (array([-0.6,  0.6]), array([20., 20.]))
    """
    if weight is None:
        weight = np.ones(len(labels))
    counted = weight > 0
    p, y, weight = probabilities[counted], labels[counted], weight[counted]
    n_classes = p.shape[1]
    support = np.bincount(y, weight, n_classes)
    shares = (support + 0.5) / (weight.sum() + n_classes / 2)
    batch = batch_shift(p, shares, weight, deadline)
    fitted = fit_shift(log_probabilities(p), y, weight, batch, _PULL, deadline)
    middle = fitted.log_weights[support > 0].mean()
    return replace(fitted, log_weights=np.where(support > 0, fitted.log_weights, middle))


def calibrate_sample(
    probabilities: Probabilities,
    labels: Labels,
    weight: Floats | None = None,
    deadline: float | None = None,
) -> Calibration:
    """Return the calibration of labelled rows, or of a sample if there are many.

    Parameters
    ----------
    probabilities, labels, weight, deadline
        As for :func:`calibrate`; the weight may be any multiple.
    """
    n_classes, rng = probabilities.shape[1], np.random.default_rng(0)
    most = min(_ROWS, max(_CELLS // n_classes**2, _LEAST_ROWS))
    drawn = draw_per_class(labels, n_classes, rng, most)
    counted = None if weight is None else weight[drawn] * (len(labels) / weight.sum())
    return calibrate(probabilities[drawn], labels[drawn], counted, deadline)


# Rows differ beyond chance if the p value over all classes is below this.
_LEVEL = 0.01


class _Drift(NamedTuple):
    """Labelled rows moved to where the unlabelled ones are, and the p value of the test."""

    probabilities: Probabilities  # (M, N) of the labelled rows
    p_value: float


def find_drift(
    labelled: Probabilities,
    labels: Labels,
    unlabelled: Probabilities,
    target: Floats | None = None,
    counts: Floats | None = None,
) -> _Drift | None:
    """Return moved labelled rows if the two sets differ beyond chance and class mix, else None.

    Another class mix changes no class accuracy. So labelled rows first get weights for the mix that
    the unlabelled ones probably have (Saerens et al. 2002). A difference that remains, by the test
    of Kolmogorov and Smirnov on the probabilities of each class (Bonferroni's correction, 1 %), is
    a change of the texts, the prompt or the model. Then the log-probabilities of the labelled rows
    get the mean and the spread of the unlabelled ones.

    Parameters
    ----------
    labelled : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
    unlabelled : ndarray of shape (U, N)
    target : ndarray of shape (N,), optional
        The class mix of the unlabelled rows, if it is known.
    counts : ndarray of shape (M,), optional
        How often each labelled row counts.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([2, 1], 600)
    >>> y = (rng.random(600) < p[:, 1]).astype(int)
    >>> find_drift(p[:300], y[:300], p[300:]) is None
    True
    >>> other = p[300:] * [1, 9]
    >>> drift = find_drift(p[:300], y[:300], other / other.sum(axis=1, keepdims=True))
    >>> bool(drift.probabilities[:, 1].mean() > p[:300, 1].mean() + 0.1)
    True
    """
    n_classes = labelled.shape[1]
    log_u = log_probabilities(unlabelled)
    if counts is None:
        counts = np.ones(len(labels))
    if target is None:
        target = likely_shares(calibrate(labelled, labels, counts).posterior(log_u))
    support = np.bincount(labels, counts, n_classes)
    factor = (target / np.where(support > 0, support, 1.0))[labels]
    weight = counts * factor
    n_rows = float(weight.sum() ** 2 / (weight @ factor))  # effective number of rows
    p_value = n_classes * min(
        _smirnov(labelled[:, c], weight, n_rows, unlabelled[:, c]) for c in range(n_classes)
    )
    if p_value >= _LEVEL:
        return None
    here, there = (centred(log_p) for log_p in (log_probabilities(labelled), log_u))
    away = here - np.average(here, axis=0, weights=counts)
    variance = np.average(away**2, axis=0, weights=counts).mean()
    spread = np.sqrt(there.var(axis=0).mean() / max(variance, 1e-12))
    moved = away * spread + there.mean(axis=0)
    return _Drift(softmax(moved), float(p_value))


def _smirnov(x: Floats, weight: Floats, n_rows: float, y: Floats) -> float:
    """Return the p value of a weighted sample and another one having the same distribution.

    The weighted one counts as `n_rows` rows of equal weight (Kish 1965).
    """
    order = np.argsort(x)
    x, y = x[order], np.sort(y)
    height = np.concatenate(([0.0], np.cumsum(weight[order]) / weight.sum()))
    everywhere = np.concatenate([x, y])
    below_x = height[np.searchsorted(x, everywhere, side="right")]
    below_y = np.searchsorted(y, everywhere, side="right") / len(y)
    distance = float(np.abs(below_x - below_y).max())
    return smirnov_p_value(distance, n_rows, len(y))


def find_target(
    prior: PriorLike,
    classes: Sequence[str],
    calibration: Calibration,
    support: Floats,
    unlabelled: Probabilities,
) -> TargetPrior:
    """Find the class mix to fit for: given, read from a text, or estimated."""
    estimate = None
    if is_estimate(prior):
        if not len(unlabelled):
            raise InvalidInputError(
                "target prior: there are no rows without a label to estimate it from",
                hint="Give --unlabelled TABLE, leave labels empty in rows of the opt table, or "
                "give the shares",
            )
        estimate = estimate_of(unlabelled, calibration)
        shares = estimate.shares
    elif isinstance(prior, str):
        shares = read_prior(prior, classes)
    else:
        shares = check_prior(prior, classes)
    return TargetPrior(shares, estimate, effective_rows(support, shares))


def estimate_of(unlabelled: Probabilities, calibration: Calibration) -> PriorEstimate:
    """Estimate the class mix of rows without a label, or of a sample if there are many."""
    sample = RowSample(most_rows(unlabelled.shape[1]))
    sample.add(probabilities=unlabelled)
    return estimate_prior(sample.columns["probabilities"], calibration)
