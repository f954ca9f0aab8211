"""An evaluation as text: the right numbers in aligned columns."""

import numpy as np
import pytest

from dnip import Coefficients
from dnip.evaluation import Evaluation
from dnip.report.text import describe

NAMES = ("a", "long name")
RAW, AFTER = np.array([[8, 2], [4, 6]]), np.array([[7, 3], [3, 7]])


@pytest.mark.parametrize(
    ("raw", "reweighted", "coefficients", "expected"),
    [
        (
            RAW,
            None,
            None,
            """
class      rows  accuracy  taken for
a            10     0.800  long name
long name    10     0.600  a

accuracy     0.700
COBias       0.200
worst class  0.600""",
        ),
        (
            RAW,
            AFTER,
            Coefficients(NAMES, [15, 30], 30),
            """
class      rows  weight  before  after  taken for
a            10   0.500   0.800  0.700  long name
long name    10   1.000   0.600  0.700  a

accuracy     0.700 -> 0.700
COBias       0.200 -> 0.000
worst class  0.600 -> 0.700""",
        ),
    ],
    ids=["raw", "reweighted"],
)
def test_the_whole_text(raw, reweighted, coefficients, expected):
    evaluation = Evaluation(NAMES, 20, 0, raw, reweighted)
    assert describe(evaluation, coefficients) == expected.lstrip("\n")


def test_a_class_without_rows_shows_a_dash():
    raw = np.array([[2, 0, 0], [1, 1, 0], [0, 0, 0]])
    lines = describe(Evaluation(("x", "y", "z"), 4, 0, raw, None)).splitlines()
    assert lines[3].split() == ["z", "0", "-"]
