import numpy as np

from dnip.fitting.robust.smooth import batch_shift
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
