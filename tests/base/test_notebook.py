import numpy as np
import pytest

from dnip import Coefficients, ProbabilityTable, evaluate, fit_table, solve
from dnip.base.notebook import html_table

P, Y = np.array([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.55, 0.45]]), np.array([0, 1, 0, 1])
TABLE = ProbabilityTable(P, Y, classes=["<ham>", "spam"])


@pytest.mark.parametrize(
    "shown",
    [
        Coefficients(["<ham>", "spam"], [1, 2], 2),
        solve(P, Y),
        evaluate(TABLE, Coefficients(["<ham>", "spam"], [1, 2], 2)),
        fit_table(TABLE),
    ],
    ids=lambda shown: type(shown).__name__,
)
def test_everything_shows_itself_in_one_line_and_as_a_table(shown):
    assert repr(shown).startswith(f"{type(shown).__name__}(")
    assert "\n" not in repr(shown)
    assert len(repr(shown)) < 150
    table = shown._repr_html_()
    assert table.count("<tr>") == 3
    assert "<ham>" not in table


def test_long_tables_are_cut():
    table = html_table("t", ["n"], [[n] for n in range(100)])
    assert table.count("<tr>") == 32
    assert "and 70 more" in table
