"""Descents end where no class improves by itself; rows leave a rival where the products say so."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracles
from dnip.solvers.kernels.descent import Setup, begin, descend, new_lines, settle
from dnip.solvers.kernels.flips import count, find_flips
from dnip.solvers.kernels.values import Terms, new_memo, value
from dnip.solvers.landscape import levels_of
from layouts import each_layout, lay_out_as, weights_of
from strategies import KINDS, labelled_rows, scales, seeded, tables

SCALE = 6
LEVELS = levels_of(SCALE)
Z = Terms(error=1.0, cobias=2.7, single=0.0, tau=0.2, smoothing=1.0)
ERROR = Terms(error=1.0, cobias=0.0, single=0.0, tau=0.0, smoothing=1.0)  # often ties


def descents(layout, p, labels, starts, lines_of):
    """Descend from each start, and yield (start, end, value, searches)."""
    mass = np.ones(len(p), np.int64)
    rows, workspace = lay_out_as(layout, p, labels, mass, SCALE)
    memo = new_memo(np.bincount(labels, minlength=p.shape[1]), 1.0)
    order = np.arange(p.shape[1])
    for start in starts:
        here = start.astype(np.float64)
        descent = begin(here, order)
        setup = Setup(rows, LEVELS, workspace, Z, memo, lines_of())
        n_searches = descend(setup, descent, 10_000)
        yield start, here, descent.value[0], n_searches


def random_table(kind):
    rng = np.random.default_rng(5)
    return *labelled_rows(rng, 60, 3, kind), rng.integers(1, SCALE + 1, (20, 3))


@each_layout
@pytest.mark.parametrize("remembers", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_ends_where_no_class_improves_by_itself(layout, kind, remembers):
    p, labels, starts = random_table(kind)
    shared = new_lines(1000)
    lines_of = (lambda: shared) if remembers else (lambda: new_lines(1000))

    def z(indices):
        return oracles.objective(oracles.confusion_at(p, labels, indices), tau=0.2, mu=1.0)

    for start, end, reached, _ in descents(layout, p, labels, starts[:8], lines_of):
        assert reached == pytest.approx(z(end), abs=1e-12)
        assert reached <= z(start) + 1e-12
        for c in range(3):
            for k in range(1, SCALE + 1):
                there = end.copy()
                there[c] = k
                assert reached <= z(there) + 1e-12


def test_no_line_is_searched_twice():
    p, labels, starts = random_table("random")
    shared = new_lines(1000)
    twice = [*starts, *starts]
    searches = [n for *_, n in descents("dense", p, labels, twice, lambda: shared)]
    assert sum(searches[:20]) > 0
    assert sum(searches[20:]) == 0
    assert shared.size[0] == sum(searches)


def test_a_full_memory_takes_no_more_lines():
    p, labels, starts = random_table("random")
    tiny = new_lines(1)
    searches = [n for *_, n in descents("dense", p, labels, starts, lambda: tiny)]
    assert tiny.size[0] == len(tiny.key) // 2 < sum(searches)
    assert np.count_nonzero(tiny.key) == tiny.size[0]


@each_layout
@seeded
@given(
    table=tables(min_rows=2), scale=scales(12), terms=st.sampled_from([Z, ERROR]), data=st.data()
)
def test_finds_the_best_index(layout, table, scale, terms, data):
    """Search class after class; before each, try all of its indices with the twin."""
    p, labels, mass = table
    labels[:2], mass[:2] = [0, 1], 1  # COBias needs two classes
    levels = levels_of(scale)
    rows, workspace = lay_out_as(layout, p, labels, mass, scale)
    start = st.lists(st.integers(1, levels.size), min_size=p.shape[1], max_size=p.shape[1])
    here = np.array(data.draw(start), np.float64)
    confusion = count(rows, weights_of(scale, here))
    predicted = confusion.sum(axis=0)
    true = confusion.sum(axis=1)
    memo = new_memo(true, terms.smoothing)
    for c in range(p.shape[1]):
        values = {}
        for k in range(1, levels.size + 1):
            there = here.copy()
            there[c] = k
            counts = oracles.confusion_at(p, labels, weights_of(scale, there), mass)
            fresh = new_memo(true, terms.smoothing)
            values[k] = value(counts, counts.sum(axis=0), terms, fresh)
        before, lowest = int(here[c]), min(values.values())
        stays = values[before] == lowest
        expected = before if stays else min(k for k in values if values[k] == lowest)

        find_flips(rows, weights_of(scale, here), c, levels, workspace)
        found = settle(workspace.flips, terms, memo, here, confusion, predicted, c, levels.size)
        assert (int(here[c]), found) == (expected, lowest)
        recount = oracles.confusion_at(p, labels, weights_of(scale, here), mass)
        np.testing.assert_array_equal(confusion, recount)
        np.testing.assert_array_equal(predicted, recount.sum(axis=0))
