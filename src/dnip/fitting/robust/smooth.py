"""The smooth estimator of an opt set, and what it says about unlabelled rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.fitting.robust.batch import batch_shift
from dnip.fitting.robust.rows import CountedRows, draw_per_class
from dnip.fitting.robust.shift import fit_shift
from dnip.priors.calibration import log_probabilities
from dnip.priors.estimate import maximise_shares

if TYPE_CHECKING:
    from dnip.base.typing import Booleans, Floats, Labels, Probabilities

#: Most labelled rows of a class that are used; and most labelled and unlabelled rows together.
ROWS_PER_CLASS, _ROWS = 4_000, 4_000

# Labels per class at which unlabelled rows count as much as the labels' own shares.
_HALFWAY = 30.0
# When expectation maximisation ends.
_EM_ROUNDS, _EM_TOLERANCE = 200, 1e-6


class Smooth(NamedTuple):
    """Calibrated log-odds, and what they say about unlabelled rows."""

    support: Floats  # (N,) labels of each class
    batch: Floats  # (N,) log-weights of the prior
    log_weights: Floats  # (N,) classes without labels have the mean of the others
    sharpness: float  # inverse temperature
    shares: Floats  # (N,) class shares where the weights will be used
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
    """Fit the smooth estimator to labels, with a pull to the batch calibration of all rows.

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
        Class shares of the unlabelled rows and where the weights will be used, if known.
    deadline : float, optional
        A ``time.perf_counter`` reading at which to stop with the best so far.
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
    count = np.concatenate([labelled.counts, np.ones(len(unlabelled))])
    if len(p) <= _ROWS:
        return p, count
    rows = np.sort(rng.choice(len(p), _ROWS, replace=False))
    return p[rows], count[rows]


def label_shares(support: Floats) -> Floats:
    """Return the class shares that labels alone suggest, shape (N,).

    A class-balanced draw (numbers that differ by 1 at most) says nothing about the shares: then all
    are equal. Otherwise they are the posterior mean under Jeffreys' prior, (n_i + ½) / (n + N/2),
    so that no class is ruled out.

    Examples
    --------
    >>> import numpy as np
    >>> label_shares(np.array([8.0, 1.0, 0.0])).round(2)
    array([0.81, 0.14, 0.05])
    """
    n_classes = len(support)
    if support.max() - support.min() <= 1:
        return np.full(n_classes, 1 / n_classes)
    return np.asarray((support + 0.5) / (support.sum() + n_classes / 2))


def update_shares(
    posterior: Probabilities, prior: Floats, support: Floats, weight: Floats | None = None
) -> Floats:
    """Return the class shares of unlabelled rows by expectation maximisation (Saerens et al. 2002).

    Parameters
    ----------
    posterior : ndarray of shape (M, N)
        Class probabilities of the rows as if all classes were equally frequent.
    prior : ndarray of shape (N,)
        Shares to start from, and the mean of a Dirichlet prior on the shares. The prior weighs as
        much as the rows if a class has 30 labels on average. With fewer labels it weighs more,
        because the posterior is then too uncertain to give shares.
    support : ndarray of shape (N,)
        Labels of each class.
    weight : ndarray of shape (M,), optional
        How often each row counts.

    Examples
    --------
    >>> import numpy as np
    >>> posterior = np.array([[0.99, 0.01]] * 8 + [[0.01, 0.99]] * 2)
    >>> update_shares(posterior, np.array([0.5, 0.5]), np.array([3e3, 3e3])).round(2)
    array([0.8, 0.2])
    """
    n_rows = len(posterior) if weight is None else weight.sum()
    extra = n_rows * _HALFWAY / support.mean() * prior
    return maximise_shares(
        posterior, prior, extra, weight, rounds=_EM_ROUNDS, tolerance=_EM_TOLERANCE
    )
