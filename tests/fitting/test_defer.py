"""Deferring: the best split, the share, exact bounds, and what is told of other rows."""

import itertools

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, InvalidInputError, ProbabilityTable, fit
from dnip.fitting.deferring import (
    FRONT,
    SURE,
    Decided,
    Helper,
    _exchange,
    _is_right_enough,
    _threshold_of,
    assess,
    learn,
)
from dnip.method.coefficients import NEVER
from dnip.metrics import cobias
from dnip.metrics.intervals import Expectation
from dnip.solvers.search import PAPER
from populations import biased_rows

HELPERS = [Helper(0.9, 2.7), Helper(1.0, 2.7), Helper(0.8, 0.0), Helper(None, 2.7)]


def random_rows(seed, n_rows, n_classes, right=0.6):
    rng = np.random.default_rng(seed)
    chosen = rng.integers(n_classes, size=n_rows)
    labels = np.where(rng.random(n_rows) < right, chosen, rng.integers(n_classes, size=n_rows))
    labels[:n_classes] = np.arange(n_classes)
    return Decided(chosen, (rng.permutation(n_rows) + 0.5) / n_rows, np.ones(n_rows), labels)


def system(rows, deferred, n_classes, helper):
    """Share, accuracy, class accuracies and error + β·COBias, counted row by row."""
    right, counted = np.zeros(n_classes), np.zeros(n_classes)
    for chosen, label, away in zip(rows.chosen, rows.labels, deferred, strict=True):
        if away and helper.accuracy is None:
            continue
        counted[label] += 1
        right[label] += helper.accuracy if away else chosen == label
    rates = right / np.maximum(counted, 1e-9)
    gaps = [abs(a - b) for a, b in itertools.combinations(rates, 2)]
    accuracy = right.sum() / counted.sum()
    return np.mean(deferred), accuracy, rates, 1 - accuracy + helper.beta * np.mean(gaps)


def best_split(rows, n_classes, n_handed, helper):
    """The least value over all numbers of least sure rows of each class."""
    order = np.argsort(rows.sureness)
    by_class = [order[rows.chosen[order] == c] for c in range(n_classes)]
    best = np.inf
    for numbers in itertools.product(*(range(len(own) + 1) for own in by_class)):
        if sum(numbers) == n_handed:
            deferred = np.zeros(len(order), bool)
            for own, number in zip(by_class, numbers, strict=True):
                deferred[own[:number]] = True
            best = min(best, system(rows, deferred, n_classes, helper)[-1])
    return best


@pytest.mark.parametrize("helper", HELPERS, ids=["90", "100", "80, error", "none"])
def test_the_search_comes_near_the_best_of_all_splits(helper):
    above, one_above = [], []
    for seed in range(6):
        n_classes = 2 + seed % 3
        rows = random_rows(seed, 30, n_classes)
        best = best_split(rows, n_classes, 10, helper)
        one = np.full(n_classes, np.sort(rows.sureness)[10])
        found = _exchange(rows, n_classes, 10 / 30, helper)
        assert abs(rows.below(found).sum() - 10) <= 1
        above.append(system(rows, rows.below(found), n_classes, helper)[-1] - best)
        one_above.append(system(rows, rows.below(one), n_classes, helper)[-1] - best)
    assert np.mean(above) < 0.2 * np.mean(one_above)


class TestShare:
    @pytest.mark.parametrize("share", [0.05, 0.3, 0.77])
    def test_it_is_that_of_weighted_rows(self, share):
        rows = random_rows(0, 2_000, 5)
        rows = rows._replace(weight=1.0 + rows.labels)
        for thresholds in learn(rows, 5, share, HELPERS[0]):
            deferred = np.average(rows.below(thresholds), weights=rows.weight)
            assert deferred == pytest.approx(share, abs=0.003)

    def test_rows_that_tie_go_together(self):
        rows = random_rows(0, 400, 2)
        rows = rows._replace(sureness=np.ceil(rows.sureness * 4) / 4)  # 100 rows of each value
        for thresholds in learn(rows, 2, 0.3, HELPERS[0]):
            for c in range(2):
                own = np.sort(rows.sureness[rows.chosen == c])
                assert not (own == thresholds[c]).any()
        one, _ = learn(rows, 2, 0.3, HELPERS[0])
        assert rows.below(one).sum() == 100

    def test_a_class_that_is_never_predicted_hands_nothing_on(self):
        rows = random_rows(0, 300, 3)._replace(chosen=np.repeat([0, 2], 150))
        for thresholds in learn(rows, 3, 0.3, HELPERS[0]):
            assert thresholds[1] == 0
            assert (thresholds[[0, 2]] > 0).all()


