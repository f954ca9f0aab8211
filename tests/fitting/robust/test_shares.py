import numpy as np
import pytest
from scipy.optimize import minimize

from dnip.fitting.robust.smooth import label_shares, update_shares
from populations import biased_rows


def test_a_draw_class_by_class_tells_nothing_of_the_shares():
    np.testing.assert_array_equal(label_shares(np.array([25.0, 25, 26])), np.full(3, 1 / 3))


def test_other_draws_tell_the_shares_and_rule_out_no_class():
    shares = label_shares(np.array([85.0, 10, 5, 0]))
    np.testing.assert_allclose(shares, np.array([85.5, 10.5, 5.5, 0.5]) / 102)


def test_unlabelled_rows_show_their_shares():
    truth = np.array([0.7, 0.2, 0.1])
    rng = np.random.default_rng(0)
    rows = biased_rows(rng, 20_000, bias=np.zeros(3), shares=truth)
    balanced = rows.posterior / truth
    balanced /= balanced.sum(axis=1, keepdims=True)
    shares = update_shares(balanced, np.full(3, 1 / 3), np.full(3, 1e9))
    np.testing.assert_allclose(shares, truth, atol=0.01)


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
