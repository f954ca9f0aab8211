"""The smooth fit against a general optimiser; its curvature against the whole matrix."""

import time

import numpy as np
import pytest
from scipy.optimize import minimize

from dnip.fitting.robust import shift
from dnip.fitting.robust.shift import Curvature, fit_shift
from populations import biased_rows

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


def test_the_labels_choose_how_strong_the_pull_is():
    rng = np.random.default_rng(4)
    prior = np.array([0.5, 0, -0.5])
    told, surprised = np.zeros(3), np.array([2.0, 0, -2.0])
    distances = []
    for truth in (told, surprised):  # the first is what the prior makes up for
        rows = biased_rows(rng, 40, bias=truth - prior)
        log_p = np.log(rows.probabilities)
        chosen = fit_shift(log_p, rows.labels, np.ones(40), prior)
        strong = fit_shift(log_p, rows.labels, np.ones(40), prior, pull=100.0)
        distances.append(np.abs(chosen.log_weights - strong.log_weights).max())
    assert distances[0] < 0.2 < 1.0 < distances[1]


def draw(n_rows, n_classes, *, held):
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(n_classes), n_rows)
    weighted = rng.uniform(0.5, 2.0, (n_rows, 1)) * q
    scores = rng.normal(size=(n_rows, n_classes))
    apart = scores - (q * scores).sum(axis=1)[:, None]
    return Curvature(
        (weighted * apart**2).sum() + 1.0,
        (weighted * apart).sum(axis=0),
        weighted.sum(axis=0) + 3.0,
        weighted,
        q,
        held=held,
    )


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(("n_rows", "n_classes"), [(5, 40), (60, 20)])
def test_products_solve_what_the_matrix_solves(monkeypatch, n_rows, n_classes, held):
    given = draw(n_rows, n_classes, held=held)
    gradient = np.random.default_rng(1).normal(size=n_classes + 1)
    whole, determinant = given.solve(gradient), given.log_determinant()
    monkeypatch.setattr(shift, "_MOST_CLASSES", 1)
    np.testing.assert_allclose(given.solve(gradient), whole, rtol=1e-6, atol=1e-9)
    assert given.log_determinant() == pytest.approx(determinant, rel=1e-9)
    cut = given.solve(gradient, time.perf_counter())
    assert cut @ gradient > 0
