"""Rows that are taken, drawn, and sampled from tables too large to hold."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from cases import cases
from dnip import InvalidInputError, ProbabilityTable
from dnip.tables.sampling import Sampler


def table_of(labels):
    """A table whose ids are its row numbers."""
    ids = [str(i) for i in range(len(labels))]
    return ProbabilityTable(np.full((len(labels), 4), 0.25), np.array(labels, np.int64), ids)


LABELS = st.lists(st.integers(-1, 3), min_size=20, max_size=120)
SEEDS = st.integers(0, 2**32)


@settings(deadline=None)
@given(labels=LABELS, seed=SEEDS, data=st.data(), balanced=st.none() | st.booleans())
def test_a_draw_is_of_distinct_labelled_rows_in_order(labels, seed, data, balanced):
    table = table_of([0, *labels])
    n = data.draw(st.integers(1, len(table.labelled())))
    drawn = table.draw(n, seed, balanced=balanced)
    assert len(drawn) == n
    assert (drawn.labels >= 0).all()
    assert drawn.ids.tolist() == sorted(set(drawn.ids.tolist()), key=int)
    available = np.bincount(table.labelled().labels, minlength=4)
    counts = np.bincount(table.draw(n, seed, balanced=True).labels, minlength=4)
    not_used_up = counts[counts < available]  # as equal as the classes allow
    assert not_used_up.min(initial=len(table)) >= counts.max() - 1


def test_the_papers_protocol_is_the_default():
    table = table_of(np.repeat([0, 1, 2, 3], [700, 100, 100, 100]))
    assert np.bincount(table.draw(100, seed=0).labels).tolist() == [25] * 4
    assert np.bincount(table.draw(500, seed=0).labels)[0] > 300


@cases((0, "n must be"), (4, "n is 4, but there are only 3 rows"))
def test_what_cannot_be_drawn_is_refused(n, told):
    with pytest.raises(InvalidInputError, match=told):
        table_of([0, 1, 2, -1]).draw(n, seed=0)
    with pytest.raises(InvalidInputError, match="seed must be a whole number"):
        table_of([0, 1]).draw(1, seed=-1)


SIZES = np.array([3, 400, 0, 1500])
N_UNLABELLED = 97


@pytest.fixture(scope="module")
def table():
    """2,000 rows of four classes, whose captured mass tells their number."""
    rng = np.random.default_rng(5)
    labels = rng.permutation(np.repeat([0, 1, 2, 3, -1], [*SIZES, N_UNLABELLED]))
    mass = (1000 + np.arange(2000)) / 3000
    return ProbabilityTable(rng.dirichlet(np.ones(4), 2000), labels, mass=mass)


def draw(blocks, rows, seed=0):
    sampler = Sampler(rows, seed)
    for block in blocks:
        sampler.add(block)
    return sampler.sample()


def numbers_of(sample):
    return np.rint(3000 * sample.table.mass - 1000).astype(int)


@cases(
    (300, [3, 100, 0, 100, 97]),
    (4, [1, 1, 0, 1, 1]),
    (302, [3, 101, 0, 101, 97]),
    (1000, [3, 400, 0, 500, 97]),
)
def test_small_classes_are_in_the_sample_whole_and_large_ones_share_the_rest(table, rows, drawn):
    sample = draw([table], rows)
    labels = sample.table.labels
    assert [np.count_nonzero(labels == c) for c in (0, 1, 2, 3, -1)] == drawn
    assert sample.n_rows == 2000
    assert sample.class_sizes.tolist() == SIZES.tolist()
    stands_for = SIZES / np.maximum(drawn[:-1], 1)
    np.testing.assert_array_equal(sample.weights, stands_for[labels[labels >= 0]])
    numbers = numbers_of(sample)
    assert (np.diff(numbers) > 0).all()
    np.testing.assert_array_equal(sample.table.probabilities, table.probabilities[numbers])
    np.testing.assert_array_equal(labels, table.labels[numbers])


@pytest.mark.parametrize("rows", [50, 300, 1999])
@pytest.mark.parametrize("cuts", [[], [1], [1000], list(range(7, 2000, 7))])
def test_the_stratified_sample_depends_on_seed_and_places_alone(table, rows, cuts):
    blocks = [table.take(part) for part in np.split(np.arange(2000), cuts)]
    numbers = numbers_of(draw(blocks, rows))
    np.testing.assert_array_equal(numbers, numbers_of(draw([table], rows)))
    assert set(numbers) != set(numbers_of(draw([table], rows, seed=1)))


def test_more_classes_than_can_be_counted_are_refused_at_the_first_rows():
    sampler = Sampler(10)
    with pytest.raises(InvalidInputError, match="4,001 classes"):
        sampler.add(ProbabilityTable(np.full((1, 4001), 1 / 4001)))


def test_every_row_of_a_class_has_the_same_chance():
    labels, mass = np.repeat([0, 1], [4, 20]), np.arange(24) / 24
    table = ProbabilityTable(np.full((24, 2), 0.5), labels, mass=mass)
    seen = np.zeros(24)
    for seed in range(2000):
        sample = draw([table.take(range(9)), table.take(range(9, 24))], 9, seed)
        seen[np.rint(24 * sample.table.mass).astype(int)] += 1
    assert (seen[:4] == 2000).all()
    np.testing.assert_allclose(seen[4:] / 2000, 0.25, atol=0.04)


# --- rows by number ---
P = np.array([[0.25, 0.75], [1, 0], [0.5, 0.5]])
TABLE = ProbabilityTable(P, np.array([1, -1, 0]), ["a", "b", "c"])


@cases(([2, 0], "ca"), (np.array([True, False, True]), "ac"), ([], ""), (range(1, 3), "bc"))
def test_rows_are_taken_by_number_or_by_mark(rows, ids):
    taken = TABLE.take(rows)
    assert taken.ids.tolist() == list(ids)
    assert taken.classes == TABLE.classes


@cases(
    ([3], "index 3 is out of bounds"),
    ([0, 0], "is already at"),
    ([0.5], r"rows \[0.5\]: arrays used as indices"),
    ([True], "boolean index did not match"),
)
def test_rows_that_are_not_there_are_refused(rows, told):
    with pytest.raises(InvalidInputError, match=told):
        TABLE.take(rows)


def test_the_hash_is_of_the_data_and_of_nothing_else():
    table = ProbabilityTable(P, np.array([0, 1, 0]))
    same = ProbabilityTable(P.copy(), [0.0, 1, 0], ["a", "b", "c"], source="elsewhere")
    others = [
        ProbabilityTable(P),
        ProbabilityTable(P[::-1], table.labels),
        ProbabilityTable(P, np.array([0, 1, -1])),
        ProbabilityTable(P, table.labels, classes=("a", "b")),
    ]
    assert same.data_hash == table.data_hash
    assert len({table.data_hash, *(other.data_hash for other in others)}) == 5
