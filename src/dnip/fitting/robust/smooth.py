"""The smooth estimator of an opt set, and what follows from it about all of its rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.fitting.robust.batch import batch_shift
from dnip.fitting.robust.rows import CountedRows, draw_per_class
from dnip.fitting.robust.shares import label_shares, update_shares
from dnip.fitting.robust.shift import fit_shift
from dnip.priors.calibration import log_probabilities

if TYPE_CHECKING:
    from dnip.base.typing import Booleans, Floats, Labels, Probabilities

#: Labelled rows of a class that are looked at; and of labelled and unlabelled rows together.
ROWS_PER_CLASS, _ROWS = 4_000, 4_000


class Smooth(NamedTuple):
    """Calibrated log-odds, and what they say of unlabelled rows."""

    support: Floats  # (N,) labels of each class
    batch: Floats  # (N,) log-weights of the prior
    log_weights: Floats  # (N,) classes without labels in the middle of the others
    sharpness: float  # inverse temperature
    shares: Floats  # (N,) how frequent each class is where weights will be used
    rows: CountedRows  # labels, and unlabelled rows in expectation

    @property
    def present(self) -> Booleans:
        """Whether each class has labels, shape (N,)."""
        return self.support > 0


def fit_smooth(
    probabilities: Probabilities,
    labels: Labels,
    weight: Floats,
    unlabelled: Probabilities,
    rng: np.random.Generator,
    target: Floats | None = None,
    deadline: float | None = None,
) -> Smooth:
    """Fit the smooth estimator to labels, drawn to the batch calibration of all rows.

    Parameters
    ----------
    probabilities : ndarray of shape (M, N)
    labels : ndarray of shape (M,)
        Class indices.
    weight : ndarray of shape (M,)
        How often each example counts.
    unlabelled : ndarray of shape (U, N)
    rng : numpy.random.Generator
        For samples of large sets.
    target : ndarray of shape (N,), optional
        Class shares of the unlabelled rows, and where the weights will be used, if they are known.
    deadline : float, optional
        A ``time.perf_counter`` reading at which to end with what is found by then.
    """
    n_classes = probabilities.shape[1]
    labelled = CountedRows(probabilities, labels, weight)
    support = np.bincount(labels, weight, n_classes).astype(np.float64)
    everywhere, count = _sample(labelled, unlabelled, rng)
    prior_shares = label_shares(support)
    if target is not None:
        mixed = support + 0.5 + len(unlabelled) * target
        prior_shares = mixed / mixed.sum()
    batch = batch_shift(everywhere, prior_shares, count)

    drawn = draw_per_class(labels, n_classes, rng, ROWS_PER_CLASS)
    log_p = log_probabilities(probabilities[drawn])
    shift = fit_shift(log_p, labels[drawn], weight[drawn], batch, deadline=deadline)
    middle = shift.log_weights[support > 0].mean()
    log_weights = np.where(support > 0, shift.log_weights, middle)

    posterior = shift.posterior(log_probabilities(everywhere))
    shares = target
    if shares is None:
        shares = update_shares(posterior, prior_shares, support, count)
    membership = posterior * np.where(shares > 0, shares, np.finfo(np.float64).tiny)
    membership /= membership.sum(axis=1, keepdims=True)
    return Smooth(
        support,
        batch,
        log_weights,
        shift.sharpness,
        shares,
        labelled.and_expected(everywhere, membership, count),
    )


def _sample(
    labelled: CountedRows, unlabelled: Probabilities, rng: np.random.Generator
) -> tuple[Probabilities, Floats]:
    """Return probabilities of all rows, or of a sample, and how often each counts."""
    p = np.concatenate([labelled.probabilities, unlabelled])
    count = np.concatenate([labelled.mass, np.ones(len(unlabelled))])
    if len(p) <= _ROWS:
        return p, count
    rows = np.sort(rng.choice(len(p), _ROWS, replace=False))
    return p[rows], count[rows]
