import warnings

import numpy as np
import pytest

import oracles
from dnip import Objective, solve
from dnip.errors import DNIPWarning, InvalidInputError
from dnip.metrics import accuracy, cobias, confusion_matrix
from dnip.robust import solve_robustly
from populations import biased_rows

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


def few(pool, per_class, seed=0):
    rng = np.random.default_rng(seed)
    chosen = [rng.choice(np.flatnonzero(pool.labels == c), per_class, False) for c in range(4)]
    rows = np.concatenate(chosen)
    return pool.probabilities[rows], pool.labels[rows]


def test_off_is_the_plain_optimum(pool):
    p, labels = few(pool, 10)
    found = solve_robustly(p, labels, robust="off", unlabelled=pool.probabilities)
    np.testing.assert_array_equal(found.solution.weight_indices, solve(p, labels).weight_indices)
    assert found.decision is None


def test_auto_is_the_plain_optimum_of_many_labels(pool):
    p, labels = np.tile(pool.probabilities, (3, 1)), np.tile(pool.labels, 3)
    found, plain = solve_robustly(p, labels), solve(p, labels)
    assert found.decision.route == "optimum"
    np.testing.assert_array_equal(found.solution.weight_indices, plain.weight_indices)
    assert found.solution.value == plain.value


def test_on_blends_at_any_number_of_labels(pool):
    found = solve_robustly(pool.probabilities, pool.labels, robust="on")
    assert found.decision.route == "blend"
    assert 0 < found.decision.trust.min() <= found.decision.trust.max() < 1


@pytest.mark.parametrize("per_class", [3, 25])
def test_few_labels_give_better_scores_than_their_optimum(pool, test_rows, per_class):
    gains = []
    for seed in range(6):
        p, labels = few(pool, per_class, seed)
        blended = solve_robustly(p, labels, unlabelled=pool.probabilities[:1_000], seed=seed)
        plain = solve(p, labels, seed=seed)
        ours, theirs = (scores(test_rows, s.weight_indices) for s in (blended.solution, plain))
        gains.append(np.subtract(ours, theirs))
    accuracy_gain, cobias_gain = np.mean(gains, axis=0)
    assert accuracy_gain > 0
    assert cobias_gain < 0


def test_the_objective_is_that_of_the_weights_on_the_labels(pool):
    p, labels = few(pool, 10)
    found = solve_robustly(p, labels, unlabelled=pool.probabilities[:500]).solution
    confusion = oracles.confusion_at(p, labels, found.weight_indices)
    np.testing.assert_array_equal(found.confusion, confusion)
    assert found.value == pytest.approx(oracles.objective(confusion), abs=1e-12)
    assert found.objective == Objective().to_dict()
    assert found.lower_bound is None


def test_the_same_seed_gives_the_same_weights(pool):
    p, labels = few(pool, 10)
    first, second = (solve_robustly(p, labels, seed=3).solution.weight_indices for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_the_unit_of_sample_weights_does_not_matter(pool):
    p, labels = few(pool, 10)
    weight = np.random.default_rng(0).integers(1, 5, len(labels)).astype(float)
    light, heavy = (
        solve_robustly(p, labels, sample_weight=factor * weight).solution for factor in (1, 64)
    )
    np.testing.assert_array_equal(light.weight_indices, heavy.weight_indices)
    assert heavy.confusion.sum() == 64 * weight.sum()


def test_a_class_without_labels_stays_in_the_middle_of_the_others(pool):
    p, labels = few(pool, 20)
    seen = labels != 2
    with pytest.warns(DNIPWarning, match="no labelled example of class 2"):
        found = solve_robustly(p[seen], labels[seen], unlabelled=pool.probabilities[:500])
    weights = found.solution.weights
    middle = np.exp(np.log(weights[[0, 1, 3]]).mean())
    assert weights[2] == pytest.approx(middle, abs=1 / 30)
    assert found.solution.unfitted == (2,)


@pytest.mark.parametrize("scale", [1, 300, "log:30", "continuous"])
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


def test_where_one_class_is_nearly_everything_accuracy_is_kept():
    shares = [0.85, 0.05, 0.05, 0.05]
    rng = np.random.default_rng(2)
    pool, tests = (
        biased_rows(rng, 5_000, bias=[1.0, 0, 0, -1.0], shares=shares, noise=1.5) for _ in range(2)
    )
    changes = []
    for start in range(0, 600, 60):
        rows = slice(start, start + 60)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DNIPWarning)
            found = solve_robustly(
                pool.probabilities[rows], pool.labels[rows], unlabelled=pool.probabilities[1_000:]
            )
        changes.append(
            np.subtract(scores(tests, found.solution.weights), scores(tests, np.ones(4)))
        )
    accuracy_change, cobias_change = np.mean(changes, axis=0)
    assert accuracy_change > -0.01
    assert cobias_change < 0


@pytest.mark.parametrize("rows", [np.eye(3)[[0, 1, 2, 0, 1, 2]], np.full((6, 3), 1 / 3)])
def test_rows_that_decide_nothing_are_no_failure(rows):
    found = solve_robustly(rows, [0, 1, 2, 0, 1, 2], unlabelled=rows)
    assert (found.solution.weight_indices >= 1).all()


def test_bad_input_is_refused(pool):
    p, labels = few(pool, 3)
    with pytest.raises(InvalidInputError, match="3 columns, but probabilities has 4"):
        solve_robustly(p, labels, unlabelled=np.full((5, 3), 1 / 3))
    with pytest.raises(InvalidInputError, match=r"unlabelled\[1, 0\]"):
        solve_robustly(p, labels, unlabelled=[[0.25] * 4, [np.nan, 1, 0, 0]])
    with pytest.raises(InvalidInputError, match="robust"):
        solve_robustly(p, labels, robust="maybe")
    with pytest.raises(InvalidInputError, match="at least 2 classes"):
        solve_robustly(p[:3], labels[:3])


def test_the_decision_is_told_in_numbers(pool):
    p, labels = few(pool, 10)
    decision = solve_robustly(p, labels, unlabelled=pool.probabilities[:500]).decision
    assert decision.sentence.startswith("robust: with 10 labels per class the optimum counts ")
    assert "500 unlabelled rows" in decision.sentence
    told = decision.to_dict()
    assert told["labels"] == [10.0] * 4
    assert told["unlabelled_rows"] == 500
    assert 0 < min(told["trust"]) <= max(told["trust"]) < 1


def test_a_time_limit_holds_for_resampled_searches_too(pool):
    p, labels = few(pool, 25)
    found = solve_robustly(p, labels, unlabelled=pool.probabilities, time_limit=0.0)
    assert found.solution.status.value == "time_limit"
    assert found.decision.route == "blend"


def test_tables_of_very_many_classes_are_left_to_the_plain_optimum(pool, monkeypatch):
    p, labels = few(pool, 10)
    assert solve_robustly(p, labels).decision is not None
    monkeypatch.setattr("dnip.robust.smooth._MOST_CELLS", p.size - 1)
    assert solve_robustly(p, labels).decision is None
    assert solve_robustly(p, labels, robust="on").decision is not None
