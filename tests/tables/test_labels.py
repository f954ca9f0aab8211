import math

import pytest

from dnip.base.errors import InvalidInputError
from dnip.tables.columns import CellLocation
from dnip.tables.labels import LabelRule

PLACE = CellLocation("t.csv", ("p0", "p1", "p2"), first_row=10)


@pytest.mark.parametrize(
    ("classes", "cell", "index"),
    [
        (("0", "1", "2"), "2", 2),
        (("0", "1", "2"), " 2.0 ", 2),
        (("0", "1", "2"), 2.0, 2),
        (("0", "1", "2"), "+1.", 1),
        (("0", "1", "2"), "", -1),
        (("0", "1", "2"), None, -1),
        (("0", "1", "2"), math.nan, -1),
        (("a", "b", "c"), "b", 1),
        (("a", "b", "c"), " b", 1),
        (("1", "2", "3"), "1", 0),
        (("1", "2", "3"), 3, 2),
        (("a", "1", "c"), "0", 0),
        (("False", "True", "nan"), True, 1),
        (("False", "True", "nan"), "nan", 2),
        ((" a", "a", "b"), " a", 0),
    ],
)
def test_one_cell_is_read_by_itself(classes, cell, index):
    assert LabelRule(classes).read([cell], PLACE).tolist() == [index]


@pytest.mark.parametrize(
    ("classes", "cell", "told"),
    [
        (("0", "1", "2"), "3", ["'3' is outside 0..2"]),
        (("0", "1", "2"), "-1", ["'-1' is outside 0..2", "empty cell"]),
        (("0", "1", "2"), "9" * 5000, ["is outside 0..2"]),
        (("0", "1", "2"), "one", ["'one' is neither", "0, 1, 2", "--classes"]),
        (("0", "1", "2"), math.inf, ["'inf' is neither"]),
        (("0", "1", "2"), True, ["'True' is neither"]),
        (("a", "b", "c"), "B", ["'B' is neither a class name", "a, b, c"]),
        (("1", "2", "3"), "0", ["ambiguous", "class names: 1, 2, 3"]),
        (("a", "0", "c"), "1", ["ambiguous: the class name '0' is a number"]),
    ],
)
def test_a_cell_that_names_no_class_is_refused_with_its_place(classes, cell, told):
    with pytest.raises(InvalidInputError) as caught:
        LabelRule(classes).read([None, cell], PLACE)
    message = str(caught.value)
    for part in ["t.csv: row 12, column label", *told]:
        assert part in message
    assert len(message) < 400


def test_many_classes_are_not_all_listed():
    rule = LabelRule(tuple(f"c{i}" for i in range(50)))
    with pytest.raises(InvalidInputError, match=r"c8, c9 and 40 more"):
        rule.read(["x"], PLACE)
