"""The calibration that coefficients carry: what labels say about the log-odds of each class."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.fitting.robust.batch import batch_shift
from dnip.fitting.robust.rows import draw_per_class
from dnip.fitting.robust.shift import fit_shift
from dnip.priors.calibration import log_probabilities
from dnip.tables.sketch import TableSample

if TYPE_CHECKING:
    from dnip.base.typing import Floats, Labels, Probabilities
    from dnip.priors import Calibration

# Rows of each class that a calibration is learned from, and cells in all. That is enough for its
# few parameters, and takes milliseconds.
_ROWS, _CELLS, _LEAST_ROWS = 1_000, 100_000, 10

# Precision of the prior on log-odds. It is weaker than for the weights of a robust fit, because
# errors of a calibration go straight into the class shares that it estimates.
_PULL = 3.0


def rows_per_class(n_classes: int) -> int:
    """Return how many rows of a class a calibration need be learned from, at most.

    Examples
    --------
    >>> rows_per_class(4), rows_per_class(100)
    (1000, 10)
    """
    return min(_ROWS, max(_CELLS // n_classes**2, _LEAST_ROWS))


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
    batch = batch_shift(p, shares, weight)
    found = fit_shift(log_probabilities(p), y, weight, batch, _PULL, deadline)
    middle = found.log_weights[support > 0].mean()
    return replace(found, log_weights=np.where(support > 0, found.log_weights, middle))


def what_labels_tell(
    probabilities: Probabilities,
    labels: Labels,
    weight: Floats | None = None,
    target: Floats | None = None,
) -> dict[str, Any]:
    """Return what coefficients record of an opt set, for use with other class mixes.

    A sample of large sets is used.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
    weight : ndarray of shape (M,), optional
        How much each example counts.
    target : ndarray of shape (N,), optional
        The class mix of the fit; that of the examples by default.

    Examples
    --------
    >>> what_labels_tell(np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([0, 1]))["class_shares"]
    [0.5, 0.5]
    """
    n_classes, rng = probabilities.shape[1], np.random.default_rng(0)
    drawn = draw_per_class(labels, n_classes, rng, rows_per_class(n_classes))
    counted = None if weight is None else weight[drawn] * (len(labels) / weight.sum())
    shares = np.bincount(labels, weight, n_classes) if target is None else target
    sample = TableSample.of(probabilities, labels, weight=weight, target=target)
    return {
        "class_shares": (shares / shares.sum()).tolist(),
        "calibration": calibrate(probabilities[drawn], labels[drawn], counted).to_dict(),
        "sketch": sample.sketch().to_dict(),
    }
