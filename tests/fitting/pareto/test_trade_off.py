"""The front of a table: test scores, coefficients of a point, tables that do not go together."""

import numpy as np
import pytest

import oracles
from dnip import Coefficients, ProbabilityTable
from dnip.base.errors import InvalidInputError
from dnip.fitting.pareto import Rule, expected_cobias, trace_front
from strategies import random_probabilities


def table(n_rows=90, n_classes=3, seed=0, **changes):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, n_rows, n_classes)
    follows = rng.random(n_rows) < 0.6
    labels = np.where(follows, (p * np.arange(1, n_classes + 1)).argmax(axis=1), 0)
    labels[:n_classes] = np.arange(n_classes)
    settings = {"probabilities": p, "labels": labels, "source": f"t{seed}.csv"}
    return ProbabilityTable(**{**settings, **changes})


def test_every_point_is_scored_on_the_test_table_and_can_be_deployed():
    opt, test = table(), table(seed=1)
    found = trace_front(opt, test, scale=8, cross="off")
    assert found.test.n == 90
    for place, point in enumerate(found.front.points):
        coefficients = found.coefficients(Rule.of(place + 1))
        again = Coefficients.from_json(coefficients.to_json())
        assert again.weight_indices.tolist() == point.weight_indices.tolist()
        for rows, counts in ((opt, point.confusion), (test, found.test.points[place])):
            expected = oracles.confusion_at(rows.probabilities, rows.labels, point.weight_indices)
            np.testing.assert_array_equal(counts, expected)
            predictions = again.predict(rows.probabilities)
            assert (predictions == rows.labels).sum() == np.trace(counts)
    raw = oracles.confusion_at(test.probabilities, test.labels, [1, 1, 1])
    np.testing.assert_array_equal(found.test.raw, raw)


def test_the_choice_does_not_look_at_the_test_table():
    chosen = {
        trace_front(table(), test, scale=8, cross="off").choice(Rule.of("knee"))["number"]
        for test in (None, table(seed=1), table(seed=2))
    }
    assert len(chosen) == 1


def test_cross_fitting_is_for_few_labels():
    few = trace_front(table(), scale=8)
    assert few.few is not None
    assert few.cross is not None
    number = len(few.front.points)
    told = few.choice(Rule.of(number))["cross_fitted"]
    assert told["accuracy"] == pytest.approx(np.trace(few.cross.confusions[-1]) / 90)
    assert told["expected_cobias"] == expected_cobias(few.cross.confusions[-1])
    assert trace_front(table(), scale=8, cross="off").cross is None
    many = table(n_rows=1200)
    assert np.bincount(many.labels).min() >= 100
    assert trace_front(many, scale=4).cross is None
    assert trace_front(many, scale=4).few is None
    assert trace_front(many, scale=4, cross="on").cross is not None
    lonely = table()
    lonely.labels[lonely.labels == 2] = 0
    lonely.labels[0] = 2
    assert trace_front(lonely, scale=4).cross is None
    with pytest.raises(InvalidInputError, match="a single labelled row"):
        trace_front(lonely, scale=4, cross="on")


def test_unlabelled_rows_are_left_aside():
    opt = table()
    labels = np.append(opt.labels, [-1, -1])
    p = np.vstack([opt.probabilities, opt.probabilities[:2]])
    more = ProbabilityTable(p, labels, source="t0.csv")
    one, other = (trace_front(rows, scale=8, cross="off") for rows in (opt, more))
    assert [point.weight_indices.tolist() for point in one.front.points] == [
        point.weight_indices.tolist() for point in other.front.points
    ]
    assert other.provenance["data"]["rows"] == 92


@pytest.mark.parametrize(
    ("opt", "test", "told"),
    [
        (table(), table(), "hold the same rows"),
        (table(labels=None), None, "t0.csv: no row has a label"),
        (table(), table(seed=1, labels=None), "t1.csv: no row has a label"),
        (table(), table(seed=1, labels=np.ones(90, int)), "t1.csv: only class 1 has labelled rows"),
    ],
)
def test_tables_that_do_not_go_together_are_refused(opt, test, told):
    with pytest.raises(InvalidInputError) as refused:
        trace_front(opt, test)
    assert told in str(refused.value)
