"""Labelled rows, and unlabelled ones in expectation."""

import numpy as np
import pytest

from dnip.fitting.robust.smooth import CountedRows, draw_per_class
from populations import biased_rows


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
