"""The smooth estimator of an opt set, and what follows from it about all of its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnip.priors.calibration import log_probabilities
from dnip.robust.batch import batch_shift
from dnip.robust.evidence import Evidence
from dnip.robust.sampling import draw_per_class
from dnip.robust.shares import label_shares, update_shares
from dnip.robust.shift import fit_shift

if TYPE_CHECKING:
    from dnip.problem import Problem
    from dnip.typing import Booleans, Floats, Probabilities

# Rows that are looked at: of each class, and of labelled and unlabelled rows together.
_ROWS_PER_CLASS, _ROWS = 4_000, 4_000
# Cells of these that a fit is worth in which nobody asked for robustness.
_MOST_CELLS = 10_000_000


class Smooth(NamedTuple):
    """Calibrated log-odds, and what they say of unlabelled rows."""

    support: Floats  # (N,) labels of each class
    batch: Floats  # (N,) log-weights of the prior
    log_weights: Floats  # (N,) classes without labels in the middle of the others
    sharpness: float  # inverse temperature
    shares: Floats  # (N,) how frequent each class is
    labelled: Evidence  # of labels
    expected: Evidence  # of labels and of unlabelled rows
    accuracies: Floats  # (N,) of labels under the log-weights
    slopes: Floats  # (N,) accuracy of each class that a unit of log-odds moves

    @property
    def present(self) -> Booleans:
        """Whether each class has labels, shape (N,)."""
        return self.support > 0


def is_quick(problem: Problem) -> bool:
    """Whether a robust fit takes but a few times as long as a plain one, in seconds.

    It does not with very many classes, each of which has rows to read and a weight to resample.
    """
    n_rows = min(len(problem.labels), _ROWS_PER_CLASS * problem.n_classes)
    return n_rows * problem.n_classes <= _MOST_CELLS


def fit_smooth(
    problem: Problem,
    unlabelled: Probabilities,
    rng: np.random.Generator,
    target: Floats | None = None,
) -> Smooth:
    """Fit the smooth estimator to labels, drawn to the batch calibration of all rows.

    Of large sets, a sample is read: some thousand rows of each class tell all that matters here.

    Parameters
    ----------
    problem : Problem
        The opt set.
    unlabelled : ndarray of shape (U, N)
    rng : numpy.random.Generator
        For the sample.
    target : ndarray of shape (N,), optional
        Class shares of the unlabelled rows, and where the weights will be used, if they are known.
    """
    n_classes = problem.n_classes
    weight = _effective_weights(problem) if target is None else _weights_within_classes(problem)
    support = np.bincount(problem.labels, weight, n_classes).astype(np.float64)
    everywhere = _draw_rows(problem.probabilities, unlabelled, rng)
    prior_shares = label_shares(support)
    if target is not None:
        drawn_as = np.bincount(problem.labels, minlength=n_classes) + 0.5
        mixed = drawn_as + len(unlabelled) * target
        prior_shares = mixed / mixed.sum()
    batch = batch_shift(everywhere, prior_shares)

    drawn = draw_per_class(problem.labels, n_classes, rng, _ROWS_PER_CLASS)
    drawn = drawn[weight[drawn] > 0]
    labelled = Evidence(problem.probabilities[drawn], problem.labels[drawn], weight[drawn])
    log_p = log_probabilities(labelled.probabilities)
    shift = fit_shift(log_p, labelled.labels, labelled.mass, batch)
    middle = shift.log_weights[support > 0].mean()
    log_weights = np.where(support > 0, shift.log_weights, middle)

    posterior = shift.posterior(log_probabilities(everywhere))
    shares = prior_shares
    if target is None:
        shares = update_shares(posterior, prior_shares, support)
    membership = posterior * shares
    membership /= membership.sum(axis=1, keepdims=True)
    expected = labelled.and_expected(everywhere, membership, rng)
    if target is not None:
        shares = target
        labelled, expected = (replace(rows, target=target) for rows in (labelled, expected))

    right = (log_weights + log_p).argmax(axis=1) == labelled.labels
    scores = shift.sharpness * (log_weights + log_probabilities(expected.probabilities))
    return Smooth(
        support,
        batch,
        log_weights,
        shift.sharpness,
        shares,
        labelled,
        expected,
        labelled.class_means(right.astype(np.float64), n_classes),
        expected.slopes(scores),
    )


def _effective_weights(problem: Problem) -> Floats:
    """Return sample weights that sum to the number of equally weighted examples worth as much."""
    mass = problem.mass.astype(np.float64)
    return np.asarray(mass * (mass.sum() / (mass**2).sum()))


def _weights_within_classes(problem: Problem) -> Floats:
    """Return weights that sum, class by class, to the number of equally weighted examples."""
    mass = problem.mass.astype(np.float64)
    total, squared = (np.bincount(problem.labels, values) for values in (mass, mass**2))
    return np.round(mass * (total / np.maximum(squared, 1.0))[problem.labels], 9)  # 1 is 1


def _draw_rows(
    labelled: Probabilities, unlabelled: Probabilities, rng: np.random.Generator
) -> Probabilities:
    n_rows = len(labelled) + len(unlabelled)
    if n_rows <= _ROWS:
        return np.vstack([labelled, unlabelled])
    rows = np.sort(rng.choice(n_rows, _ROWS, replace=False))
    of_labelled = rows[rows < len(labelled)]
    of_unlabelled = rows[len(of_labelled) :] - len(labelled)
    return np.vstack([labelled[of_labelled], unlabelled[of_unlabelled]])