def test_few_rows_stay_near_one_threshold():
    def apart(n_rows):
        one, each = learn(random_rows(1, n_rows, 2), 2, 0.3, HELPERS[0])
        return np.abs(each - one).max()

    rows = random_rows(1, 20, 2)
    way = _exchange(rows, 2, 0.3, HELPERS[0])
    assert apart(20) < 0.2 * np.abs(way - learn(rows, 2, 0.3, HELPERS[0])[0]).max()


@pytest.mark.parametrize("helper", HELPERS[::3], ids=["90", "none"])
def test_what_is_judged_is_counted_on_rows_that_were_left_out(helper):
    rows = random_rows(2, 500, 3)
    fold = np.arange(500) % 5
    folds = [(fold == k, rows) for k in range(5)]
    sizes = np.bincount(rows.labels)
    nothing, some = assess(folds, [0.0, 0.3], helper, sizes / 500, Expectation(np.diag(sizes)))
    for way, served in enumerate((some.common, some.by_class)):
        deferred = np.zeros(500, bool)
        for left_out, _ in folds:
            thresholds = learn(rows.of(~left_out), 3, 0.3, helper)[way]
            deferred[left_out] = rows.of(left_out).below(thresholds)
        share, accuracy, rates, _ = system(rows, deferred, 3, helper)
        assert (served.share, served.accuracy) == pytest.approx((share, accuracy))
        told = served.to_dict(0.9)
        low, high = told["intervals"]["worst_class_accuracy"]
        assert low < rates.min() < high
    assert nothing.common.share == 0
    assert nothing.common.accuracy == pytest.approx(np.mean(rows.chosen == rows.labels))


def population(n_rows, seed):
    """Classes of which one is much noisier than its probabilities say."""
    made = biased_rows(np.random.default_rng(seed), n_rows, bias=(1.0, 0.0, -0.5))
    rng, p = np.random.default_rng(seed + 1), made.probabilities
    labels = np.where(rng.random(n_rows) < 0.3 * (made.labels == 2), 0, made.labels)
    return p, labels


@pytest.fixture(scope="module")
def fitted():
    return fit(*population(3_000, 0), defer=0.3, helper_accuracy=0.95, evidence=True)


def test_what_is_told_is_true_of_other_rows(fitted):
    p, labels = population(60_000, 10)
    coefficients, helper = fitted.coefficients, Helper(0.95, 2.7)
    assert coefficients.defer.share == 0.3
    rows = Decided(np.argmax(coefficients.apply(p), axis=1), *[np.ones(len(p))] * 2, labels)
    share, accuracy, rates, _ = system(rows, coefficients.deferred(p), 3, helper)
    assert [point.asked for point in fitted.deferring] == list(FRONT)
    told = fitted.deferring[FRONT.index(0.3)]
    assert told.by_class.share == pytest.approx(share, abs=0.02)
    assert told.by_class.accuracy == pytest.approx(accuracy, abs=0.02)
    intervals = told.by_class.to_dict(0.99)["intervals"]
    low, high = intervals["worst_class_accuracy"]
    assert low <= rates.min() <= high
    gaps = np.mean([abs(a - b) for a, b in itertools.combinations(rates, 2)])
    low, high = intervals["cobias"]
    assert low <= gaps <= high
    confusion = np.zeros((3, 3))
    np.add.at(confusion, (labels, rows.chosen), 1)
    assert told.by_class.gaps.cobias < told.common.gaps.cobias
    assert cobias(confusion) == pytest.approx(fitted.deferring[0].common.gaps.cobias, abs=0.02)


