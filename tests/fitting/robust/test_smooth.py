"""The smooth estimator: batch calibration, rows counted by expectation."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dnip.fitting.robust.smooth import (
    CountedRows,
    batch_shift,
    draw_per_class,
    label_shares,
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


def test_what_is_chance_is_left_alone():
    rng = np.random.default_rng(2)
    certain = np.eye(50)[rng.integers(50, size=300)] + 1e-6
    shift = batch_shift(certain / certain.sum(axis=1, keepdims=True), np.full(50, 1 / 50))
    untouched = centred_log(np.bincount(certain.argmax(axis=1), minlength=50) + 0.5)
    assert shift.std() < 0.6 * untouched.std()


def test_classes_that_are_equally_likely_stay():
    p = np.full((10, 4), 0.25)
    np.testing.assert_array_equal(batch_shift(p, np.full(4, 0.25)), np.zeros(4))


@pytest.fixture
def rows():
    return biased_rows(np.random.default_rng(0), 4_000, bias=[0.5, 0, -0.5], noise=1.2)


@pytest.fixture
def labelled(rows):
    return CountedRows(rows.probabilities[:30], rows.labels[:30], np.ones(30))


def test_expected_rows_count_as_30_labels_of_each_class(rows, labelled):
    both = labelled.and_expected(rows.probabilities, rows.posterior, np.ones(4_000))
    before = np.bincount(labelled.labels, labelled.counts)
    np.testing.assert_allclose(np.bincount(both.labels, both.counts) - before, 30)


def test_expected_accuracies_are_those_of_the_memberships(rows, labelled):
    both = labelled.and_expected(rows.probabilities, rows.posterior, np.ones(4_000))
    p, labels, mass = (part[30:] for part in both)
    weights = np.array([0.3, 0.6, 1.0])
    right = (weights * p).argmax(axis=1) == labels
    found = np.bincount(labels, right * mass) / np.bincount(labels, mass)
    predicted = (weights * rows.probabilities).argmax(axis=1)
    hits = [rows.posterior[predicted == c, c].sum() for c in range(3)]
    np.testing.assert_allclose(found, hits / rows.posterior.sum(axis=0), atol=0.01)


def test_a_row_that_counts_twice_is_two_rows(rows, labelled):
    p, membership = rows.probabilities[30:90], rows.posterior[30:90]
    times = np.random.default_rng(1).integers(0, 4, 60)
    weighed = labelled.and_expected(p, membership, times.astype(float))
    repeated = labelled.and_expected(
        np.repeat(p, times, axis=0), np.repeat(membership, times, axis=0), np.ones(times.sum())
    )
    counts = [
        np.bincount(one.labels, one.counts * one.probabilities[:, 0]) for one in (weighed, repeated)
    ]
    np.testing.assert_allclose(*counts)


def test_a_class_without_labels_gets_no_expected_rows(rows):
    seen = rows.labels[:30] < 2
    labelled = CountedRows(
        rows.probabilities[:30][seen], rows.labels[:30][seen], np.ones(sum(seen))
    )
    both = labelled.and_expected(rows.probabilities, rows.posterior, np.ones(4_000))
    assert set(both.labels) == {0, 1}


def test_shares_make_the_mass_of_each_class_in_a_problem():
    rng = np.random.default_rng(5)
    p, labels, mass = rng.dirichlet(np.ones(3), 60), rng.integers(0, 3, 60), rng.random(60)
    shares = np.array([0.7, 0.3, 0.0])
    problem = CountedRows(p, labels, mass).as_problem(["a", "b", "c"], shares)
    np.testing.assert_allclose(problem.class_counts * problem.unit, shares * mass.sum(), atol=1e-6)
    within = problem.counts[labels == 0] / mass[labels == 0]
    np.testing.assert_allclose(within, within[0], rtol=1e-6)


def test_draws_are_of_every_class_and_no_more_than_there_are():
    labels = np.random.default_rng(3).integers(0, 5, 1_000)
    drawn = draw_per_class(labels, 6, np.random.default_rng(0), most=50)
    assert np.bincount(labels[drawn], minlength=6).tolist() == [50] * 5 + [0]
    assert (np.diff(drawn) > 0).all()


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
