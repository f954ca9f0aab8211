"""The tests against SciPy's."""

import numpy as np
import pytest
from scipy import stats

from dnip.metrics.two_samples import f_tail, hotelling_p_value, smirnov_p_value


@pytest.mark.parametrize("ratio", [0.0, 1e-6, 0.3, 1.0, 4.0, 300.0])
@pytest.mark.parametrize("first", [1, 3, 99])
@pytest.mark.parametrize("second", [2, 30, 2_001])
def test_the_tail_of_f(ratio, first, second):
    expected = stats.f.sf(ratio, first, second)
    assert f_tail(ratio, first, second) == pytest.approx(expected, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize("distance", [0.0, 0.02, 0.05, 0.1, 0.4])
def test_the_p_value_of_kolmogorov_and_smirnov(distance):
    root = np.sqrt(400 * 900 / 1_300)
    expected = stats.kstwobign.sf(distance * (root + 0.12 + 0.11 / root))
    assert smirnov_p_value(distance, 400, 900) == pytest.approx(expected, rel=1e-6)


def test_hotelling_of_one_column_is_the_t_test():
    rows = np.random.default_rng(0).normal(0.1, 1, (80, 1))
    expected = stats.ttest_1samp(rows[:, 0], 0).pvalue
    assert hotelling_p_value(np.zeros(1), 1e15, rows) == pytest.approx(expected)


def test_hotelling_does_not_depend_on_the_basis():
    rng = np.random.default_rng(1)
    rows, mean, mixing = rng.normal(size=(60, 4)), rng.normal(0, 0.2, 4), rng.normal(size=(4, 6))
    plain = hotelling_p_value(mean, 100, rows)
    # six columns, two of which follow from the others
    assert hotelling_p_value(mean @ mixing, 100, rows @ mixing) == pytest.approx(plain)


def test_hotelling_keeps_its_level():
    rng = np.random.default_rng(2)
    found = [
        hotelling_p_value(rng.normal(size=(200, 5)).mean(axis=0), 200, rng.normal(size=(100, 5)))
        for _ in range(1_000)
    ]
    assert stats.kstest(found, "uniform").pvalue > 0.01


def test_without_rows_to_spare_hotelling_tells_nothing():
    rows = np.eye(4)[:, :3]
    assert hotelling_p_value(np.ones(3), 100, rows) == 1.0
    assert hotelling_p_value(np.ones(2), 100, np.zeros((50, 2))) == 1.0
