"""Chance: intervals hold their level, tests equal SciPy's, refits show what to expect."""

import numpy as np
import pytest
from scipy import stats

from cases import cases
from dnip import ProbabilityTable, evaluate, fit
from dnip.metrics import cobias, metric_intervals, scores
from dnip.metrics.chance import (
    _f_tail,
    has_signal,
    hotelling_p_value,
    rates_p_value,
    smirnov_p_value,
)
from dnip.metrics.confusion import cobias_of
from dnip.metrics.intervals import (
    Expectation,
    central,
    cobias_interval,
    difference_intervals,
    draw_accuracies,
    followed_chance,
    paired_bounds,
    refit_spread,
    wilson,
)
from populations import biased_rows


@cases((12, 40, 30, 50), (0, 30, 9, 30), (5, 10, 5, 10), (1, 1000, 9, 800))
def test_two_rates_are_compared_as_scipy_does(hits, n, others, m):
    expected = stats.chi2_contingency([[hits, n - hits], [others, m - others]]).pvalue
    assert rates_p_value(hits / n, n, others / m, m) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_wilson_is_that_of_scipy(level):
    for n in (1, 5, 40, 1000):
        for k in {0, 1, n // 3, n}:
            interval = stats.binomtest(k, n).proportion_ci(level, method="wilson")
            np.testing.assert_allclose(wilson([k], [n], level)[0], interval, atol=1e-12)


def test_nothing_is_known_of_a_class_without_rows():
    assert np.isnan(wilson([0, 1], [0, 2], 0.9)).tolist() == [[True, True], [False, False]]
    assert np.isnan(paired_bounds([0], [0], [0], 0.9)).all()


def test_cobias_single_leaves_out_a_class_whose_odd_class_has_no_rows():
    confusion = np.array([[60, 40, 0], [0, 0, 0], [10, 0, 90]])
    low, high = metric_intervals(confusion)["cobias_single"]
    assert low < scores(confusion)["cobias_single"] < high


def test_without_any_error_intervals_are_still_intervals():
    intervals = metric_intervals(np.diag([5, 5, 5]))
    assert intervals["cobias_single"] == [0, 0]
    for metric in ("accuracy", "macro_f1"):
        low, high = intervals[metric]
        assert 0.5 < low < high == 1
    assert intervals["cobias"][1] > 0.05


def test_classes_without_rows_are_left_out():
    full = difference_intervals(np.array([[[2, 2], [8, 8]], [[3, 4], [2, 8]]]))
    gap = difference_intervals(np.array([[[2, 2], [8, 8]], [[0, 0], [0, 0]], [[3, 4], [2, 8]]]))
    assert gap["class_accuracies"][1] is None
    assert [gap["class_accuracies"][c] for c in (0, 2)] == full["class_accuracies"]
    assert (gap["accuracy"], gap["cobias"]) == (full["accuracy"], full["cobias"])


def drawn(hits, sizes, n=20_000):
    rng = np.random.default_rng(0)
    return draw_accuracies(*(np.asarray(x, float) for x in (hits, sizes)), n, rng)


def test_accuracies_far_apart_are_drawn_as_each_by_itself():
    """The posterior of a class that learns nothing from the others is normal in its angle."""
    hits, sizes = np.array([30.0, 270.0]), np.array([300.0, 300.0])
    angles = np.arcsin(np.sqrt(drawn(hits, sizes)))
    observed = np.arcsin(np.sqrt((hits + 0.375) / (sizes + 0.75)))
    assert angles.mean(axis=0) == pytest.approx(observed, abs=0.003)
    assert angles.std(axis=0) == pytest.approx(1 / np.sqrt(4 * sizes + 2), rel=0.05)
    assert abs(np.corrcoef(angles.T)[0, 1]) < 0.05


def test_gaps_that_chance_explains_are_shrunk():
    hits, sizes = np.array([9.0, 8.0, 7.0, 6.0]), np.full(4, 10.0)
    few, many = cobias_of(drawn(hits, sizes)), cobias_of(drawn(hits * 100, sizes * 100))
    observed = cobias_of(hits / sizes)
    assert few.mean() < 0.85 * observed
    assert many.mean() == pytest.approx(observed, rel=0.01)
    assert np.ptp(central(few, 0.9)) > 5 * np.ptp(central(many, 0.9))


@cases(
    ([5, 5], [5, 5]),
    ([0, 0, 0], [1, 1, 1]),
    ([1, 0], [1, 1]),
    ([7, 7, 7], [10, 10, 10]),
    ([500] * 20, [1000] * 20),
)
def test_equal_and_extreme_accuracies_have_an_interval_too(hits, sizes):
    low, high = cobias_interval(
        np.diag(hits) + np.roll(np.diag(np.subtract(sizes, hits)), 1, 1), 0.9
    )
    assert 0 <= low < high <= 1


def test_a_change_is_after_less_before():
    """Of so many rows that chance does not matter; turned around, the change is the opposite."""
    agreement = np.array([[[0, 300], [0, 700]], [[300, 0], [200, 500]]]) * 1000
    before, after = np.array([0.7, 0.7]), np.array([1.0, 0.5])
    low, high = difference_intervals(agreement)["cobias"]
    assert low < cobias_of(after) - cobias_of(before) < high < low + 0.01
    back = difference_intervals(agreement.transpose(0, 2, 1))["cobias"]
    assert [-back[1], -back[0]] == pytest.approx([low, high], abs=0.002)


@pytest.mark.parametrize("ratio", [0.0, 1e-6, 0.3, 1.0, 4.0, 300.0])
@pytest.mark.parametrize("first", [1, 3, 99])
@pytest.mark.parametrize("second", [2, 30, 2_001])
def test_the_tail_of_f(ratio, first, second):
    expected = stats.f.sf(ratio, first, second)
    assert _f_tail(ratio, first, second) == pytest.approx(expected, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("distance", [0.0, 0.02, 0.05, 0.1, 0.4])
def test_the_p_value_of_kolmogorov_and_smirnov(distance):
    root = np.sqrt(400 * 900 / 1_300)
    expected = stats.kstwobign.sf(distance * (root + 0.12 + 0.11 / root))
    assert smirnov_p_value(distance, 400, 900) == pytest.approx(expected, rel=1e-6)


def test_hotelling_of_one_column_is_the_t_test():
    rows = np.random.default_rng(0).normal(0.1, 1, (80, 1))
    expected = stats.ttest_1samp(rows[:, 0], 0).pvalue
    assert hotelling_p_value(np.zeros(1), 1e15, rows) == pytest.approx(expected)


def test_hotelling_does_not_depend_on_the_basis():
    rng = np.random.default_rng(1)
    rows, mean, mixing = rng.normal(size=(60, 4)), rng.normal(0, 0.2, 4), rng.normal(size=(4, 6))
    plain = hotelling_p_value(mean, 100, rows)
    # six columns, two of which follow from the others
    assert hotelling_p_value(mean @ mixing, 100, rows @ mixing) == pytest.approx(plain)


def test_without_rows_to_spare_hotelling_tells_nothing():
    rows = np.eye(4)[:, :3]
    assert hotelling_p_value(np.ones(3), 100, rows) == 1.0
    assert hotelling_p_value(np.ones(2), 100, np.zeros((50, 2))) == 1.0


TRUE = np.array([0.9, 0.7, 0.6, 0.8])
SIZE = 60


def counts_of(right, size=SIZE):
    """A confusion matrix with so many right rows of each class, errors going to the next class."""
    right = np.asarray(right)
    return np.diag(right) + np.roll(np.diag(size - right), 1, axis=1)


def refits(rng, kappa, n_folds=5):
    """Counts of refits that follow the luck of their own rows by κ: on all rows, and left out.

    The luck of a class is how many of its rows are easy. The true accuracy of a refit falls by κ
    times the luck of the rows that it was fitted on.
    """
    size = SIZE * 100  # luck in fractions of a row
    luck = rng.normal(0, 0.02, (n_folds, len(TRUE)))
    on_all, left_out = [], []
    for fold in range(n_folds):
        true = TRUE - kappa * np.delete(luck, fold, axis=0).mean(axis=0)
        on_all.append(
            counts_of(np.rint(size * n_folds * (true + luck.mean(axis=0))), size * n_folds)
        )
        left_out.append(counts_of(np.rint(size * (true + luck[fold])), size))
    return on_all, left_out


@pytest.mark.parametrize("kappa", [0.0, 0.4, 1.0])
def test_how_far_chance_was_followed_is_found(kappa):
    rng = np.random.default_rng(0)
    found = [followed_chance(*refits(rng, kappa)) for _ in range(20)]
    assert np.mean(found) == pytest.approx(kappa, abs=0.03)


def test_a_class_without_rows_tells_nothing():
    on_all, left_out = refits(np.random.default_rng(0), 0.5)
    added = [[np.pad(counts, (0, 1)) for counts in side] for side in (on_all, left_out)]
    assert followed_chance(*added) == pytest.approx(followed_chance(on_all, left_out))
    assert Expectation(added[1][0]).cobias == Expectation(left_out[0]).cobias


def test_the_spread_of_refits_is_that_of_fits_to_other_labels():
    """A fit moves COBias by the mean of its folds' chance; a refit lacks the chance of one."""
    rng = np.random.default_rng(0)
    spreads = []
    for luck in rng.normal(0, 0.1, (400, 5)):
        gaps = 0.3 + (luck.sum() - luck) / 4
        refitted = [counts_of(np.rint([1e6, 1e6 * (1 - gap)]), 1e6) for gap in gaps]
        spreads.append(refit_spread(refitted) ** 2)
    assert np.sqrt(np.mean(spreads)) == pytest.approx(0.1 / np.sqrt(5), rel=0.1)


def test_a_spread_widens_the_interval_and_keeps_the_mean():
    seen = counts_of([700, 600, 500, 400], 1000)
    sure, unsure = Expectation(seen, 0.5), Expectation(seen, 0.5, spread=0.05)
    assert unsure.cobias == pytest.approx(sure.cobias, abs=0.005)
    variances = [side.drawn["cobias"].var() for side in (sure, unsure)]
    assert variances[1] - variances[0] == pytest.approx(0.05**2, rel=0.25)


def test_equal_rows_do_not_promise_equal_classes():
    even = counts_of([45, 45, 45, 45])
    assert cobias(even) == 0
    side = Expectation(even, 1.0)
    assert 0.04 < side.cobias < 0.09
    assert side.worst_class_accuracy < 0.75 - 0.02
    assert side.cobias > Expectation(even, 0.0).cobias
    assert set(side.to_dict()) == {"cobias", "cobias_single", "worst_class_accuracy"}


# --- whether probabilities tell anything about the class ---
def noise(seed):
    """Draw a table whose probabilities know nothing of the labels, as wide and uneven as it may."""
    rng = np.random.default_rng(seed)
    n_classes, n_rows = int(rng.integers(2, 15)), int(rng.integers(60, 1_000))
    labels = rng.choice(n_classes, n_rows, p=rng.dirichlet(np.full(n_classes, 3.0)))
    z = rng.normal(size=n_classes) + rng.normal(size=(n_rows, n_classes)) * rng.uniform(0.3, 4)
    return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True), labels


def test_noise_is_called_noise():
    found = [has_signal(*noise(seed)) for seed in range(40)]
    assert found.count(False) >= 38  # at the level of 2 %


@pytest.mark.parametrize("bias", [[0.0, 0.0, 0.0], [6.0, 0.0, -3.0]])
def test_a_model_that_nearly_always_answers_the_same_may_have_a_signal(bias):
    rows = [biased_rows(np.random.default_rng(seed), 100, bias=bias) for seed in range(20)]
    assert all(has_signal(each.probabilities, each.labels) for each in rows)


def test_a_model_that_is_worse_than_chance_has_none_to_use():
    y = np.arange(100) % 2
    p = np.where(np.eye(2)[y] > 0, 0.3, 0.7)
    assert has_signal(p[:, ::-1], y)
    assert has_signal(p, y) is False


def test_odd_tables():
    y = np.arange(60) % 3
    one_hot = np.eye(3)[y]
    assert has_signal(one_hot, y)
    assert has_signal(one_hot, np.zeros(60, int)) is None
    assert has_signal(one_hot, np.arange(60) // 41) is None  # 19 rows besides the first class
    assert has_signal(np.full((60, 3), 1 / 3), y) is False
    assert has_signal(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0, 1])) is None


def test_a_fit_and_an_evaluation_say_so():
    table = ProbabilityTable(*noise(1))
    fitted = fit(table)
    assert (fitted.verdict, fitted.evidence.verdict) == ("no signal", "no signal")
    assert "Change the prompt or the model" in fitted.reason
    assert fitted.coefficients.fit.evidence["verdict"] == "no signal"
    assert fit(table, evidence=False).verdict == "no signal"
    assert evaluate(table).to_dict()["signal"] is False


def test_pieces_of_a_table_are_judged_together(tmp_path):
    rows = biased_rows(np.random.default_rng(0), 12_000, bias=[1.0, 0.0])
    table = ProbabilityTable(rows.probabilities, rows.labels)
    assert evaluate([table.take(np.arange(n, n + 30)) for n in range(0, 60, 30)]).signal
    assert evaluate(table).signal
