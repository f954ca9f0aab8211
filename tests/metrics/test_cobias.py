"""COBias against its definitions, and against the paper's own table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from dnip.metrics import class_accuracies, cobias, cobias_single, odd_classes
from strategies import random_confusion, seeded

# Table 1 of the paper: World, Sports, Business, Tech
AG_NEWS = np.array([[1093, 64, 126, 3], [9, 1247, 14, 0], [25, 4, 1167, 8], [156, 27, 822, 235]])

confusions = st.builds(
    lambda seed, n, missing, size: random_confusion(
        np.random.default_rng(seed), n, min(missing, n - 2), size
    ),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 9),
    missing=st.integers(0, 3),
    size=st.sampled_from([2, 5, 50]),  # a small size gives ties
)


def test_the_papers_table():
    np.testing.assert_allclose(class_accuracies(AG_NEWS), [0.85, 0.98, 0.97, 0.19], atol=0.005)
    world, sports, business, tech = 1093 / 1286, 1247 / 1270, 1167 / 1204, 235 / 1240
    pairs = [
        sports - world,
        business - world,
        world - tech,
        sports - business,
        sports - tech,
        business - tech,
    ]
    assert cobias(AG_NEWS) == pytest.approx(sum(pairs) / 6, rel=1e-12)
    assert odd_classes(AG_NEWS).tolist() == [2, 2, 0, 2]  # Tech's odd class is Business
    odd_gaps = [business - world, sports - business, business - world, business - tech]
    assert cobias_single(AG_NEWS) == pytest.approx(sum(odd_gaps) / 4, rel=1e-12)


@seeded
@given(confusion=confusions)
def test_equals_the_definitions(confusion):
    assert cobias(confusion) == pytest.approx(oracles.cobias(confusion), abs=1e-12)
    assert cobias_single(confusion) == pytest.approx(oracles.cobias_single(confusion), abs=1e-12)
    odd = [oracles.odd_class(confusion, i) for i in range(len(confusion))]
    assert odd_classes(confusion).tolist() == [-1 if j is None else j for j in odd]


def test_extremes():
    assert cobias(np.eye(3)) == 0
    assert cobias([[5, 0], [5, 0]]) == 1
    assert cobias_single([[5, 0], [5, 0]]) == pytest.approx(0.5)  # no odd class, and |1 - 0|
    assert np.isnan(cobias([[3, 1], [0, 0]]))
