import numpy as np
import pytest

from dnip import Objective
from dnip.robust.evidence import Evidence
from dnip.robust.resampling import repeatable_part, resampled_optima
from dnip.scales import WeightScale
from populations import biased_rows


def optima(n_rows, seed=0):
    rows = biased_rows(np.random.default_rng(1), n_rows, bias=[1.0, 0, -1.0])
    evidence = Evidence(rows.probabilities, rows.labels, np.ones(n_rows))
    rng = np.random.default_rng(seed)
    return resampled_optima(evidence, Objective(), ["a", "b", "c"], WeightScale.of(30), rng)


def test_optima_spread_less_with_more_rows():
    few, many = optima(60), optima(6_000)
    assert few.shape == many.shape == (8, 3)
    assert many.std(axis=0).max() < 0.5 * few.std(axis=0).max()
    np.testing.assert_allclose(many.mean(axis=0), [-1.0, 0, 1.0], atol=0.2)


def test_the_same_seed_gives_the_same_optima():
    np.testing.assert_array_equal(optima(60), optima(60))
    assert (optima(60) != optima(60, seed=1)).any()


def test_what_does_not_repeat_is_chance():
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 1, (2_000, 4))
    assert repeatable_part(noise, np.zeros(4)) == 0
    way = np.array([1.0, 1, -1, -1])
    assert repeatable_part(2 * way + noise, np.zeros(4)) == pytest.approx(0.75, abs=0.02)
