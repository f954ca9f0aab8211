"""Robust fits hold on other rows and on awkward tables, and keep constraints, on the scale."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import oracles
from cases import cases
from dnip import Constraints, DNIPClassifier, Objective, ProbabilityTable, solve
from dnip.base.errors import DNIPWarning, InfeasibleError
from dnip.fitting.estimate import round_to_scale
from dnip.fitting.fit import fit
from dnip.method.scales import WeightScale
from dnip.metrics import accuracy, cobias, confusion_matrix
from populations import Rows, biased_rows, few, solve_robustly
from strategies import seeded, tables

BIAS = [1.5, 0, 0, -1.5]


@pytest.fixture(scope="module")
def pool():
    return biased_rows(np.random.default_rng(0), 6_000, bias=BIAS, noise=1.3)


@pytest.fixture(scope="module")
def test_rows():
    return biased_rows(np.random.default_rng(1), 6_000, bias=BIAS, noise=1.3)


def scores(rows, weights):
    predicted = (weights * rows.probabilities).argmax(axis=1)
    confusion = confusion_matrix(rows.labels, predicted, rows.probabilities.shape[1])
    return accuracy(confusion), cobias(confusion)


def test_off_is_the_plain_optimum(pool):
    p, labels = few(pool, 10)
    found = solve_robustly(p, labels, robust="off", unlabelled=pool.probabilities)
    np.testing.assert_array_equal(found.solution.weight_indices, solve(p, labels).weight_indices)
    assert found.decision is None


def test_the_objective_is_that_of_the_weights_on_the_labels(pool):
    p, labels = few(pool, 10)
    asked = Objective(beta=2.7)
    found = solve_robustly(p, labels, asked, unlabelled=pool.probabilities[:500]).solution
    confusion = oracles.confusion_at(p, labels, found.weights)
    np.testing.assert_array_equal(found.confusion, confusion)
    assert found.value == pytest.approx(oracles.objective(confusion, beta=2.7), abs=1e-12)
    assert found.objective == asked.to_dict()
    assert found.lower_bound is None


@pytest.mark.parametrize("others", [None, "alike", "moved"])
def test_sample_weights_count_as_repetitions_in_any_order(pool, others):
    p, labels = few(pool, 10)
    rng = np.random.default_rng(0)
    times = rng.integers(0, 4, len(labels))
    rows = rng.permutation(np.repeat(np.arange(len(labels)), times))
    few_others = pool.probabilities[:500]
    unlabelled = {None: None, "alike": few_others, "moved": few_others[:, [1, 0, 3, 2]]}[others]
    weighed = solve_robustly(p, labels, sample_weight=times, unlabelled=unlabelled)
    repeated = solve_robustly(p[rows], labels[rows], unlabelled=unlabelled)
    np.testing.assert_array_equal(weighed.solution.weights, repeated.solution.weights)
    np.testing.assert_array_equal(weighed.solution.confusion, repeated.solution.confusion)
    drifts = [one.decision.drift for one in (weighed, repeated)]
    assert all((drift is not None) == (others == "moved") for drift in drifts)


def test_refits_know_rows_that_count_for_nothing_where_the_others_lie_elsewhere(pool):
    p, labels = few(pool, 20)
    weight = np.arange(len(labels)) % 4
    made = DNIPClassifier(defer=0.2).fit(p, labels, weight, unlabelled=p[:, [1, 0, 3, 2]])
    assert made.decision_.drift is not None
    assert made.evidence_.n_refits == 3 * 5


def test_a_class_without_labels_stays_in_the_middle_of_the_others(pool):
    p, labels = few(pool, 20)
    seen = labels != 2
    with pytest.warns(DNIPWarning, match="no labelled example of class 2"):
        found = solve_robustly(p[seen], labels[seen], unlabelled=pool.probabilities[:500])
    weights = found.solution.weights
    middle = np.exp(np.log(weights[[0, 1, 3]]).mean())
    assert weights[2] == pytest.approx(middle, abs=1 / 30)
    assert found.solution.unfitted == (2,)


@pytest.mark.parametrize("scale", [1, 300, "log:30"])
def test_weights_lie_on_the_scale(pool, scale):
    p, labels = few(pool, 10)
    found = solve_robustly(p, labels, unlabelled=pool.probabilities[:500], scale=scale).solution
    spread = np.log(found.weights).max() - np.log(found.weights).min()
    assert spread == 0 if scale == 1 else 1.5 < spread < 5


def test_objectives_without_gaps_are_optimised_as_they_are(pool):
    p, labels = few(pool, 10)
    for objective in (Objective(beta=0), Objective(terms=("error",)), lambda c: -accuracy(c)):
        found = solve_robustly(p, labels, objective)
        assert found.decision is None
    for name in ("balanced-accuracy", "macro-f1"):
        assert solve_robustly(p, labels, name).decision is not None


def test_a_time_limit_holds_for_robust_fits_too(pool):
    p, labels = few(pool, 25)
    found = solve_robustly(p, labels, unlabelled=pool.probabilities, time_limit=0.0)
    assert found.solution.status.value == "time_limit"
    assert found.decision is not None


def test_large_tables_are_left_to_the_plain_optimum(pool, monkeypatch):
    p, labels = few(pool, 10)
    monkeypatch.setattr("dnip.fitting.estimate.MOST_CELLS", p.size)
    assert solve_robustly(p, labels).decision is not None
    monkeypatch.setattr("dnip.fitting.estimate.MOST_CELLS", p.size - 1)
    assert solve_robustly(p, labels).decision is None
    assert solve_robustly(p, labels, robust="on").decision is not None


def test_of_many_classes_some_rows_make_the_smooth_estimate(pool, monkeypatch):
    p, labels = few(pool, 60)
    whole = solve_robustly(p, labels).solution
    monkeypatch.setattr("dnip.fitting.estimate._MOST_PRODUCTS", 40 * p.shape[1] ** 3)
    part = solve_robustly(p, labels).solution
    assert part.value == pytest.approx(whole.value, abs=0.05)
    assert (part.weight_indices != whole.weight_indices).any()


def test_unlabelled_rows_of_other_texts_are_followed(pool):
    p, labels = few(pool, 25)
    turned = pool.probabilities ** [[0.5]] * [1, 1, 4, 8]
    turned /= turned.sum(axis=1, keepdims=True)
    tests = Rows(turned[3_000:], pool.labels[3_000:], pool.posterior[3_000:])
    followed = solve_robustly(p, labels, unlabelled=turned[:1_000])
    assert followed.decision.drift < 0.01
    assert "differ from the labelled ones beyond chance" in followed.decision.sentence
    gap = scores(tests, followed.solution.weights)[1]
    assert gap < 0.6 * scores(tests, solve_robustly(p, labels).solution.weights)[1]


def test_a_real_table_with_its_test_rows_unlabelled(shared_tables):
    """Half of the gap of two sentiments goes at hardly any price: this is what the fit is for."""
    folder = shared_tables / "sst2__unnamed-llm"
    opt, test = (ProbabilityTable.read(folder / f"{part}.csv.gz") for part in ("opt", "test"))
    found = solve_robustly(opt.probabilities, opt.labels, unlabelled=test.probabilities)
    rows = Rows(test.probabilities, test.labels, test.probabilities)
    reached_accuracy, reached_cobias = scores(rows, found.solution.weights)
    assert reached_cobias <= 0.11
    assert reached_accuracy >= 0.83


def a_column_of_zeros(rng):
    p = rng.dirichlet(np.ones(4), 80)
    p[:, 2] = 0
    return p / p.sum(axis=1, keepdims=True), rng.integers(0, 4, 80)


AWKWARD = {
    "nearly one class": lambda rng: (rng.dirichlet([1] * 3, 200), np.repeat([0, 1], [199, 1])),
    "one label per class": lambda rng: (rng.dirichlet([1] * 5, 5), np.arange(5)),
    "all equal": lambda rng: (np.full((40, 4), 0.25), rng.integers(0, 4, 40)),
    "all certain": lambda rng: (np.eye(3)[[0, 1, 2, 0, 1, 2]], np.array([0, 1, 2, 0, 1, 2])),
    "a column of zeros": a_column_of_zeros,
}


def check(solution, p, labels, mass=None):
    """Weights are positive and at most 1, and no class is silenced that was right on some row."""
    weights = solution.weights
    assert np.isfinite(weights).all()
    assert 0 < weights.min() <= weights.max() <= 1
    reached = oracles.confusion_at(p, labels, weights, mass)
    np.testing.assert_array_equal(solution.confusion, reached)
    raw = oracles.confusion_at(p, labels, np.ones(p.shape[1]), mass)
    assert not oracles.silenced(reached, raw)
    assert np.isfinite(solution.value)


@pytest.mark.parametrize("make", AWKWARD.values(), ids=AWKWARD)
@pytest.mark.parametrize(("robust", "others"), [("auto", None), ("on", "turned"), ("off", None)])
@pytest.mark.filterwarnings("ignore::dnip.DNIPWarning")
def test_every_fit_ends_in_weights(make, robust, others):
    p, labels = make(np.random.default_rng(0))
    table = ProbabilityTable(p, labels)
    unlabelled = ProbabilityTable(np.roll(p, 1, axis=1)) if others else None
    fitted = fit(table, robust=robust, unlabelled=unlabelled, evidence=False)
    check(fitted.solution, p, labels)
    assert fitted.coefficients.predict(p).shape == labels.shape


def test_many_classes_without_labels_and_many_unlabelled_rows():
    rng = np.random.default_rng(0)
    p, labels = rng.dirichlet(np.full(1_000, 0.05), 300), rng.integers(0, 100, 300)
    with pytest.warns(DNIPWarning, match="no labelled example"):
        found = solve_robustly(p, labels, unlabelled=p, time_limit=0.2)
    check(found.solution, p, labels)
    assert set(found.solution.unfitted) == set(range(1_000)) - set(labels)


@settings(seeded, max_examples=20)
@given(
    table=tables(min_rows=2, max_rows=20, max_classes=6),
    scale=st.sampled_from([1, 30, "log:30"]),
    unlabelled=st.booleans(),
)
def test_tables_of_any_kind(table, scale, unlabelled):
    assume(len(np.unique(table.labels[table.mass > 0])) > 1)
    p = table.p / table.p.sum(axis=1, keepdims=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)
        rows = {"sample_weight": table.mass, "unlabelled": p[::-1] if unlabelled else None}
        found = solve_robustly(p, table.labels, robust="on", scale=scale, **rows)
    check(found.solution, p, table.labels, table.mass)


# --- constraints ---
@cases((30, 0, 0.65), (30, 1, 0.0), ("log:30", 0, 0.95), ("log:1000", 3, 1.0))
def test_a_blend_goes_toward_the_constrained_optimum_until_it_keeps_them(pool, scale, seed, way):
    p, labels = few(pool, 15, seed)
    raw = oracles.confusion_at(p, labels, np.ones(4))
    asked = Constraints(0.0, {0: 0.7, 3: 0.5})
    settings = {"unlabelled": pool.probabilities[:500], "scale": scale}
    found = solve_robustly(p, labels, constraints=asked, **settings)
    reached = oracles.confusion_at(p, labels, found.solution.weights)
    assert oracles.keeps(reached, raw, 0.0, {0: 0.7, 3: 0.5})
    np.testing.assert_array_equal(found.solution.confusion, reached)
    assert found.solution.constraints["class_accuracies"]["0"] >= 0.7
    free = solve_robustly(p, labels, **settings)
    goes = not oracles.keeps(free.solution.confusion, raw, 0.0, {0: 0.7, 3: 0.5})
    assert goes == (way > 0) == (f"{way:.0%} of the way" in found.decision.sentence)
    assert found.decision.to_dict()["toward_constraints"] == way
    assert (found.solution.weights != free.solution.weights).any() == goes


@pytest.mark.parametrize("scale", [30, "log:30"])
def test_frozen_classes_keep_their_weight(pool, scale):
    p, labels = few(pool, 15)
    for asked in (Constraints(freeze=[1, 2]), Constraints(0.05, freeze=[1, 2])):
        found = solve_robustly(p, labels, scale=scale, constraints=asked)
        assert found.solution.weights[[1, 2]].tolist() == [1.0, 1.0]
        assert found.solution.weights.max() == 1.0
        assert found.solution.weights[0] < 1


def test_a_frozen_class_may_be_named_by_the_number_of_another(pool):
    p, labels = few(pool, 15)
    words, numbers = (
        fit(p, np.array(names)[labels], constraints=Constraints(freeze=[names[1]]), robust="on")
        for names in (["a", "b", "c", "d"], ["1", "2", "3", "4"])
    )
    assert numbers.weights.tolist() == words.weights.tolist()
    assert 0.1 < words.weights[0] < 1 == words.weights[1]


@pytest.mark.parametrize("robust", ["auto", "on", "off"])
def test_constraints_that_cannot_be_kept_are_refused_in_every_mode(pool, robust):
    p, labels = few(pool, 15)
    asked = Constraints(None, {"all": 0.99})
    with pytest.raises(InfeasibleError, match=r"at least 0\.99 is asked"):
        solve_robustly(p, labels, robust=robust, constraints=asked)


def error(log_rounded, log_weights):
    difference = log_rounded - log_weights
    return ((difference - difference.mean()) ** 2).sum()


@pytest.mark.parametrize("name", [1, 2, 5, 8, "log:6"])
def test_hardly_any_weights_of_the_scale_are_closer(name):
    scale = WeightScale.of(name)
    rng = np.random.default_rng(scale.size)
    for _ in range(20):
        log_weights = rng.uniform(-np.log(scale.size), 0, 3)
        found = round_to_scale(log_weights, scale)
        every = itertools.product(np.log(scale.levels), repeat=3)
        best = min(error(np.array(levels), log_weights) for levels in every)
        assert error(np.log(scale.multipliers(found)), log_weights) <= 1.5 * best + 0.02
