import numpy as np
import pytest

from dnip.tables.reservoir import ClassSample, RowSample


def sampled(rows, most, cuts, seed=0):
    sample = RowSample(most, seed)
    for block in np.split(rows, cuts):
        sample.add(block)
    assert sample.n_seen == len(rows)
    return sample.rows


@pytest.mark.parametrize("cuts", [[], [1], [500], [3, 4, 10, 999], list(range(10, 1000, 10))])
def test_the_sample_does_not_depend_on_the_blocks(cuts):
    rows = np.arange(2000.0).reshape(1000, 2)
    np.testing.assert_array_equal(sampled(rows, 50, cuts), sampled(rows, 50, [250]))


def test_a_short_stream_stays_whole_and_in_order():
    rows = np.asfortranarray(np.arange(20, dtype=np.float32).reshape(10, 2))
    np.testing.assert_array_equal(sampled(rows, 10, [4]), rows)
    assert RowSample(3).rows.shape == (0, 0)


def test_every_row_has_the_same_chance():
    rows = np.arange(20.0)[:, None] * np.ones(2)
    seen = np.zeros(20)
    for seed in range(2_000):
        drawn = sampled(rows, 5, [7, 9], seed)[:, 0].astype(int)
        assert (np.diff(drawn) > 0).all()
        seen[drawn] += 1
    np.testing.assert_allclose(seen / 2_000, 0.25, atol=0.04)


@pytest.mark.parametrize("cuts", [[], [5, 30]])
def test_of_each_class_so_many(cuts):
    rng = np.random.default_rng(0)
    labels = np.r_[np.zeros(50, int), np.full(3, 2)][rng.permutation(53)]
    rows = np.arange(53.0)[:, None] * np.ones(3)
    sample = ClassSample(3, most=10)
    for p, y in zip(np.split(rows, cuts), np.split(labels, cuts), strict=True):
        sample.add(p, y)
    drawn, of_class = sample.drawn()
    assert np.bincount(of_class).tolist() == [10, 0, 3]
    np.testing.assert_array_equal(labels[drawn[:, 0].astype(int)], of_class)
