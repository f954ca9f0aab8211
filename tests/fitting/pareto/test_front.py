"""The front: what trying all weights finds, and of tables: test scores and coefficients."""

import numpy as np
import pytest

import oracles
from cases import cases
from dnip import Coefficients, DNIPWarning, InvalidInputError, ProbabilityTable, Status
from dnip.fitting.pareto import Rule, front, trace_front
from dnip.method.problem import Problem
from dnip.metrics.expected import expected_cobias
from dnip.solvers import landscape
from dnip.solvers.landscape import levels_of
from fronts import hypervolume, indices_of, measures, true_front
from problems import KNOWN, Known
from strategies import random_probabilities

MEDIUM = Known(n_classes=4, scale=9, n_rows=300, kind="random", seed=20)
TIED = Known(n_classes=4, scale=9, n_rows=300, kind="tied", seed=21)


def assert_sound(found, p, labels):
    """Points are what their weights do, in order, and none beats another."""
    for point in (*found.points, found.optimum, found.raw):
        confusion = oracles.confusion_at(p, labels, found.scale.multipliers(point.weight_indices))
        np.testing.assert_array_equal(point.confusion, confusion)
        assert point.accuracy == pytest.approx(np.trace(confusion) / len(labels))
        assert point.cobias == pytest.approx(oracles.cobias(confusion), abs=1e-12)
    reached = measures(found.points)
    assert (np.diff(reached, axis=0) < 0).all()
    for beside in (found.raw, found.optimum):
        assert any(
            p.accuracy >= beside.accuracy - 1e-12 and p.cobias <= beside.cobias + 1e-12
            for p in found.points
        )


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("scale", ["{}", "log:{}"])
def test_the_search_finds_nearly_all_of_what_all_weights_reach(name, scale):
    known = KNOWN[name]
    scale = scale.format(known.scale)
    found = front(known.p, known.labels, scale=scale)
    assert found.status is Status.FINISHED
    assert_sound(found, known.p, known.labels)
    expected = true_front(known.p, known.labels, scale)
    corner = expected[-1, 0] - 0.01, expected[0, 1] + 0.01
    ratio = hypervolume(measures(found.points), corner) / hypervolume(expected, corner)
    assert 0.97 <= ratio <= 1 + 1e-9


@pytest.mark.parametrize("known", [MEDIUM, TIED], ids=lambda known: known.kind)
def test_finds_points_that_no_weighted_sum_finds(known):
    expected = true_front(known.p, known.labels, known.scale)
    sums = [beta * expected[:, 1] - expected[:, 0] for beta in np.geomspace(1e-4, 1e4, 10_000)]
    on_hull = len({int(each.argmin()) for each in sums})
    found = front(known.p, known.labels, scale=known.scale)
    assert on_hull < len(found.points)


def test_a_table_divided_among_threads_has_the_front_of_the_whole(monkeypatch):
    rng = np.random.default_rng(3)
    p = random_probabilities(rng, 200, 4)
    labels = np.where(rng.random(200) < 0.5, p.argmax(axis=1), rng.integers(4, size=200))
    whole = front(p, labels, scale=12, effort=0.02)
    for name, value in (("_SHARED", 0), ("_FEWEST_CELLS", 1), ("n_cores", lambda: 3)):
        monkeypatch.setattr(landscape, name, value)
    assert landscape.Passes(Problem.of(p, labels), levels_of(12)).whole is None
    divided = front(p, labels, scale=12, effort=0.02)
    assert indices_of(divided) == indices_of(whole)
    assert_sound(divided, p, labels)


def test_a_weight_of_two_counts_like_two_rows():
    p, labels = MEDIUM.p[:60], MEDIUM.labels[:60]
    weight = np.random.default_rng(4).integers(1, 3, 60)
    weighted = front(p, labels, scale=9, effort=0.05, sample_weight=weight)
    repeated = front(np.repeat(p, weight, axis=0), np.repeat(labels, weight), scale=9, effort=0.05)
    np.testing.assert_array_equal(measures(weighted.points), measures(repeated.points))
    thirds = front(p, labels, scale=9, effort=0.05, sample_weight=weight / 3)
    np.testing.assert_allclose(measures(thirds.points), measures(weighted.points), atol=1e-6)


def test_classes_without_examples_stay_where_the_default_optimum_has_them():
    p = random_probabilities(np.random.default_rng(5), 80, 4)
    labels = np.random.default_rng(6).integers(3, size=80)
    with pytest.warns(DNIPWarning, match="no labelled example of class 3"):
        found = front(p, labels, scale=9)
    assert found.unfitted == (3,)
    held = found.optimum.weight_indices[3]
    assert {int(point.weight_indices[3]) for point in found.points} == {held}
    assert_sound(found, p, labels)


def test_rows_that_are_all_alike_leave_nothing_to_trade():
    p = np.tile([0.5, 0.3, 0.2], (30, 1))
    found = front(p, np.arange(30) % 3)
    assert len(found.points) == 1
    assert found.points[0].accuracy == pytest.approx(1 / 3)


def interrupt(*_told):
    raise KeyboardInterrupt


@cases(
    ({"time_limit": 0}, Status.TIME_LIMIT),
    ({"progress": interrupt}, Status.INTERRUPTED),
    ({"scale": "log:9", "effort": 0.15}, Status.FINISHED),
)
def test_a_search_that_ends_early_keeps_the_front_so_far(settings, status):
    found = front(MEDIUM.p, MEDIUM.labels, **settings)
    assert found.status is status
    assert_sound(found, MEDIUM.p, MEDIUM.labels)


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
    assert found.to_dict()["test_rows"] == 90
    for place, point in enumerate(found.front.points):
        coefficients = found.coefficients(Rule.of(place + 1))
        again = Coefficients.from_json(coefficients.to_json())
        assert again.weight_indices.tolist() == point.weight_indices.tolist()
        for rows, counts in ((opt, point.confusion), (test, found.test.points[place])):
            expected = oracles.confusion_at(rows.probabilities, rows.labels, point.weight_indices)
            np.testing.assert_array_equal(counts, expected)
            predictions = oracles.predict(rows.probabilities, again.multipliers)
            assert (predictions == rows.labels).sum() == np.trace(counts)
    raw = oracles.confusion_at(test.probabilities, test.labels, [1, 1, 1])
    np.testing.assert_array_equal(found.test.beside[0], raw)


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
    assert indices_of(one.front) == indices_of(other.front)
    assert other.provenance["data"]["rows"] == 92


@cases(
    (table(), table(), "hold the same rows"),
    (table(labels=None), None, "t0.csv: no row has a label"),
    (table(), table(seed=1, labels=None), "t1.csv: no row has a label"),
    (table(), table(seed=1, labels=np.ones(90, int)), "t1.csv: only class 1 has labelled rows"),
)
def test_tables_that_do_not_go_together_are_refused(opt, test, told):
    with pytest.raises(InvalidInputError) as refused:
        trace_front(opt, test)
    assert told in str(refused.value)


def test_the_time_limit_holds_for_the_front_and_the_folds_together(monkeypatch):
    limits = []

    def noted(*given, time_limit, **settings):
        limits.append(time_limit)
        return front(*given, time_limit=time_limit, **settings)

    for module in ("trade_off", "cross_fits"):
        monkeypatch.setattr(f"dnip.fitting.pareto.{module}.front", noted)
    assert trace_front(table(), scale=8, time_limit=2.0).cross is not None
    assert limits[0] == 1.0
    assert 1.0 <= sum(limits[1:]) < 2.0  # what the front has left
