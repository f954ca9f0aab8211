"""Corrections by a prior and by scaling, against definitions, scikit-learn and optima."""

import numpy as np
import pytest

from dnip import InvalidInputError, Objective, fit, solve
from dnip.comparing import methods
from dnip.comparing.methods import (
    BalancedMatrixScaling,
    MatrixScaling,
    OptSet,
    VectorScaling,
    _log_loss,
    choose,
)
from dnip.solvers.search import PAPER
from strategies import random_probabilities

METHODS = {method.name: method for method in choose()}


def opt_set(seed=0, n_rows=600, n_classes=4, **more):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, n_rows, n_classes)
    sharper = p**0.6 * rng.uniform(0.5, 2, n_classes)
    sharper /= sharper.sum(axis=1, keepdims=True)
    labels = (sharper.cumsum(axis=1) < rng.random((n_rows, 1))).sum(axis=1)
    labels[:n_classes] = np.arange(n_classes)
    return OptSet.of(p, labels, **more)


def divided(p, prior):
    """Argmax of p/prior with plain loops, the lowest class on a tie."""
    return [max(range(len(row)), key=lambda c: (row[c] / prior[c], -c)) for row in p.tolist()]


def test_batch_calibration_divides_by_the_mean_of_the_batch():
    batch = random_probabilities(np.random.default_rng(1), 5000, 4) ** 3 * [1, 2, 3, 4]
    batch /= batch.sum(axis=1, keepdims=True)
    fitted = methods.BatchCalibration().fit(opt_set(batch=batch))
    assert fitted.predict(batch).tolist() == divided(batch, batch.mean(axis=0))


def test_contextual_calibration_divides_by_the_mean_of_content_free_rows():
    free = random_probabilities(np.random.default_rng(2), 3, 4)
    opt = opt_set(content_free=free)
    predicted = methods.ContextualCalibration().fit(opt).predict(opt.probabilities)
    assert predicted.tolist() == divided(opt.probabilities, free.mean(axis=0))


@pytest.mark.parametrize("name", ["batch-calibration", "contextual-calibration"])
def test_rows_that_are_missing_are_named(name):
    with pytest.raises(InvalidInputError, match=f"{name} needs .*there (is|are) none"):
        METHODS[name].fit(opt_set())


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("n_labels", ["one each", "one class missing", "many"])
def test_every_method_learns_from_one_label_per_class_and_without_a_class(name, n_labels):
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(4)
    p = random_probabilities(rng, 60, 3)
    labels = {"one each": [0, 1, 2], "one class missing": [0, 2] * 5, "many": [0, 1, 2] * 20}
    labels = labels[n_labels]
    opt = OptSet.of(p[: len(labels)], labels, batch=p, content_free=p[:3], unlabelled=p[5:20])
    correction = METHODS[name].fit(opt, seed=1)
    again = METHODS[name].fit(opt, seed=1)
    scores = correction.scores(p)
    assert scores.shape == p.shape
    assert not np.isnan(scores).any()
    assert (correction.predict(p) == again.predict(p)).all()
    assert (correction.predict(p) == scores.argmax(axis=1)).all()


@pytest.fixture
def opt():
    rng = np.random.default_rng(0)
    p = random_probabilities(rng, 300, 3, "tied")
    return OptSet.of(p, rng.integers(3, size=300), unlabelled=random_probabilities(rng, 90, 3))


def test_the_published_settings_anneal(opt):
    settings = {"scale": 30, "solver": PAPER.solver, "seed": 7}
    found = solve(opt.probabilities, opt.labels, Objective.published(), **settings)
    fitted = methods.PaperDNIP().fit(opt, seed=7)
    assert (fitted.weights == found.weight_indices).all()
    assert fitted.to_dict()["objective"] == found.value


def test_ours_is_the_fit_of_every_other_door(opt):
    alone = fit(opt.probabilities, opt.labels, unlabelled=opt.unlabelled, seed=3)
    row = methods.OurDNIP().fit(opt, seed=3)
    assert (row.weights == alone.coefficients.multipliers).all()
    assert row.to_dict()["objective"] == alone.solution.value
    assert row.to_dict()["verdict"] == alone.verdict
    names = np.array(opt.classes, object)[row.predict(opt.unlabelled)]
    assert (names == alone.coefficients.predict(opt.unlabelled)).all()


# --- scaling ---
pytest.importorskip("scipy")


@pytest.mark.parametrize("names", [("1", "2", "3", "4"), ("3", "0", "2", "1")])
def test_the_names_of_classes_are_no_numbers_of_columns(names):
    plain, named = opt_set(), opt_set(classes=names)
    ours = METHODS["dnip"]
    assert ours.fit(named).to_dict() == ours.fit(plain).to_dict()


def test_the_gradient_is_that_of_small_steps():
    rng = np.random.default_rng(6)
    scores, labels = rng.normal(size=(5, 3)), rng.integers(3, size=5)
    _, gradient = _log_loss(scores, labels)
    for cell in np.ndindex(5, 3):
        step = np.zeros_like(scores)
        step[cell] = 1e-6
        slope = (_log_loss(scores + step, labels)[0] - _log_loss(scores - step, labels)[0]) / 2e-6
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
