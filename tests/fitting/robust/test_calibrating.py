"""What labels say of each class; whether unlabelled rows are like the labelled ones."""

import numpy as np
import pytest

from dnip.fitting.robust.calibrating import calibrate, find_drift, rows_per_class, what_labels_tell
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


def test_weights_count_as_rows_do_and_rows_without_weight_not_at_all():
    rows = biased_rows(np.random.default_rng(1), 300, bias=[0.5, 0, -0.5])
    times = np.random.default_rng(2).integers(0, 3, 300)
    repeated = calibrate(
        np.repeat(rows.probabilities, times, axis=0), np.repeat(rows.labels, times)
    )
    weighed = calibrate(rows.probabilities, rows.labels, times.astype(float))
    np.testing.assert_allclose(weighed.log_weights, repeated.log_weights, atol=0.1)
    np.testing.assert_array_equal(weighed.labels, repeated.labels)


def test_a_class_without_labels_stands_in_the_middle():
    rows = biased_rows(np.random.default_rng(3), 300, bias=[0.5, 0, -0.5], shares=[0.5, 0.5, 1e-9])
    found = calibrate(rows.probabilities, rows.labels)
    assert found.log_weights[2] == pytest.approx(found.log_weights[:2].mean())
    assert found.labels[2] == 0


def test_what_coefficients_keep():
    rng = np.random.default_rng(4)
    rows = biased_rows(rng, 5_000, bias=[0.5, 0, -0.5])
    told = what_labels_tell(rows.probabilities, rows.labels)
    np.testing.assert_allclose(told["class_shares"], np.bincount(rows.labels) / 5_000)
    assert told["calibration"]["labels"] == [rows_per_class(3)] * 3
    target = np.array([0.5, 0.25, 0.25])
    told = what_labels_tell(rows.probabilities, rows.labels, target=target)
    assert told["class_shares"] == target.tolist()
    weight = np.where(rows.labels == 0, 2.0, 1.0)
    told = what_labels_tell(rows.probabilities, rows.labels, weight)
    assert told["class_shares"][0] == pytest.approx(2 * 5 / 20, abs=0.03)


BIAS = [0.7, 0, -0.7]


def rows(seed, n_rows=400, **settings):
    return biased_rows(np.random.default_rng(seed), n_rows, bias=BIAS, **settings)


@pytest.fixture
def here():
    return rows(0)


def moved(p, shift, sharpness=1.0):
    scores = p**sharpness * np.exp(shift)
    return scores / scores.sum(axis=1, keepdims=True)


def test_the_same_rows_have_not_moved(here):
    assert find_drift(here.probabilities, here.labels, here.probabilities) is None


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


def test_weights_count_as_repetitions(here):
    times = np.random.default_rng(2).integers(0, 4, len(here.labels))
    others = moved(rows(1).probabilities, [1.5, 0, -1.5])
    weighed = find_drift(here.probabilities, here.labels, others, counts=times.astype(float))
    repeated = find_drift(
        np.repeat(here.probabilities, times, axis=0), np.repeat(here.labels, times), others
    )
    assert weighed.p_value == pytest.approx(repeated.p_value, rel=1e-6)
    np.testing.assert_allclose(
        np.repeat(weighed.probabilities, times, axis=0), repeated.probabilities
    )


def test_a_class_without_labels_is_no_failure(here):
    seen = here.labels < 2
    others = moved(rows(1).probabilities, [1.5, 0, -1.5])
    drift = find_drift(here.probabilities[seen], here.labels[seen], others)
    assert drift.p_value < 0.01
    assert np.isfinite(drift.probabilities).all()
