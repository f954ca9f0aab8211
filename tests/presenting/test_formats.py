"""Tables in Markdown, and numbers as they are shown."""

import math

import pytest
from hypothesis import given

from dnip.presenting.artefacts import Column, Spread
from dnip.presenting.formats import show, to_markdown
from strategies import result_tables, unescaped


@given(result_tables())
def test_markdown_has_the_same_number_of_cells_on_every_line(table):
    lines = to_markdown(table).split("\n")
    assert len(lines) == len(table.rows) + 2
    assert {unescaped(line, "|") for line in lines} == {len(table.columns) + 1}


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0"),
        (-0.0004, "0.0"),
        (-0.428, "−42.8"),
        (math.nan, "–"),
        (math.inf, "–"),
        (None, "–"),
        (True, "1"),
        (-1234, "−1,234"),
        (12.345, "1,234.5"),
        (Spread(0.5), "50.0"),
        (Spread(0.5, 0.0), "50.0 ± 0.0"),
    ],
)
def test_numbers_as_they_are_shown(value, shown):
    assert show(value, Column("rate", percent=True)) == shown
