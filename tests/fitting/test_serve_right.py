"""Thresholds for what is right often enough: exact bounds, a level that holds, refusals."""

import numpy as np
import pytest

from cases import cases
from dnip import InvalidInputError, fit
from dnip.fitting.serve_right import SURE, is_right_enough, threshold_of
from dnip.method.defer import NEVER
from populations import biased_rows

RATE = 0.8


@pytest.mark.parametrize(("right", "rows", "rate"), [(59, 59, 0.95), (20, 22, 0.8), (45, 60, 0.7)])
def test_the_bound_is_that_of_scipy(right, rows, rate):
    binomtest = pytest.importorskip("scipy.stats").binomtest
    p_value = binomtest(right, rows, rate, alternative="greater").pvalue
    assert is_right_enough(right, rows, rate) == (p_value <= 1 - SURE)


def test_rows_at_the_border_of_a_rate_are_rarely_served():
    wrong = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        served = threshold_of(rng.random(200), rng.random(200) < RATE - 0.01, RATE)
        wrong += served != NEVER
    assert wrong / 400 <= 1 - SURE + 0.02


def test_what_is_served_is_right_often_enough_on_other_rows():
    met = []
    for seed in range(6):
        rows = biased_rows(np.random.default_rng(seed), 6_000, bias=[1.5, 0.0, -1.5])
        p, y = rows.probabilities, rows.labels
        found = fit(p[:1_000], y[:1_000], defer_below=RATE).coefficients
        kept, chosen = ~found.deferred(p), found.predict(p).astype(int)
        for c in range(3):
            there = (kept & (chosen == c))[1_000:]
            met += [(y[1_000:][there] == c).mean() >= RATE] if there.any() else []
    assert len(met) > 9
    assert np.mean(met) >= 0.9


@cases(
    ({"defer_below": 1.0}, "defer_below must be below 1"),
    ({"defer_below": 0.0}, "defer_below must be"),
    ({"defer_below": 0.9, "defer": 0.2}, "goes with neither"),
    ({"defer_below": 0.9, "target_prior": "uniform"}, "goes with neither"),
    ({"defer_below": 0.9, "evidence": False}, "there are none"),
)
def test_what_cannot_be_learned_is_refused(settings, message):
    rows = biased_rows(np.random.default_rng(0), 60, bias=[1.0, 0.0])
    with pytest.raises(InvalidInputError, match=message):
        fit(rows.probabilities, rows.labels, **settings)
