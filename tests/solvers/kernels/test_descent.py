"""Descents end where no class improves by itself, with a memory of lines or without."""

import numpy as np
import pytest

import oracles
from dnip.solvers.kernels.descent import Setup, begin, descend
from dnip.solvers.kernels.lines import new_lines
from dnip.solvers.kernels.values import Terms, new_memo
from dnip.solvers.levels import levels_of
from layouts import each_layout, lay_out_as
from strategies import KINDS, random_probabilities

SCALE = 6
LEVELS = levels_of(SCALE)
TERMS = Terms(error=1.0, cobias=2.7, single=0.0, tau=0.2, smoothing=1.0)


def descents(layout, p, labels, starts, lines_of):
    """Descend from each start, and yield (start, end, value, searches)."""
    mass = np.ones(len(p), np.int64)
    rows, workspace = lay_out_as(layout, p, labels, mass, SCALE)
    memo = new_memo(np.bincount(labels, minlength=p.shape[1]), 1.0)
    order = np.arange(p.shape[1])
    for start in starts:
        here = start.astype(np.float64)
        descent = begin(here, order)
        setup = Setup(rows, LEVELS, workspace, TERMS, memo, lines_of())
        n_searches = descend(setup, descent, 10_000)
        yield start, here, descent.value[0], n_searches


def random_table(kind):
    rng = np.random.default_rng(5)
    p = random_probabilities(rng, 60, 3, kind)
    labels = np.append([0, 1, 2], rng.integers(3, size=57))
    return p, labels, rng.integers(1, SCALE + 1, (20, 3))


@each_layout
@pytest.mark.parametrize("remembers", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_ends_where_no_class_improves_by_itself(layout, kind, remembers):
    p, labels, starts = random_table(kind)
    shared = new_lines(1000)
    lines_of = (lambda: shared) if remembers else (lambda: new_lines(1000))

    def z(indices):
        return oracles.objective(oracles.confusion_at(p, labels, indices), tau=0.2, mu=1.0)

    for start, end, value, _ in descents(layout, p, labels, starts[:8], lines_of):
        assert value == pytest.approx(z(end), abs=1e-12)
        assert value <= z(start) + 1e-12
        for c in range(3):
            for k in range(1, SCALE + 1):
                there = end.copy()
                there[c] = k
                assert value <= z(there) + 1e-12


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


def test_only_the_classes_of_the_order_move():
    p, labels, starts = random_table("random")
    rows, workspace = lay_out_as("dense", p, labels, np.ones(60, np.int64), SCALE)
    memo = new_memo(np.bincount(labels), 1.0)
    for start in starts:
        here = start.astype(np.float64)
        setup = Setup(rows, LEVELS, workspace, TERMS, memo, new_lines(100))
        descend(setup, begin(here, np.array([2, 0])), 10_000)
        assert here[1] == start[1]
