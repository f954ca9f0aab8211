"""Oracles: populations whose class probabilities are known, and a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from dnip.base.errors import InvalidInputError
from dnip.priors import Calibration, estimate_prior


def gaussian_rows(rng, n_rows, shares, *, sharpness, bias):
    """Rows of normal classes, their true labels, and the distorted probabilities of a model.

    A model that knew the truth for equal shares says softmax(z); this one says
    softmax(z / sharpness - bias), so (bias, sharpness) is the calibration that undoes it.
    """
    n = len(shares)
    labels = rng.choice(n, n_rows, p=shares)
    x = rng.normal(0, 1, (n_rows, n)) + 1.5 * np.eye(n)[labels]
    scores = 1.5 * x / sharpness - bias
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True), labels


SHARES = np.array([0.7, 0.2, 0.1])
BIAS = np.array([1.0, 0.0, -1.0])


def known(labels=1e9):
    return Calibration(BIAS, 0.5, np.full(3, labels))


def test_the_shares_of_a_known_population_are_recovered():
    rng = np.random.default_rng(0)
    p, labels = gaussian_rows(rng, 20_000, SHARES, sharpness=0.5, bias=BIAS)
    found = estimate_prior(p, known())
    np.testing.assert_allclose(found.shares, np.bincount(labels) / len(labels), atol=0.01)
    assert found.n_rows == 20_000
    uncalibrated = estimate_prior(p, Calibration(np.zeros(3), 1.0, np.full(3, 1e9)))
    assert np.abs(uncalibrated.shares - SHARES).max() > 0.15


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_shares_are_the_most_probable_ones(n_classes):
    rng = np.random.default_rng(n_classes)
    p = rng.dirichlet(np.ones(n_classes), 60)
    calibration = Calibration(rng.normal(0, 1, n_classes), 0.7, np.full(n_classes, 50.0))
    likelihood = (p * np.exp(calibration.log_weights)) ** 0.7

    def loss(z):
        shares = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        return -np.log(likelihood @ shares).sum() - 0.5 * np.log(shares).sum()

    best = np.exp(minimize(loss, np.zeros(n_classes), method="BFGS").x)
    found = estimate_prior(p, calibration)
    np.testing.assert_allclose(found.shares, best / best.sum(), atol=1e-4)


def test_the_interval_holds_the_truth_as_often_as_it_says():
    held, n = np.zeros(3), 300
    for seed in range(n):
        rng = np.random.default_rng(seed)
        p, _ = gaussian_rows(rng, 300, SHARES, sharpness=0.5, bias=BIAS)
        found = estimate_prior(p, known())
        held += (found.low <= SHARES) & (found.high >= SHARES)
    assert (held / n > 0.90).all()
    assert (held / n < 0.99).all()


def test_few_labels_widen_the_interval_and_more_rows_narrow_it():
    rng = np.random.default_rng(1)
    p, _ = gaussian_rows(rng, 4_000, SHARES, sharpness=0.5, bias=BIAS)

    def width(rows, labels):
        found = estimate_prior(p[:rows], known(labels))
        assert (found.low >= 0).all()
        assert (found.high <= 1).all()
        return (found.high - found.low)[0]

    assert width(4_000, 10) > 3 * width(4_000, 1e9)
    assert width(1_000, 1e9) == pytest.approx(2 * width(4_000, 1e9), rel=0.1)


def test_no_class_is_ruled_out_and_one_row_will_do():
    found = estimate_prior([[1.0, 0.0, 0.0]], Calibration(np.zeros(3), 1.0, np.full(3, 9.0)))
    assert (found.shares > 0).all()
    assert found.shares.sum() == pytest.approx(1)
    assert np.isfinite(found.low).all()


def test_bad_rows():
    with pytest.raises(InvalidInputError, match="2 columns, but the calibration has 3"):
        estimate_prior([[0.5, 0.5]], known())
    with pytest.raises(InvalidInputError, match="no rows"):
        estimate_prior(np.empty((0, 3)), known())
    with pytest.raises(InvalidInputError, match="negative"):
        estimate_prior([[0.5, 0.6, -0.1]], known())
