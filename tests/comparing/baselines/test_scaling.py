"""Temperature, vector and matrix scaling, against scikit-learn and the conditions of an optimum."""

import numpy as np
import pytest

from dnip.comparing.baselines import (
    BalancedMatrixScaling,
    MatrixScaling,
    OptSet,
    TemperatureScaling,
    VectorScaling,
)
from dnip.comparing.baselines.scaling import log_loss
from strategies import random_probabilities

pytest.importorskip("scipy")


def opt_set(seed=0, n_rows=600, n_classes=4):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, n_rows, n_classes)
    sharper = p**0.6 * rng.uniform(0.5, 2, n_classes)
    sharper /= sharper.sum(axis=1, keepdims=True)
    labels = (sharper.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1)
    labels[:n_classes] = np.arange(n_classes)
    return OptSet.of(p, labels)


def test_the_temperature_is_that_of_least_log_loss():
    optimize = pytest.importorskip("scipy.optimize")
    special = pytest.importorskip("scipy.special")
    opt = opt_set()

    def loss(temperature):
        logs = special.log_softmax(np.log(opt.probabilities) / temperature, axis=1)
        return -logs[np.arange(len(logs)), opt.labels].mean()

    best = optimize.minimize_scalar(loss, bounds=(0.1, 10), method="bounded").x
    assert TemperatureScaling().fit(opt).temperature == pytest.approx(best, rel=1e-3)


def test_the_temperature_never_changes_a_decision():
    rng = np.random.default_rng(5)
    p = np.vstack([random_probabilities(rng, 300, 3, kind) for kind in ("tied", "decimal", "tiny")])
    opt = OptSet.of(p, rng.integers(3, size=len(p)))
    assert (TemperatureScaling().fit(opt).predict(p) == p.argmax(axis=1)).all()


def test_the_gradient_is_that_of_small_steps():
    rng = np.random.default_rng(6)
    scores, labels = rng.normal(size=(5, 3)), rng.integers(3, size=5)
    _, gradient = log_loss(scores, labels)
    for cell in np.ndindex(5, 3):
        step = np.zeros_like(scores)
        step[cell] = 1e-6
        slope = (log_loss(scores + step, labels)[0] - log_loss(scores - step, labels)[0]) / 2e-6
        assert gradient[cell] == pytest.approx(slope, abs=1e-8)


def test_a_class_without_labels_keeps_its_log_probability():
    opt = opt_set()
    some = opt.labels != 2
    told = VectorScaling().fit(OptSet.of(opt.probabilities[some], opt.labels[some])).to_dict()
    assert (told["slopes"][2], told["shifts"][2]) == (1.0, 0.0)


@pytest.mark.parametrize("method", [MatrixScaling(), BalancedMatrixScaling()])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_matrix_scaling_decides_as_scikit_learn_does(method, n_classes):
    linear_model = pytest.importorskip("sklearn.linear_model")
    opt = opt_set(n_classes=n_classes)
    weights = method.class_weight
    theirs = linear_model.LogisticRegression(class_weight=weights, max_iter=1000)
    theirs.fit(np.log(opt.probabilities), opt.labels)
    ours = method.fit(opt)
    new = random_probabilities(np.random.default_rng(9), 500, n_classes)
    assert (ours.predict(new) == theirs.predict(np.log(new))).all()


def test_matrix_scaling_never_predicts_a_class_without_labels():
    pytest.importorskip("sklearn")
    p = random_probabilities(np.random.default_rng(7), 100, 3)
    for kept in ([0, 2], [1, 2]):
        opt = OptSet.of(p, np.array(kept)[np.arange(100) % 2])
        assert set(MatrixScaling().fit(opt).predict(p)) <= set(kept)
