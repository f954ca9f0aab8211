"""What is taken for labels that were not reported, and which decisions that could change."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from dnip.llm.answers.fill import Fill, fill_unreported, open_decisions
from dnip.tables.cells import check_probabilities

#: Few values, so that ties are common; all exact in binary.
LEVELS = st.sampled_from([0.0, 0.0625, 0.125, 0.25, 0.5])


@st.composite
def bounds(draw):
    shape = (draw(st.integers(0, 4)), draw(st.integers(2, 4)))
    low = draw(arrays(np.float64, shape, elements=LEVELS))
    return low, low + draw(arrays(np.float64, shape, elements=LEVELS))


@given(bounds())
def test_open_decisions_are_those_that_some_fill_changes(box):
    expected = []
    for least, most in zip(*box, strict=True):
        # each label at its least, its most and between: the decision changes at corners if at all
        grid = itertools.product(*zip(least, (least + most) / 2, most, strict=True))
        expected.append(len({int(np.argmax(point)) for point in grid}) > 1)
    assert open_decisions(*box).tolist() == expected


@given(bounds(), st.sampled_from(Fill))
def test_filled_rows_are_probabilities_that_leave_closed_decisions_as_they_are(box, policy):
    low, high = box
    filled = fill_unreported(low, high, policy)
    assert filled.shape == low.shape
    assert filled.sum(axis=1) == pytest.approx(np.ones(len(filled)))
    closed = ~open_decisions(low, high)
    assert (filled.argmax(axis=1) == low.argmax(axis=1))[closed].all()
    if len(filled):
        check_probabilities(filled)


def test_a_row_that_says_nothing_is_uniform():
    nothing = [[0, 0], [5e-324, 0]]
    assert fill_unreported(nothing, nothing).tolist() == [[0.5, 0.5], [1, 0]]
    assert not open_decisions(nothing, nothing).any()
