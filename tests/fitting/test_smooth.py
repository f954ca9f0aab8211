"""What labels and other rows tell of each class, against optimisers and known populations."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dnip.fitting.estimate import batch_shift, calibrate, find_drift, fit_shift
from dnip.priors import log_probabilities, update_shares
from populations import biased_rows


def test_many_labels_of_any_mix_undo_bias_and_temperature():
    rng = np.random.default_rng(0)
    rows = biased_rows(rng, 20_000, bias=[1.0, 0, -1.0], sharpness=0.5, shares=[0.8, 0.1, 0.1])
    found = calibrate(rows.probabilities, rows.labels)
    assert found.sharpness == pytest.approx(2, abs=0.15)
    np.testing.assert_allclose(found.log_weights, [-1, 0, 1], atol=0.15)
    np.testing.assert_array_equal(found.labels, np.bincount(rows.labels))
    posterior = found.posterior(log_probabilities(rows.probabilities))
    equal = rows.posterior / [0.8, 0.1, 0.1]
    np.testing.assert_allclose(posterior, equal / equal.sum(axis=1, keepdims=True), atol=0.06)


def test_a_class_without_labels_stands_in_the_middle():
    rows = biased_rows(np.random.default_rng(3), 300, bias=[0.5, 0, -0.5], shares=[0.5, 0.5, 1e-9])
    found = calibrate(rows.probabilities, rows.labels)
    assert found.log_weights[2] == pytest.approx(found.log_weights[:2].mean())
    assert found.labels[2] == 0


BIAS = [0.7, 0, -0.7]


def rows(seed, n_rows=400, **settings):
    return biased_rows(np.random.default_rng(seed), n_rows, bias=BIAS, **settings)


@pytest.fixture
def here():
    return rows(0)


def moved(p, shift, sharpness=1.0):
    scores = p**sharpness * np.exp(shift)
    return scores / scores.sum(axis=1, keepdims=True)


def test_other_rows_of_one_population_seldom_have():
    found = []
    for seed in range(1, 41):
        labelled, others = rows(seed), rows(1_000 + seed)
        found.append(find_drift(labelled.probabilities, labelled.labels, others.probabilities))
    assert sum(drift is not None for drift in found) <= 1


def test_rows_that_are_all_sure_have_drifted(here):
    """Each class alone hardly shows it: its probabilities are low or high, in halves."""
    p = rows(2, 3_000).probabilities
    sure = np.sort(p, axis=1)
    sure = p[sure[:, -1] - sure[:, -2] > 0.3]
    assert find_drift(here.probabilities, here.labels, sure) is not None


@pytest.mark.parametrize("shares", [[0.8, 0.1, 0.1], [0.1, 0.3, 0.6]])
def test_another_class_mix_alone_is_no_drift(here, shares):
    others = rows(1, 2_000, shares=shares)
    assert find_drift(here.probabilities, here.labels, others.probabilities) is None
    known = np.array(shares)
    assert find_drift(here.probabilities, here.labels, others.probabilities, known) is None


@pytest.mark.parametrize(("shift", "sharpness"), [([1.5, 0, -1.5], 1.0), ([1, 0, -2], 0.5)])
def test_labelled_rows_move_to_where_the_others_lie(here, shift, sharpness):
    others = moved(rows(1, 2_000).probabilities, shift, sharpness)
    drift = find_drift(here.probabilities, here.labels, others)
    assert drift.p_value < 0.01
    expected = moved(here.probabilities, shift, sharpness)
    before = np.abs(here.probabilities - expected).mean()
    assert np.abs(drift.probabilities - expected).mean() < 0.2 * before
    np.testing.assert_allclose(drift.probabilities.sum(axis=1), 1)


PULL = 20.0


def loss(x, scores, labels, weight):
    """Class-balanced log-loss and the two pulls, written out row by row."""
    n_classes = scores.shape[1]
    total = 0.0
    n_present = len(np.unique(labels))
    for row, label, w in zip(scores, labels, weight, strict=True):
        z = x[0] * row + x[1:]
        of_class = weight[labels == label].sum()
        balanced = w / of_class * weight.sum() / n_present
        total += balanced * (np.log(np.exp(z - z.max()).sum()) + z.max() - z[label])
    return total + PULL / 2 * (x[1 : n_classes + 1] ** 2).sum() + 1.0 / 2 * (x[0] - 1) ** 2


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_minimum_is_that_of_a_general_optimiser(n_classes):
    rng = np.random.default_rng(n_classes)
    rows = biased_rows(rng, 60, bias=rng.normal(0, 1, n_classes), sharpness=0.6)
    log_p, prior = np.log(rows.probabilities), rng.normal(0, 0.3, n_classes)
    weight = rng.uniform(0.5, 2, 60)
    fitted = fit_shift(log_p, rows.labels, weight, prior, PULL)
    start = np.r_[1.0, np.zeros(n_classes)]
    arguments = (log_p + prior, rows.labels, weight)
    best = minimize(loss, start, arguments, method="BFGS", options={"gtol": 1e-7}).x
    expected = prior + best[1:] / best[0]
    assert fitted.sharpness == pytest.approx(best[0], abs=1e-4)
    np.testing.assert_allclose(fitted.log_weights, expected - expected.mean(), atol=1e-4)


def test_labels_that_contradict_the_probabilities_do_not_turn_their_order_around():
    p = np.array([[0.99, 0.01], [0.01, 0.99]] * 200)
    fitted = fit_shift(np.log(p), np.array([1, 0] * 200), np.ones(400), np.zeros(2))
    assert fitted.sharpness == 0.1
    assert np.isfinite(fitted.log_weights).all()


def test_of_very_many_classes_the_prior_is_taken_as_it_is():
    rng = np.random.default_rng(0)
    p, prior = rng.dirichlet(np.ones(501), 60), rng.normal(size=501)
    fitted = fit_shift(np.log(p), rng.integers(0, 501, 60), np.ones(60), prior, PULL)
    np.testing.assert_allclose(fitted.log_weights, prior - prior.mean())
    assert (fitted.sharpness, fitted.labels.sum()) == (1.0, 60)


def test_a_large_batch_of_equal_shares_is_batch_calibration():
    rows = biased_rows(np.random.default_rng(0), 20_000, bias=[2.0, 0, -1.0])
    shift = batch_shift(rows.probabilities, np.full(3, 1 / 3), np.ones(len(rows.labels)))
    log = np.log(rows.probabilities.mean(axis=0))
    np.testing.assert_allclose(shift, log.mean() - log, rtol=1e-3)


def test_uneven_shares_are_not_taken_for_bias():
    shares = np.array([0.85, 0.1, 0.05])
    rows = biased_rows(np.random.default_rng(1), 20_000, bias=np.zeros(3), shares=shares)
    told = batch_shift(rows.probabilities, shares, np.ones(len(rows.labels)))
    untold = batch_shift(rows.probabilities, np.full(3, 1 / 3), np.ones(len(rows.labels)))
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
