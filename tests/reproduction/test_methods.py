"""The methods that are compared."""

import numpy as np
import pytest

from dnip import InvalidInputError, Objective, metrics
from reproduction import methods
from reproduction.methods import adapt, smooth
from reproduction.probabilities import Cell, Rows

RNG = np.random.default_rng(0)


def rows(n=300):
    y = RNG.integers(0, 3, n)
    p = np.exp(RNG.normal(size=(n, 3)) + 2 * np.eye(3)[y] + 2 * np.eye(3)[0])
    return Rows(p / p.sum(axis=1, keepdims=True), y, np.arange(n), np.ones(n, int))


def test_dev_is_a_fifth_of_few_rows_and_a_twentieth_of_many_class_by_class():
    for n, share in ((300, 0.2), (4000, 0.05)):
        whole = rows(n)
        opt, dev = methods.divide(whole)
        assert len(dev.y) == pytest.approx(share * n, abs=3)
        assert sorted([*opt.row, *dev.row]) == list(range(n))
        np.testing.assert_allclose(np.bincount(dev.y), share * np.bincount(whole.y), atol=1)


def test_settings_are_those_with_the_lowest_cobias_on_dev_then_accuracy(quick, monkeypatch):
    whole = rows()
    _, dev = methods.divide(whole)
    weights = {0.5: [1, 1, 1], 2.7: [1, 9, 9], 10.0: [1, 5, 9]}
    monkeypatch.setattr(methods, "BETAS", tuple(weights))
    monkeypatch.setattr(methods, "TAUS", (0.0,))

    class Found:
        def __init__(self, beta):
            self.weight_indices = np.array(weights[beta])

    monkeypatch.setattr(methods, "anneal", lambda rows, seed, objective, k: Found(objective.beta))
    found, told = methods.tuned(whole, seed=0)
    scores = {}
    for beta, w in weights.items():
        counts = metrics.confusion_matrix(dev.y, methods.decide(dev.p, np.array(w)), 3)
        scores[beta] = (metrics.cobias(counts), metrics.accuracy(counts))
    lowest = min(c for c, _ in scores.values())
    near = {b: a for b, (c, a) in scores.items() if c <= lowest + methods.SIMILAR}
    best = max(near, key=near.get)
    assert found.weight_indices.tolist() == weights[best]
    assert told == f"β = {best:g}, τ = 0, K = 30"


def test_all_methods_predict_the_same_rows_and_batch_calibration_evens_answers_out(quick):
    cell = Cell("t", "1", 0, rows(), rows(), (0,))
    found = {one.method: one.predicted for one in methods.debias(cell)}
    assert list(found) == [
        methods.RAW, methods.DNIP, methods.PUBLISHED, methods.FIT, methods.FOLLOWED,
        methods.BATCH, methods.ADAPTER,
    ]  # fmt: skip
    np.testing.assert_array_equal(found["raw"], cell.test.p.argmax(axis=1))
    share = {name: (one == 0).mean() for name, one in found.items()}
    assert share["raw"] > 0.5 > share["batch calibration"]


def test_an_error_names_the_cell(quick):
    cell = Cell("t", "1", 2, rows(30)._replace(y=np.zeros(30, int)), rows(), (0,))
    with pytest.raises(InvalidInputError, match="t, 1 shots, seed 2: "):
        methods.debias(cell)


def test_the_smooth_objective_is_z_of_whole_counts_and_its_slope_is_right():
    objective, none = Objective(2.7, 0.2, 5.0), np.zeros(3)
    p, y = rows(60)[:2]
    matrix = 0.1 * RNG.normal(size=(3, 3))
    _, slope = smooth(p, y, matrix, none, objective)
    for k in range(3):
        step = 1e-6 * np.eye(3)[k]
        up, down = (smooth(p, y, matrix, s, objective)[0] for s in (step, -step))
        assert slope[:, k].sum() == pytest.approx((up - down) / 2e-6, abs=1e-6)
    sure, _ = smooth(p, y, 1e6 * np.eye(3), none, objective)
    counts = metrics.confusion_matrix(y, p.argmax(axis=1), 3)
    assert sure == pytest.approx(objective(counts))


def test_the_adapter_lowers_the_objective_and_repeats_itself():
    train, test = rows(), rows()
    first, again = (adapt(train, methods.PAPER, seed=3)(test.p) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    before, after = (
        methods.PAPER(metrics.confusion_matrix(test.y, s.argmax(axis=1), 3))
        for s in (test.p, first)
    )
    assert after < before - 0.3
