"""Flips over any ascending weights, against trying every weight."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip.solvers.kernels.counting import count
from dnip.solvers.kernels.flips import find_rivals, list_workspace, walk
from dnip.solvers.kernels.halving import find_level_flips, first_winning_level
from dnip.solvers.kernels.rows import copy_rows, survey
from dnip.solvers.kernels.threads import Threads
from strategies import TINY, TYING, probability, seeded, tables

weights = st.lists(
    st.one_of(st.sampled_from([w for w in TYING if w]), st.floats(1e-4, 1)), min_size=1, max_size=9
).map(lambda drawn: np.unique(np.array(drawn)))


@seeded
@given(
    p=probability.filter(bool),
    rival=st.one_of(st.sampled_from([0.0, *TINY, *TYING]), st.floats(0, 1)),
    ties_win=st.booleans(),
    levels=weights,
)
def test_first_winning_level_equals_trying_all(p, rival, ties_win, levels):
    wins = [w * p > rival or (ties_win and w * p == rival) for w in levels]
    expected = wins.index(True) + 1 if any(wins) else len(levels) + 1
    assert first_winning_level(p, rival, ties_win, levels) == expected


@seeded
@given(table=tables(min_rows=1, max_rows=12, max_classes=5), levels=weights, data=st.data())
def test_the_walk_over_flips_meets_the_counts_at_every_level(table, levels, data):
    n_classes = table.p.shape[1]
    c = data.draw(st.integers(0, n_classes - 1))
    here = np.array([data.draw(st.sampled_from(levels.tolist())) for _ in range(n_classes)])
    span = 1.01 * levels[-1] / levels[0]
    surveyed = survey(table.p, table.labels, table.mass, span, Threads(1))
    rows = copy_rows(table.p, table.labels, table.mass, span, surveyed, dense=False)
    workspace = list_workspace(len(table.p), len(levels))
    find_rivals(rows, here, c, workspace.rival, workspace.score)
    find_level_flips(rows, c, levels, workspace)

    here[c] = levels[0]
    confusion = count(rows, here)
    predicted = confusion.sum(axis=0)
    for k, level in enumerate(levels, start=1):
        walk(workspace.flips, c, max(k - 1, 1), k, confusion, predicted)
        here[c] = level
        expected = oracles.confusion_at(table.p, table.labels, here, table.mass)
        np.testing.assert_array_equal(confusion, expected)
        np.testing.assert_array_equal(predicted, expected.sum(axis=0))
