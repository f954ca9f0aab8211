"""Rules choose on the opt set, and say what is nearest where no point obeys."""

import numpy as np
import pytest

from dnip.base.errors import InvalidInputError
from dnip.fitting.pareto import Front, Point, Rule
from dnip.fitting.pareto.rules import knee
from dnip.fitting.pareto.search import Origin
from dnip.method.scales import WeightScale
from dnip.method.solution import Status


def made_point(accuracy, cobias):
    terms = {"error": 1 - accuracy, "cobias": cobias, "cobias_single": 0.0, "pmi": 0.0}
    return Point(np.array([1, 1]), np.eye(2, dtype=np.int64), terms, Origin("raw argmax"))


def made_front(*measures, raw=(0.6, 0.5)):
    points = tuple(made_point(*pair) for pair in measures)
    scale = WeightScale.of(30)
    beside = made_point(*raw)
    return Front(points, beside, beside, scale, Status.FINISHED, 1, 0.0, 0)


FRONT = made_front((0.8, 0.4), (0.79, 0.2), (0.7, 0.1), (0.5, 0.05))


@pytest.mark.parametrize(
    ("rule", "number"),
    [
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
    ],
)
def test_the_point_that_a_rule_asks_for(rule, number):
    assert Rule.of(rule).choose(FRONT) == number - 1


def test_the_knee_is_the_farthest_from_the_line_between_the_ends():
    rng = np.random.default_rng(0)
    for _ in range(20):
        accuracy = np.sort(rng.random(12))[::-1]
        cobias = np.sort(rng.random(12))[::-1]
        ends = np.array([[accuracy[0], cobias[0]], [accuracy[-1], cobias[-1]]])
        span = ends[0] - ends[1]
        along = (ends[0] - ends[1]) / span  # (1, 1): the line, each axis by its span
        at = (np.column_stack([accuracy, cobias]) - ends[1]) / span
        above = (at[:, 0] * along[1] - at[:, 1] * along[0]) / np.hypot(*along)
        points = made_front(*zip(accuracy, cobias, strict=True)).points
        assert above[knee(points)] == pytest.approx(above.max(), abs=1e-12)
    assert knee(FRONT.points[:1]) == 0
    assert knee(FRONT.points[:2]) == 1  # nothing between the ends: the one of lower COBias


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("accuracy>=0.9", "obeys accuracy>=0.9; the nearest is point 1: accuracy 0.8000"),
        ("cobias<=0.01", "the nearest is point 4: accuracy 0.5000, COBias 0.0500. Take it with 4"),
        ("loss<=-0.3", "raw argmax with accuracy 0.6000; the nearest is point 1"),
        ("5", "there is no point 5: the front has 4. Give a number from 1"),
        ("0", "there is no point 0"),
    ],
)
def test_a_rule_that_no_point_obeys_names_the_nearest(rule, told):
    with pytest.raises(InvalidInputError) as refused:
        Rule.of(rule).choose(FRONT)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("best", "'best' is no rule to choose a point by. Give knee, max-accuracy"),
        ("accuracy", "Put quotes around it, as in 'accuracy>="),
        ("accuracy<=0.7", "accuracy takes >="),
        ("cobias>=0.7", "cobias takes <="),
        ("cobias<=e", "e is no number"),
        ("cobias<=2", "the bound of cobias must be a finite number at least 0 and at most 1"),
        ("accuracy>=-1", "the bound of accuracy"),
        ("loss<=1e999", "the bound of loss"),
        ("-1", "is no rule"),
        ("1.5", "is no rule"),
        ("", "'' is no rule"),
    ],
)
def test_what_is_no_rule_is_refused(text, told):
    with pytest.raises(InvalidInputError) as refused:
        Rule.of(text)
    assert told in str(refused.value)


@pytest.mark.parametrize("text", ["knee", "accuracy>=0.7", "cobias<=0.05", "loss<=0.01", "12"])
def test_a_rule_is_printed_as_it_is_read(text):
    assert str(Rule.of(text)) == text
    assert Rule.of(Rule.of(text)) == Rule.of(text)
