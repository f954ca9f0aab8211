"""Descents end where no class improves by itself; rows leave a rival where the products say so."""

import numpy as np
import pytest
from dnip.solvers.kernels.coordinate import Descent
from dnip.solvers.kernels.values import Values
from hypothesis import given, strategies as st

import oracles
from dnip.solvers.kernels import coordinate
from dnip.solvers.landscape import _levels_of
from layouts import each_layout, lay_out_as, weights_of
from strategies import KINDS, labelled_rows, scales, seeded, tables

SCALE = 6
Z = {"error": 1.0, "cobias": 2.7, "tau": 0.2, "smoothing": 1.0}
ERROR = {"error": 1.0}  # often ties
TERMS = [Z, ERROR, {"f1": 1.0}]


def new_descent(layout, p, labels):
    """A descent that remembers no line yet."""
    rows = lay_out_as(layout, p, labels, np.ones(len(p), np.int64), SCALE)
    values = Values(np.bincount(labels, minlength=p.shape[1]), **Z)
    return Descent(values, rows.levels, rows)


def ends(descent_of, starts):
    """Descend from each start, and yield (start, end, value, searches)."""
    for start in starts:
        descent = descent_of()
        descent.begin(start.astype(np.float64), np.arange(len(start)))
        n_searches = descent.run(10_000)
        yield start, descent.point, descent.value, n_searches


def random_table(kind):
    rng = np.random.default_rng(5)
    return *labelled_rows(rng, 60, 3, kind), rng.integers(1, SCALE + 1, (20, 3))


@each_layout
@pytest.mark.parametrize("remembers", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_ends_where_no_class_improves_by_itself(layout, kind, remembers):
    p, labels, starts = random_table(kind)
    shared = new_descent(layout, p, labels)

    def descent_of():
        return shared if remembers else new_descent(layout, p, labels)

    def z(indices):
        counts = oracles.confusion_at(p, labels, indices)
        return oracles.objective(counts, beta=2.7, tau=0.2, mu=1.0)

    for start, end, reached, _ in ends(descent_of, starts[:8]):
        assert reached == pytest.approx(z(end), abs=1e-12)
        assert reached <= z(start) + 1e-12
        for c in range(3):
            for k in range(1, SCALE + 1):
                there = end.copy()
                there[c] = k
                assert reached <= z(there) + 1e-12


def test_no_line_is_searched_twice():
    p, labels, starts = random_table("random")
    shared = new_descent("dense", p, labels)
    searches = [n for *_, n in ends(lambda: shared, [*starts, *starts])]
    assert sum(searches[:20]) > 0
    assert sum(searches[20:]) == 0
    assert shared.n_lines == sum(searches)


def test_a_full_memory_takes_no_more_lines(monkeypatch):
    p, labels, starts = random_table("random")
    monkeypatch.setattr(coordinate, "EXPECTED_LINES", 8)
    tiny = new_descent("dense", p, labels)
    found = list(ends(lambda: tiny, starts))
    assert tiny.n_lines == 8 < sum(n for *_, n in found)


@each_layout
@seeded
@given(table=tables(min_rows=2), scale=scales(12), terms=st.sampled_from(TERMS), data=st.data())
def test_finds_the_best_index(layout, table, scale, terms, data):
    """Search class after class; before each, try all of its indices with the twin."""
    p, labels, mass = table
    labels[:2], mass[:2] = [0, 1], 1  # COBias needs two classes
    size = _levels_of(scale).size
    rows = lay_out_as(layout, p, labels, mass, scale)
    start = st.lists(st.integers(1, size), min_size=p.shape[1], max_size=p.shape[1])
    here = np.array(data.draw(start), np.float64)
    true = rows.count(here).sum(axis=1)
    descent = Descent(Values(true, **terms), rows.levels, rows)
    for c in range(p.shape[1]):
        values = {}
        for k in range(1, size + 1):
            there = here.copy()
            there[c] = k
            counts = oracles.confusion_at(p, labels, weights_of(scale, there), mass)
            values[k] = Values(true, **terms)(counts)
        before, lowest = int(here[c]), min(values.values())
        stays = values[before] == lowest
        expected = before if stays else min(k for k in values if values[k] == lowest)

        descent.begin(here, np.array([c]))
        assert descent.run(1) == 1
        here = descent.point.copy()
        assert (int(here[c]), descent.value) == (expected, lowest)
        recount = oracles.confusion_at(p, labels, weights_of(scale, here), mass)
        np.testing.assert_array_equal(descent.confusion, recount)
        np.testing.assert_array_equal(descent.predicted, recount.sum(axis=0))
