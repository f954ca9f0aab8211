"""What labels say of each class; whether unlabelled rows are like the labelled ones."""

import numpy as np
import pytest

from dnip.fitting.robust.calibrating import calibrate, find_drift
from dnip.priors.calibration import log_probabilities
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
