"""Scores on rows left out are those of fronts that have not seen them."""

import numpy as np
import pytest

import oracles
from dnip.base.errors import InvalidInputError
from dnip.fitting.pareto import Rule, cross_fit, front
from dnip.metrics import accuracy, cobias
from strategies import random_probabilities


def noise(n_rows, n_classes=3, seed=0):
    """Probabilities that know nothing of the labels: any front is luck."""
    rng = np.random.default_rng(seed)
    return random_probabilities(rng, n_rows, n_classes), np.arange(n_rows) % n_classes


def test_every_row_is_scored_once_by_the_front_without_its_fold():
    p, labels = noise(45)
    found = front(p, labels, scale=6)
    checked = cross_fit(p, labels, found)
    assert sorted(np.bincount(checked.folds)) == [9] * 5
    for c in range(3):
        assert (np.bincount(checked.folds[labels == c], minlength=5) == 3).all()
    for fold, without in enumerate(checked.fronts):
        kept = checked.folds != fold
        again = front(p[kept], labels[kept], scale=6)
        assert [point.weight_indices.tolist() for point in again.points] == [
            point.weight_indices.tolist() for point in without.points
        ]
    expected = np.zeros((3, 3), np.int64)
    for fold, without in enumerate(checked.fronts):
        left_out = checked.folds == fold
        indices = without.points[-1].weight_indices
        expected += oracles.confusion_at(p[left_out], labels[left_out], indices)
    np.testing.assert_array_equal(checked.score(Rule.of("min-cobias")), expected)
    np.testing.assert_array_equal(checked.confusions[-1], expected)
    assert len(checked.confusions) == len(found.points)
    assert all(confusion.sum() == 45 for confusion in checked.confusions)


def test_luck_does_not_last():
    p, labels = noise(60)
    found = front(p, labels, scale=30)
    checked = cross_fit(p, labels, found)
    assert found.points[0].accuracy > 0.41
    assert accuracy(checked.confusions[0]) < 0.36
    assert cobias(checked.confusions[-1]) > found.points[-1].cobias + 0.05


def test_a_rule_that_a_fold_cannot_obey_takes_the_nearest():
    p, labels = noise(45)
    found = front(p, labels, scale=6)
    checked = cross_fit(p, labels, found)
    best = checked.score(Rule.of("max-accuracy"))
    np.testing.assert_array_equal(checked.score(Rule.of("accuracy>=1")), best)


def test_small_classes_make_fewer_folds():
    p, labels = noise(30)
    labels[:] = np.arange(30) % 2
    labels[:2] = 2
    found = front(p, labels, scale=6)
    checked = cross_fit(p, labels, found)
    assert len(checked.fronts) == 2
    assert sorted(checked.folds[labels == 2]) == [0, 1]


def test_a_class_of_one_row_cannot_be_left_out():
    p, labels = noise(30)
    labels[:] = np.arange(30) % 2
    labels[0] = 2
    with pytest.raises(InvalidInputError, match="a single labelled row"):
        cross_fit(p, labels, front(p, labels, scale=6))


def test_ctrl_c_ends_it(monkeypatch):
    p, labels = noise(30)
    found = front(p, labels, scale=6)

    def interrupt(_explorer):
        yield
        raise KeyboardInterrupt

    monkeypatch.setattr("dnip.fitting.pareto.solve._every_line", interrupt)
    assert cross_fit(p, labels, found) is None
