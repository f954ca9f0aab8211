"""The default search: at the proven optimum, alike for p and p^k, and for rows of many classes."""

import numpy as np
import pytest

from dnip import Constraints, Objective, solve
from dnip.method.problem import Problem
from dnip.solvers import coordinate, find_optimum, settings_of


def silent_class(seed, n_rows=60):
    """Rows of three classes, one of which is far below the others."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(3, size=n_rows)
    scores = rng.normal(size=(n_rows, 3)) + 1.5 * np.eye(3)[labels] + [0, -1, -5]
    p = np.exp(scores)
    return p / p.sum(axis=1, keepdims=True), labels


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("beta", [0.5, 2.7])
def test_ends_at_the_proven_optimum_of_the_default_scale(seed, beta):
    p, labels = silent_class(seed, 24)
    proof = solve(p, labels, Objective(beta), solver="exact", time_limit=20)
    assert str(proof.scale).startswith("span:")
    found = [solve(p, labels, Objective(beta), seed=k).value for k in range(3)]
    assert proof.lower_bound - 1e-9 <= min(found)
    if proof.status == "optimal":
        assert max(found) <= proof.value + 1e-9


@pytest.mark.parametrize("solver", ["coordinate", "exact"])
@pytest.mark.parametrize("k", [0.25, 3, 10, 25])
def test_p_and_p_to_the_k_are_one_problem(k, solver):
    for seed in range(4):
        p, labels = silent_class(seed, 24)
        q = p**k / (p**k).sum(axis=1, keepdims=True)
        one, other = (solve(x, labels, solver=solver) for x in (p, q))
        assert other.scale.span == pytest.approx(k * one.scale.span, rel=1e-9)
        np.testing.assert_array_equal(one.confusion, other.confusion)


@pytest.mark.parametrize("tau", [0.0, 0.2])
def test_rows_of_several_classes_are_searched_as_rows_of_one_class_each(tau):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        p, labels = silent_class(seed, 80)
        weights = rng.dirichlet(np.full(3, 0.5), 80) + np.eye(3)[labels]
        rows = Problem.shared(p, weights, ["a", "b", "c"])
        settings = settings_of(Objective(tau=tau), scale="log:300")
        found, expected = (find_optimum(x, settings, 0.0) for x in (rows, rows.expanded()))
        np.testing.assert_array_equal(found.weight_indices, expected.weight_indices)
        np.testing.assert_allclose(found.confusion, expected.confusion, rtol=1e-12)
        assert found.value == pytest.approx(expected.value, abs=1e-12)


@pytest.mark.parametrize("p", [np.full((9, 3), 1 / 3), np.eye(3)[[0, 1, 2] * 3]])
def test_rows_without_any_spread(p):
    labels = np.arange(9) % 3
    found = solve(p, labels)
    assert (found.scale.span, found.scale.size) == (1.02, 10_000)
    hits = (p * found.weights).argmax(axis=1) == labels
    assert found.terms["error"] == pytest.approx(1 - hits.mean())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("objective", [Objective(), Objective(2.7, 0.2)], ids=str)
def test_a_sample_of_many_rows_leads_to_where_all_rows_do(objective, weighted, monkeypatch):
    p, labels = silent_class(0, 4_000)
    weight = np.random.default_rng(0).random(4_000) if weighted else None
    whole = solve(p, labels, objective, sample_weight=weight)
    monkeypatch.setattr(coordinate, "_ROWS_PER_CLASS", 130)
    sampled = solve(p, labels, objective, sample_weight=weight)
    assert sampled.value == pytest.approx(whole.value, abs=2e-3)
    counted = np.diag(whole.confusion) - np.diag(sampled.confusion)
    assert len(sampled.trace) == 2  # the raw argmax, and the end of the descent on all rows
    assert sampled.confusion.sum() == pytest.approx(whole.confusion.sum())
    assert np.abs(counted).max() <= 0.02 * len(labels)


@pytest.mark.parametrize(
    "question",
    [
        {"constraints": Constraints(max_accuracy_loss=0.01)},
        {"objective": lambda confusion: float(-np.diag(confusion).min()), "scale": 12},
    ],
    ids=["constraints", "callable"],
)
def test_where_each_row_may_matter_all_are_searched(question, monkeypatch):
    p, labels = silent_class(0, 1_000)
    whole = solve(p, labels, **question)
    monkeypatch.setattr(coordinate, "_ROWS_PER_CLASS", 10)
    assert solve(p, labels, **question).evaluations == whole.evaluations


def test_a_sample_holds_rare_classes_whole_and_counts_as_all_rows():
    p, labels = silent_class(0, 3_000)
    labels = np.where(np.arange(3_000) < 7, 2, labels % 2)
    weight = np.random.default_rng(0).integers(0, 3, 3_000).astype(float)
    rows = Problem.of(p, labels, sample_weight=weight)
    sample = rows.thinned(50, np.random.default_rng(1))
    rare = np.count_nonzero(weight[:7])
    np.testing.assert_array_equal(np.bincount(sample.labels), [50, 50, rare])
    np.testing.assert_allclose(sample.class_counts * sample.unit, rows.class_counts, rtol=1e-6)
    shared = Problem.shared(p, weight[:, None] * np.eye(3)[labels], ["a", "b", "c"])
    again = shared.thinned(50, np.random.default_rng(1))
    np.testing.assert_array_equal(again.probabilities, sample.probabilities)


def test_of_many_classes_few_rows_are_searched_longer_and_very_many_shorter(monkeypatch):
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet(np.ones(9), 60), rng.integers(9, size=60)
    usual = 400 + 40 * 9

    def lines(most_read):
        monkeypatch.setattr(coordinate, "_MOST_READ", most_read)
        solution = solve(p, y, scale=30, solver=coordinate.Coordinate())
        return solution.evaluations / 30, solution.value

    read = usual * p.size  # by the usual search
    (short, worst), (once, fair), (long, best) = map(lines, (read // 1000, read, 20 * read))
    assert short < usual / 2 < once < 2 * usual < long
    assert best <= fair <= worst
