"""Flips: each row leaves its rival at exactly the index where the products say so."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip.kernels.flips import find_flips, first_winning_index, new_workspace, walk
from layouts import each_layout, lay_out_as
from strategies import KINDS, TINY, probability, random_probabilities, seeded, tables

positive = probability.filter(lambda p: p > 0)


@st.composite
def close_races(draw):
    """A probability and a rival's score that tie at some index, exactly or but for rounding."""
    scale = draw(st.sampled_from([1, 2, 7, 30, 1000, 10_000]))
    rival_score = draw(st.integers(1, scale)) * draw(positive)
    p = min(rival_score / draw(st.integers(1, scale + 1)), 1.0)
    nudged = np.nextafter(p, draw(st.sampled_from([0.0, p, 1.0])))
    return float(nudged), rival_score, scale


@seeded
@given(race=close_races(), ties_win=st.booleans())
def test_first_winning_index_of_close_races(race, ties_win):
    p, rival_score, scale = race
    expected = oracles.first_winning_index(p, rival_score, ties_win, scale)
    assert first_winning_index(p, rival_score, ties_win, scale) == expected


@seeded
@given(p=probability, q=positive, j=st.integers(1, 40), scale=st.integers(1, 40))
def test_first_winning_index_equals_brute_force(p, q, j, scale):
    for ties_win in (False, True):
        expected = oracles.first_winning_index(p, j * q, ties_win, scale)
        assert first_winning_index(p, j * q, ties_win, scale) == expected


@pytest.mark.parametrize("p", [0.0, *TINY])
def test_a_tiny_probability_never_wins_and_overflows_nothing(p):
    assert first_winning_index(p, 1.0, True, 30) == 31


def assert_walks_to_recounts(layout, table, scale, indices, c, stops):
    """Walk class c from stop to stop, and recount at each."""
    rows = lay_out_as(layout, *table, scale)
    workspace = new_workspace(rows, scale)
    find_flips(rows, indices.astype(np.float64), c, scale, workspace)
    here = indices.copy()
    confusion = oracles.confusion_at(table[0], table[1], here, table[2])
    predicted = confusion.sum(axis=0)
    for stop in stops:
        walk(workspace.flips, c, here[c], stop, confusion, predicted)
        here[c] = stop
        recount = oracles.confusion_at(table[0], table[1], here, table[2])
        np.testing.assert_array_equal(confusion, recount)
        np.testing.assert_array_equal(predicted, recount.sum(axis=0))


@each_layout
@seeded
@given(table=tables(), scale=st.integers(1, 40), data=st.data())
def test_walking_equals_recounting(layout, table, scale, data):
    n_classes = table.p.shape[1]
    index = st.integers(1, scale)
    indices = np.array(data.draw(st.lists(index, min_size=n_classes, max_size=n_classes)))
    stops = data.draw(st.lists(index, min_size=1, max_size=5))
    c = data.draw(st.integers(0, n_classes - 1))
    assert_walks_to_recounts(layout, table, scale, indices, c, stops)


@each_layout
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_classes", "scale"), [(2, 1000), (4, 30), (12, 7)])
def test_walking_over_many_rows_equals_recounting(layout, kind, n_classes, scale):
    rng = np.random.default_rng(2)
    p = random_probabilities(rng, 300, n_classes, kind)
    table = (p, rng.integers(n_classes, size=300), rng.integers(0, 4, 300))
    for c in range(n_classes):
        indices = rng.integers(1, scale + 1, n_classes)
        stops = [1, scale, *rng.integers(1, scale + 1, 6)]
        assert_walks_to_recounts(layout, table, scale, indices, c, stops)


@each_layout
def test_the_workspace_serves_one_class_after_another(layout):
    rng = np.random.default_rng(3)
    p, labels = random_probabilities(rng, 200, 3), rng.integers(3, size=200)
    rows = lay_out_as(layout, p, labels, np.ones(200, np.int64), 9)
    used, indices = new_workspace(rows, 9), np.array([4.0, 7.0, 2.0])
    for c in (0, 2, 1, 0):
        find_flips(rows, indices, c, 9, used)
        fresh = new_workspace(rows, 9)
        find_flips(rows, indices, c, 9, fresh)
        np.testing.assert_array_equal(used.flips.start[1:], fresh.flips.start[1:])
        n_flips = fresh.flips.start[10]
        for mine, theirs in zip(used.flips[1:], fresh.flips[1:], strict=True):
            np.testing.assert_array_equal(mine[:n_flips], theirs[:n_flips])
