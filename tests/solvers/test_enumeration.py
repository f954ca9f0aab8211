"""Solvers against trying all weights, on both scales; and on real tables of many ties."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracles
from dnip import Constraints, InvalidInputError, Objective, ProbabilityTable, solve
from dnip.method.scales import WeightScale
from dnip.solvers import Anneal, Coordinate
from reproduction.methods import AuthorsAnneal
from strategies import KINDS, SEEDS, random_probabilities, random_problem, seeded

SCALES = {2: 12, 3: 6, 4: 4}

sklearn_metrics = pytest.importorskip("sklearn.metrics")
METRICS = {
    "balanced-accuracy": sklearn_metrics.balanced_accuracy_score,
    "macro-f1": partial(sklearn_metrics.f1_score, average="macro", zero_division=0),
}


@pytest.mark.parametrize(("name", "gap"), [("{}", "single"), ("log:{}", "pairwise")])
@settings(seeded, max_examples=15)
@given(seed=SEEDS, n_classes=st.sampled_from([2, 3, 4]), kind=st.sampled_from(KINDS))
def test_solvers_equal_enumeration(name, gap, seed, n_classes, kind):
    p, labels = random_problem(seed, n_classes, kind)
    scale = name.format(SCALES[n_classes])
    levels = WeightScale.of(scale).levels
    optimum = oracles.optimum(p, labels, levels, partial(oracles.objective, gap=gap))
    for solver in ("exact", "coordinate"):
        solution = solve(p, labels, Objective(gap=gap), scale=scale, solver=solver)
        assert solution.value == pytest.approx(optimum, abs=1e-9)
        weights = WeightScale.of(scale).weights(solution.weight_indices)
        assert solution.weights.tolist() == weights.tolist()
        counted = oracles.confusion_at(p, labels, solution.multipliers)
        np.testing.assert_array_equal(solution.confusion, counted)


@pytest.mark.parametrize("name", METRICS)
@settings(seeded, max_examples=8)
@given(seed=SEEDS, n_classes=st.sampled_from([2, 3, 4]), kind=st.sampled_from(KINDS))
def test_metrics_by_name_equal_the_best_of_all_weights(name, seed, n_classes, kind):
    """As scikit-learn has them; only `exact` has no bound of macro-F1, and says so."""
    p, labels = random_problem(seed, n_classes, kind)
    scale = SCALES[n_classes]
    free = Constraints(allow_silence=True)
    points = oracles.every_point(n_classes, scale)
    predictions = np.unique([oracles.predict(p, indices) for indices in points], axis=0)
    best = max(METRICS[name](labels, predicted) for predicted in predictions)
    for solver in ("coordinate", "exact"):
        if (name, solver) == ("macro-f1", "exact"):
            with pytest.raises(InvalidInputError, match=r"no bound for .*macro-f1.*Use coordinate"):
                solve(p, labels, name, scale=scale, solver=solver)
            continue
        solution = solve(p, labels, name, scale=scale, solver=solver, constraints=free)
        predicted = oracles.predict(p, solution.weight_indices)
        assert 1 - solution.value == pytest.approx(best, abs=1e-9)
        assert METRICS[name](labels, predicted) == pytest.approx(best, abs=1e-9)


def test_many_skewed_classes_come_to_the_same_with_every_seed():
    # Weights far apart on the geometric scale: a class at its top must still be able to rise.
    rng = np.random.default_rng(0)
    labels = rng.integers(14, size=2000)
    p = rng.dirichlet(np.full(14, 0.3), 2000) + 0.6 * np.eye(14)[labels] * rng.random((2000, 1))
    p *= np.exp(0.7 * rng.normal(size=14))
    p /= p.sum(axis=1, keepdims=True)
    values = [solve(p, labels, seed=seed).value for seed in range(3)]
    assert max(values) - min(values) < 0.005


def test_effort_is_the_work_done():
    rng = np.random.default_rng(0)
    p, labels = random_probabilities(rng, 100, 5), rng.integers(5, size=100)
    little, much = (solve(p, labels, solver=Coordinate(effort=effort)) for effort in (0.1, 1.0))
    assert little.evaluations < much.evaluations / 5
    assert much.value <= little.value


# --- real tables ---
@pytest.fixture(params=["emotion4__qwen-7b__task_icl1", "sst2__unnamed-llm"])
def opt_set(request, shared_tables):
    return ProbabilityTable.read(shared_tables / request.param / "opt.csv.gz")


@pytest.mark.parametrize("smoothing", [1.0, 4000.0])
def test_coordinate_is_no_worse_than_the_published_annealings(opt_set, smoothing):
    p, labels = opt_set.probabilities, opt_set.labels
    objective = Objective(tau=0.2, smoothing=smoothing)
    found = solve(p, labels, objective, scale=30)
    for solver, n_seeds in (Anneal(), 1), (AuthorsAnneal(), 5):
        for seed in range(n_seeds):
            annealed = solve(p, labels, objective, scale=30, solver=solver, seed=seed)
            assert found.value <= annealed.value + 1e-12
    confusion = oracles.confusion_at(p, labels, found.weight_indices)
    np.testing.assert_array_equal(found.confusion, confusion)
    z = oracles.objective(confusion, tau=0.2, mu=smoothing)
    assert found.value == pytest.approx(z, abs=1e-12)


@pytest.mark.parametrize("smoothing", [1.0, 4000.0])
@pytest.mark.parametrize("beta", [0.0, 2.7, 10.0])
def test_exact_proves_what_coordinate_finds(shared_tables, beta, smoothing):
    table = ProbabilityTable.read(shared_tables / "mmlu16__llama-13b__gptprompt0" / "opt.csv.gz")
    p, labels = table.probabilities, table.labels
    objective = Objective(beta=beta, tau=0.2, smoothing=smoothing)
    proven = solve(p, labels, objective, solver="exact")
    assert (proven.status, proven.gap) == ("optimal", 0.0)
    assert proven.value == pytest.approx(solve(p, labels, objective).value, abs=1e-9)
