"""Tables that no fit can do much with are fitted all the same, to weights that make sense."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import oracles
from dnip import ProbabilityTable
from dnip.base.errors import DNIPWarning
from dnip.fitting.fit import fit_table
from robustly import solve_robustly
from strategies import KINDS, random_probabilities, seeded, tables


def one_class_is_nearly_all(rng):
    return rng.dirichlet(np.ones(3), 200), np.repeat([0, 1], [199, 1])


def one_label_per_class(rng):
    return rng.dirichlet(np.ones(5), 5), np.arange(5)


def most_classes_without_labels(rng):
    return rng.dirichlet(np.full(1_000, 0.05), 300), rng.integers(0, 100, 300)


def all_equal(rng):
    return np.full((40, 4), 0.25), rng.integers(0, 4, 40)


def a_column_of_zeros(rng):
    p = rng.dirichlet(np.ones(4), 80)
    p[:, 2] = 0
    return p / p.sum(axis=1, keepdims=True), rng.integers(0, 4, 80)


AWKWARD = [
    one_class_is_nearly_all,
    one_label_per_class,
    most_classes_without_labels,
    all_equal,
    a_column_of_zeros,
]
SMALL = [make for make in AWKWARD if make is not most_classes_without_labels]

each_table = pytest.mark.parametrize("make", AWKWARD, ids=lambda make: make.__name__)
each_small_table = pytest.mark.parametrize("make", SMALL, ids=lambda make: make.__name__)


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


@each_small_table
@pytest.mark.parametrize("robust", ["auto", "on", "off"])
@pytest.mark.filterwarnings("ignore::dnip.DNIPWarning")
def test_every_fit_ends_in_weights(make, robust):
    p, labels = make(np.random.default_rng(0))
    check(solve_robustly(p, labels, robust=robust).solution, p, labels)


@each_small_table
@pytest.mark.filterwarnings("ignore::dnip.DNIPWarning")
def test_with_unlabelled_rows_too(make):
    p, labels = make(np.random.default_rng(0))
    check(solve_robustly(p, labels, unlabelled=p).solution, p, labels)
    turned = np.roll(p, 1, axis=1)
    check(solve_robustly(p, labels, unlabelled=turned).solution, p, labels)


@each_table
@pytest.mark.filterwarnings("ignore::dnip.DNIPWarning")
def test_a_table_is_fitted_and_told(make):
    p, labels = make(np.random.default_rng(0))
    classes = [f"class {c}" for c in range(p.shape[1])]
    fit = fit_table(ProbabilityTable(p, labels, classes=classes), time_limit=0.2)
    check(fit.solution, p, labels)
    assert fit.coefficients.predict(p).shape == labels.shape


def test_many_classes_without_labels_and_many_unlabelled_rows():
    p, labels = most_classes_without_labels(np.random.default_rng(0))
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
        found = solve_robustly(
            p,
            table.labels,
            robust="on",
            scale=scale,
            sample_weight=table.mass,
            unlabelled=p[::-1] if unlabelled else None,
        )
    check(found.solution, p, table.labels, table.mass)


@settings(seeded, max_examples=20)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(KINDS), drawn=st.integers(2, 6))
def test_few_labels_of_any_kind(seed, kind, drawn):
    rng = np.random.default_rng(seed)
    p = random_probabilities(rng, 60, 4, kind)
    labels = np.append([0, 1], rng.integers(0, 4, drawn))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DNIPWarning)
        found = solve_robustly(p[: len(labels)], labels, unlabelled=p)
    check(found.solution, p[: len(labels)], labels)
