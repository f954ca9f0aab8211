"""The smooth estimator: batch calibration, rows counted by expectation."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dnip.fitting.robust.smooth import (
    batch_shift,
    update_shares,
)
from populations import biased_rows


def centred_log(p):
    log = np.log(p)
    return log - log.mean()


def test_a_large_batch_of_equal_shares_is_batch_calibration():
    rows = biased_rows(np.random.default_rng(0), 20_000, bias=[2.0, 0, -1.0])
    shift = batch_shift(rows.probabilities, np.full(3, 1 / 3))
    expected = -centred_log(rows.probabilities.mean(axis=0))
    np.testing.assert_allclose(shift, expected, rtol=1e-3)


def test_uneven_shares_are_not_taken_for_bias():
    shares = np.array([0.85, 0.1, 0.05])
    rows = biased_rows(np.random.default_rng(1), 20_000, bias=np.zeros(3), shares=shares)
    told = batch_shift(rows.probabilities, shares)
    untold = batch_shift(rows.probabilities, np.full(3, 1 / 3))
    assert np.abs(told).max() < 0.2
    assert np.abs(untold).max() > 0.6


@pytest.mark.parametrize("support", [3.0, 30.0, 300.0])
def test_the_shares_maximise_likelihood_times_prior(support):
    rng = np.random.default_rng(1)
    balanced = rng.dirichlet(np.ones(3), 50)
    prior = np.array([0.5, 0.3, 0.2])

    def loss(z):
        shares = np.exp(z) / np.exp(z).sum()
        pull = 50 * 30 / support * (prior @ np.log(shares))
        return -np.log(balanced @ shares).sum() - pull

    best = np.exp(minimize(loss, np.log(prior), method="BFGS").x)
    found = update_shares(balanced, prior, np.full(3, support))
    np.testing.assert_allclose(found, best / best.sum(), atol=1e-4)
