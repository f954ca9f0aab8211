"""Rules choose on the opt set, say what is nearest, and are scored on rows left out."""

import numpy as np
import pytest

import oracles
from cases import cases
from dnip import InvalidInputError, Status
from dnip.fitting.pareto import Front, Point, Rule, cross_fit, front
from dnip.fitting.pareto.rules import knee
from dnip.method.scales import WeightScale
from fronts import indices_of
from strategies import random_probabilities


def made_point(accuracy, cobias):
    terms = {"error": 1 - accuracy, "cobias": cobias, "cobias_single": 0.0, "pmi": 0.0}
    return Point(np.array([1, 1]), np.eye(2, dtype=np.int64), terms)


def made_front(*measures):
    points, raw = tuple(made_point(*pair) for pair in measures), made_point(0.6, 0.5)
    return Front(points, raw, raw, WeightScale.of(30), Status.FINISHED, 1, 0.0, 0)


FRONT = made_front((0.8, 0.4), (0.79, 0.2), (0.7, 0.1), (0.5, 0.05))


@cases(
    ("max-accuracy", 1),
    ("min-cobias", 4),
    ("knee", 2),
    ("3", 3),
    (" KNEE ", 2),
    ("accuracy>=0.7", 3),
    ("accuracy >= 0.70001", 2),
    ("accuracy>=0", 4),
    ("cobias<=0.2", 2),
    ("cobias<=1", 1),
    ("loss<=0", 3),
    ("loss<=0.1", 4),
    ("loss<=-0.15", 2),
)
def test_the_point_that_a_rule_asks_for(rule, number):
    assert Rule.of(rule).choose(FRONT) == number - 1


def test_the_knee_is_the_farthest_from_the_line_between_the_ends():
    rng = np.random.default_rng(0)
    for _ in range(20):
        at = np.sort(rng.random((12, 2)), axis=0)[::-1]
        by_span = (at - at[-1]) / (at[0] - at[-1])  # the ends are (1, 1) and (0, 0)
        above = by_span[:, 0] - by_span[:, 1]
        assert above[knee(made_front(*at).points)] == pytest.approx(above.max(), abs=1e-12)
    assert knee(FRONT.points[:1]) == 0
    assert knee(FRONT.points[:2]) == 1  # nothing between the ends: the one of lower COBias


@cases(
    ("accuracy>=0.9", "obeys accuracy>=0.9; the nearest is point 1: accuracy 0.8000"),
    ("cobias<=0.01", "the nearest is point 4: accuracy 0.5000, COBias 0.0500. Take it with 4"),
    ("loss<=-0.3", "raw argmax with accuracy 0.6000; the nearest is point 1"),
    ("5", "there is no point 5: the front has 4. Give a number from 1"),
    ("0", "there is no point 0"),
)
def test_a_rule_that_no_point_obeys_names_the_nearest(rule, told):
    with pytest.raises(InvalidInputError) as refused:
        Rule.of(rule).choose(FRONT)
    assert told in str(refused.value)


@cases(
    ("best", "'best' is no rule to choose a point by. Give knee, max-accuracy"),
    ("accuracy", "Put quotes around it, as in 'accuracy>="),
    ("accuracy<=0.7", "accuracy takes >="),
    ("cobias>=0.7", "cobias takes <="),
    ("cobias<=e", "is no rule"),
    ("cobias<=2", "the bound of cobias must be a finite number at least 0 and at most 1"),
    ("accuracy>=-1", "the bound of accuracy"),
    ("loss<=1e999", "the bound of loss"),
    ("-1", "is no rule"),
    ("1.5", "is no rule"),
    ("", "'' is no rule"),
)
def test_what_is_no_rule_is_refused(text, told):
    with pytest.raises(InvalidInputError) as refused:
        Rule.of(text)
    assert told in str(refused.value)


def noise(n_rows, n_classes=3, seed=0):
    """Probabilities that know nothing of the labels: any front is luck."""
    rng = np.random.default_rng(seed)
    return random_probabilities(rng, n_rows, n_classes), np.arange(n_rows) % n_classes


def test_every_row_is_scored_once_by_the_front_without_its_fold():
    p, labels = noise(45)
    found = front(p, labels, scale=6)
    checked = cross_fit(p, labels, found)
    assert [rows.class_counts.tolist() for rows, _ in checked.refits] == [[3] * 3] * 5
    expected = np.zeros((3, 3), np.int64)
    for rows, without in checked.refits:
        kept = ~(p[:, None] == rows.probabilities).all(axis=2).any(axis=1)
        assert indices_of(front(p[kept], labels[kept], scale=6)) == indices_of(without)
        indices = without.points[-1].weight_indices
        expected += oracles.confusion_at(p[~kept], labels[~kept], indices)
    np.testing.assert_array_equal(checked.score(Rule.of("min-cobias")), expected)
    np.testing.assert_array_equal(checked.confusions[-1], expected)
    assert len(checked.confusions) == len(found.points)
    assert all(confusion.sum() == 45 for confusion in checked.confusions)


def test_a_rule_that_a_fold_cannot_obey_takes_the_nearest():
    p, labels = noise(45)
    checked = cross_fit(p, labels, front(p, labels, scale=6))
    best = checked.score(Rule.of("max-accuracy"))
    np.testing.assert_array_equal(checked.score(Rule.of("accuracy>=1")), best)


def test_small_classes_make_fewer_folds():
    p, labels = noise(30)
    labels[:] = np.arange(30) % 2
    labels[:2] = 2
    checked = cross_fit(p, labels, front(p, labels, scale=6))
    assert [rows.class_counts[2] for rows, _ in checked.refits] == [1, 1]


def test_ctrl_c_ends_it(monkeypatch):
    p, labels = noise(30)
    found = front(p, labels, scale=6)

    def interrupt(*_given, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("dnip.fitting.pareto.fronts.run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cross_fit(p, labels, found)
