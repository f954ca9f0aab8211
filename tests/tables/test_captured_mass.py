"""Counts of captured mass add up, and their median is that of the rows."""

import numpy as np
import pytest

from dnip.tables.captured_mass import LOW_MASS, CapturedMass, MassCounts


@pytest.mark.parametrize("seed", range(5))
def test_chunks_give_what_the_whole_gives(seed):
    rng = np.random.default_rng(seed)
    mass = rng.random(rng.integers(1, 2000)) ** rng.integers(1, 6)
    counts = MassCounts()
    for chunk in np.array_split(mass, 7):
        counts.add(chunk)
    assert counts.summary == CapturedMass.of(mass)
    assert counts.summary.rows == len(mass)
    assert counts.summary.low == np.count_nonzero(mass < LOW_MASS)
    middle = np.sort(mass)[(len(mass) - 1) // 2]
    assert counts.summary.median == pytest.approx(middle, rel=6e-3)


def test_no_rows_have_no_mass():
    assert CapturedMass.of([]) is None


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 1.0004])
def test_the_ends_of_the_range_are_counted(value):
    assert CapturedMass.of([value]).median == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize(
    ("low", "told", "at_fault"), [(0, False, False), (9, False, False), (10, True, False),
                                  (50, True, False), (51, True, True)]
)  # fmt: skip
def test_a_tenth_is_told_and_more_than_half_is_a_fault(low, told, at_fault):
    mass = CapturedMass(100, low, 0.5)
    assert (mass.worth_telling, mass.at_fault) == (told, at_fault)
