"""What the columns of a table are, and what its labels say."""

import math

import pytest

from cases import cases
from dnip.base.errors import InvalidInputError
from dnip.tables.cells import CellLocation
from dnip.tables.columns import resolve_columns
from dnip.tables.labels import read_labels


def resolve(header, classes=None):
    return resolve_columns(header.split(","), classes=classes, source="t.csv")


@cases(
    ("p0,p1", None, "p0,p1", "0,1"),
    ("p2,p10,p0,p1,p3,p4,p5,p6,p7,p8,p9", None, "p0,p1,p2,p3,p4,p5,p6,p7,p8,p9,p10", None),
    ("p0,p1", ("bad", "good"), "p0,p1", "bad,good"),
    ("good,bad", ("bad", "good"), "bad,good", "bad,good"),
    ("label,1,0", ("bad", "good"), "0,1", "bad,good"),
    ("p1,other", ("p1", "other"), "p1,other", "p1,other"),
    ("p0,p1", ("p1", "p0"), "p1,p0", "p1,p0"),
    ("p0,p1,a,b", ("a", "b"), "a,b", "a,b"),
    ("p0,p1", ("label", "id"), "p0,p1", "label,id"),
    ("id,pos,neg,label", None, "pos,neg", "pos,neg"),
    ("mass,prediction,2,1,samples,fallback", None, "2,1", "2,1"),
)
def test_class_columns_are_found_in_class_order(header, classes, columns, names):
    layout = resolve(header, classes)
    assert ",".join(layout.probabilities) == columns
    assert names is None or ",".join(layout.classes) == names
    read = [name for name in ("id", "label") if name in header.split(",")]
    assert list(layout.columns) == [*read, *layout.probabilities, *["mass"] * ("mass" in header)]


@cases(
    ("p0,p2", None, ["column p1 is missing", "p0, p2", "without a gap"]),
    ("p0,p999999999999", None, ["column p1 is missing"]),
    ("p0,p01", None, ["column p1 is missing", "p0, p01"]),
    ("p0,p1,p0", None, ["column p0 appears twice"]),
    ("Label,p0,p1", None, ["column Label is not known", "Rename it to label"]),
    ("label,id,,pos,neg", None, ["label, id, '' (without a name), pos", "`dnip import`"]),
    ("y,pos,neg", None, ["column y is not known", "to label", "Rename it to label"]),
    ("label,Pos", None, ["columns are label, Pos", "Give a column"]),
    ("0.9,0.1,pos", None, ["columns are 0.9, 0.1, pos", "The first line must name"]),
    ("label;p0;p1", None, ["the columns are label;p0;p1", "`dnip import`"]),
    ("0,0.25,0.75", None, ["The first line must name the columns"]),
    ("p0,p1", ("a", "b", "c"), ["2 columns of probabilities, but 3 classes: a, b, c"]),
    ("0,1", ("1", "2"), ["column 2 of the classes 1, 2 is missing"]),
    ("0,1,2", ("bad", "good"), ["column bad of the classes bad, good is missing"]),
    ("a,c", ("a", "b"), ["column b of the classes a, b is missing", "columns are a, c"]),
    ("label,other", ("label", "other"), ["column label of", "after p_ where that means"]),
)
def test_columns_that_leave_a_doubt_are_refused(header, classes, told):
    with pytest.raises(InvalidInputError) as caught:
        resolve(header, classes)
    for part in ["t.csv: ", *told]:
        assert part in str(caught.value)


PLACE = CellLocation("t.csv", ("p0", "p1", "p2"), first_row=10)


@cases(
    (("0", "1", "2"), [(" 2.0 ", 2), ("+1.", 1), ("", -1), (math.nan, -1)]),
    (("a", "b", "c"), [(" b", 1)]),
    (("1", "2", "3"), [("1", 0), (3, 2)]),
    (("a", "1", "c"), [("0", 0)]),
    (("False", "True", "nan"), [(True, 1), ("nan", 2)]),
    ((" a", "a", "b"), [(" a", 0)]),
    (("Us", "de", "fr"), [("US", 0), ("us", 0), ("FR ", 2)]),
    (("US", "us", "de"), [("US", 0), ("us", 1), ("DE", 2)]),
    (("-1", "0", "1"), [(-1, 0), ("-1.0", 0), ("", -1)]),
)
def test_a_cell_is_read_by_itself(classes, cells):
    for cell, index in cells:
        assert read_labels([cell], classes, PLACE).tolist() == [index], cell


@cases(
    (("0", "1", "2"), "-2", ["'-2' is a class index outside 0..2", "empty cell"]),
    (("0", "1", "2"), "9" * 5000, ["a class index outside 0..2"]),
    (("0", "1", "2"), math.inf, ["'inf' is neither"]),
    (("0", "1", "2"), True, ["'True' is neither"]),
    (("US", "us", "de"), "Us", ["'Us' is neither a class name"]),
    (("US", "us", "de"), "uS ", ["'uS ' is neither a class name"]),
    (("1", "2", "3"), "0", ["ambiguous", "The classes are 1, 2, 3; if labels"]),
    (("a", "0", "c"), "1", ["ambiguous: the class name '0' is a number"]),
)
def test_a_cell_that_names_no_class_is_refused_with_its_place(classes, cell, told):
    with pytest.raises(InvalidInputError) as caught:
        read_labels([None, cell], classes, PLACE)
    message = str(caught.value)
    for part in ["t.csv: row 12, column label", *told]:
        assert part in message
    assert len(message) < 400
