"""Rows: the same counts and solutions in every layout."""

import tracemalloc

import numpy as np
import pytest
from dnip.solvers.kernels.rows import Rows
from hypothesis import given, strategies as st

import oracles
from cases import cases
from dnip import solve
from dnip.solvers import Coordinate
from dnip.solvers.landscape import _levels_of
from layouts import each_layout, lay_out_as, take_layout, walk, weights_of
from strategies import KINDS, TINY, random_probabilities, seeded, tables


@each_layout
@pytest.mark.parametrize("kind", KINDS)
@cases((np.float64, True, "{}"), (np.float32, False, "log:{}"))
def test_walking_over_flips_equals_recounting(layout, kind, dtype, weighted, name):
    rng = np.random.default_rng(0)
    for n_classes, size in ((2, 30), (3, 9), (12, 7), (40, 5)):
        scale = name.format(size)
        p = random_probabilities(rng, 90, n_classes, kind).astype(dtype)
        p = p[p.max(axis=1) > 0]  # float32 has no room for the tiniest
        labels = rng.integers(n_classes, size=len(p))
        mass = rng.integers(0, 4, len(p)) if weighted else np.broadcast_to(np.int64(1), len(p))
        found = lay_out_as(layout, p, labels, mass, scale)
        here = rng.integers(1, size + 1, n_classes).astype(np.float64)
        confusion = found.count(here)
        predicted = confusion.sum(axis=0)
        for _ in range(60):
            recount = oracles.confusion_at(p, labels, weights_of(scale, here), mass)
            np.testing.assert_array_equal(confusion, recount)
            np.testing.assert_array_equal(predicted, recount.sum(axis=0))
            c, index = int(rng.integers(n_classes)), int(rng.integers(1, size + 1))
            walk(found.find_flips(here, c), here[c], index, confusion, predicted)
            here[c] = index


@seeded
@given(table=tables(max_rows=6, max_classes=4), scale=st.integers(1, 5))
def test_a_settled_row_is_predicted_alike_at_every_point(table, scale):
    points = np.array(list(oracles.every_point(table.p.shape[1], scale)))
    for p in table.p:
        predictions = np.unique(oracles.predict(p, points))
        products = scale * np.delete(p, p.argmax())
        if Rows(p[None], np.array([0]), np.array([1]), _levels_of(scale)).n_rows == 0:
            assert len(predictions) == 1
        elif not (products == p.max()).any():  # a product that only ties may win nowhere
            assert len(predictions) > 1


@each_layout
@pytest.mark.parametrize(("weighted", "scale"), [(True, 30), (False, "log:100")])
def test_every_layout_leads_to_the_same_solution(monkeypatch, layout, weighted, scale):
    rng = np.random.default_rng(5)
    single = random_probabilities(rng, 300, 6, "mixed").astype(np.float32)
    single = single[single.max(axis=1) > 1e-3]
    p, n = single.astype(np.float64), len(single)
    labels = np.where(rng.random(n) < 0.6, p.argmax(axis=1), rng.integers(6, size=n))
    settings = {"sample_weight": rng.integers(0, 3, n) if weighted else None, "scale": scale}
    expected = [solve(p, labels, seed=seed, **settings) for seed in range(2)]
    take_layout(monkeypatch, layout)
    for seed in range(2):
        for precision in (p, single):
            found = solve(precision, labels, seed=seed, **settings)
            np.testing.assert_array_equal(found.weight_indices, expected[seed].weight_indices)
            for one, other in zip(found.trace, expected[seed].trace, strict=True):
                assert (one.value, one.evaluations) == (other.value, other.evaluations)


EDGES = {
    "all rows alike": lambda rng: np.tile([0.5, 0.3, 0.2], (60, 1)),
    "every row tied": lambda rng: np.full((60, 3), 1 / 3),
    "one-hot": lambda rng: np.eye(3)[rng.integers(3, size=60)],
    "nearly one-hot": lambda rng: np.where(np.eye(3)[rng.integers(3, size=60)], 1 - 1e-16, 5e-324),
    "tiny": lambda rng: rng.permuted(np.tile([1 - 2e-9, *TINY[-1:], TINY[0]], (60, 1)), axis=1),
}


@each_layout
@pytest.mark.parametrize("scale", [1, 10_000, "log:30"])
@pytest.mark.parametrize("edge", EDGES)
def test_edges_of_the_input(monkeypatch, layout, scale, edge):
    take_layout(monkeypatch, layout)
    rng = np.random.default_rng(7)
    p, labels = EDGES[edge](rng), np.arange(60) % 3
    solution = solve(p, labels, scale=scale)
    weights = weights_of(scale, solution.weight_indices)
    np.testing.assert_array_equal(solution.confusion, oracles.confusion_at(p, labels, weights))
    raw = oracles.objective(oracles.confusion_at(p, labels, [1, 1, 1]))
    assert solution.value <= raw + 1e-12


@cases((100_000, 4, np.float32, "log:1000"), (60_000, 64, np.float64, 30))
def test_a_fit_holds_its_rows_once_more_and_a_little_for_each(n_rows, n_classes, dtype, scale):
    rng = np.random.default_rng(9)
    p = rng.dirichlet(np.ones(n_classes), n_rows).astype(dtype)
    labels = rng.integers(n_classes, size=n_rows)
    tracemalloc.start()
    solve(p, labels, scale=scale, solver=Coordinate(effort=1e-3))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak <= 8 * p.size + 160 * n_rows