@cases(
    {"robust": "off"},
    {"objective": PAPER.objective, "scale": 30, "solver": PAPER.solver, "robust": "off"},
    {"target_prior": [0.6, 0.3, 0.1]},
    {"helper_accuracy": None},
    {"evidence": False},
    {"classes": ["a", "b", "c"]},
)
def test_any_fit_may_hand_rows_on(settings):
    p, labels = population(600, 3)
    made = fit(p, labels, defer=0.2, **settings)
    plain = fit(p, labels, **{k: v for k, v in settings.items() if k != "helper_accuracy"})
    assert made.coefficients.weights.tolist() == plain.coefficients.weights.tolist()
    weight = np.ones(len(labels))
    if "target_prior" in settings:
        weight = (np.array(settings["target_prior"]) / np.bincount(labels))[labels]
    deferred = made.coefficients.deferred(p)
    assert np.average(deferred, weights=weight) == pytest.approx(0.2, abs=0.01)
    assert made.coefficients.defer.helper_accuracy == settings.get("helper_accuracy", 0.9)
    assert bool(made.deferring) == settings.get("evidence", True)
    assert made.unweighted().defer is None
    read = Coefficients.from_json(made.coefficients.to_json())
    np.testing.assert_array_equal(read.deferred(p), deferred)


def test_a_sample_of_a_large_table_is_learned_from(folder):
    p, labels = population(3_000, 4)
    ProbabilityTable(p, labels).write("t.parquet")
    made = fit(folder / "t.parquet", defer=0.3, rows=1_000, evidence=False)
    assert made.coefficients.deferred(p).mean() == pytest.approx(0.3, abs=0.04)


def test_what_the_rows_cannot_give_is_noted():
    p = np.repeat([[0.9, 0.05, 0.05], [0.6, 0.35, 0.05]], 20, axis=0)
    labels = np.tile([0, 0, 0, 1, 2], 8)
    made = fit(p, labels, defer=0.1, evidence=False, robust="off", scale=1)
    notes = " ".join(made.notes)
    assert "Never predicted, so no row of it is deferred: class 1, 2." in notes
    assert "0.0% are deferred, not 10.0%" in notes
    with pytest.raises(InvalidInputError, match="between 0 and 1, and neither; got 1"):
        fit(p, labels, defer=1)


@pytest.mark.parametrize(("right", "rows", "rate"), [(59, 59, 0.95), (20, 22, 0.8), (45, 60, 0.7)])
def test_the_bound_is_that_of_scipy(right, rows, rate):
    binomtest = pytest.importorskip("scipy.stats").binomtest
    p_value = binomtest(right, rows, rate, alternative="greater").pvalue
    assert _is_right_enough(right, rows, rate) == (p_value <= 1 - SURE)


def test_rows_at_the_border_of_a_rate_are_rarely_served():
    wrong = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        served = _threshold_of(rng.random(200), rng.random(200) < 0.8 - 0.01, 0.8)
        wrong += served != NEVER
    assert wrong / 400 <= 1 - SURE + 0.02


def test_what_is_served_is_right_often_enough_on_other_rows():
    met = []
    for seed in range(12):
        rows = biased_rows(np.random.default_rng(seed), 6_000, bias=[1.5, 0.0, -1.5])
        p, y = rows.probabilities, rows.labels
        found = fit(p[:1_000], y[:1_000], defer_below=0.8).coefficients
        kept, chosen = ~found.deferred(p), found.predict(p).astype(int)
        for c in range(3):
            there = (kept & (chosen == c))[1_000:]
            met += [(y[1_000:][there] == c).mean() >= 0.8] if there.any() else []
    assert len(met) > 20
    assert np.mean(met) >= 0.9


@cases(
    ({"defer_below": 1.0}, "defer_below must be .* below 1"),
    ({"defer_below": 0.0}, "defer_below must be"),
    ({"defer_below": 0.9, "defer": 0.2}, "goes with neither"),
    ({"defer_below": 0.9, "target_prior": "uniform"}, "goes with neither"),
    ({"defer_below": 0.9, "evidence": False}, "there are none"),
)
def test_what_cannot_be_learned_is_refused(settings, message):
    rows = biased_rows(np.random.default_rng(0), 60, bias=[1.0, 0.0])
    with pytest.raises(InvalidInputError, match=message):
        fit(rows.probabilities, rows.labels, **settings)
