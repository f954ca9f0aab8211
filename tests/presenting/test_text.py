"""An evaluation as text: the right numbers in aligned columns."""

import numpy as np
import pytest

from dnip import Coefficients
from dnip.presenting.evaluation import describe, describe_constraints
from dnip.tables.evaluation import Evaluation

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


def test_many_classes_with_one_floor_are_told_by_their_lowest():
    floors = dict.fromkeys("abcde", 0.5) | {"f": 0.7}
    reached = {"a": 0.9, "b": 0.6, "c": 0.55, "d": 0.8, "e": 0.51, "f": 0.75}
    told = describe_constraints({"min_class_accuracies": floors, "class_accuracies": reached})
    assert told == (
        "constraints kept: e 0.510, c 0.550, b 0.600 and 2 more (at least 0.5); "
        "f 0.750 (at least 0.7)"
    )
