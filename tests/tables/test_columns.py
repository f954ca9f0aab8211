"""What columns are, and what labels say: one rule for files, frames and arrays."""

import math
import sys
from decimal import Decimal
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dnip
import oracles
from cases import cases
from dnip import InvalidInputError, ProbabilityTable
from dnip.comparing.demonstration import bundled_table
from dnip.tables.cells import CellLocation
from dnip.tables.columns import resolve_columns
from dnip.tables.labels import better_order, read_labels


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
    ("id,text,p_ham,p_spam,label", None, "p_ham,p_spam", "ham,spam"),
    ("id,text,p_ham,p_spam,label", ("spam", "ham"), "p_spam,p_ham", "spam,ham"),
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
    ("label,other", ("label", "other"), ["the name label is reserved", "Rename the class"]),
    ("label,id,b", ("b", "id"), ["the name id is reserved", "as in p_id"]),
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


# --- arrays and frames ---
RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(3), 60)
INDEX = np.array([RNG.choice(3, p=p) for p in P])
NAMES = np.array(["ant", "bee", "cow"])  # in sorted order
Y = NAMES[INDEX]
EXPECTED = oracles.confusion_at(P, INDEX, [1, 1, 1]).tolist()
FRAME = pd.DataFrame(P, columns=NAMES)
WHOLE = pd.DataFrame({"ant": P[:, 0], "label": Y, "bee": P[:, 1], "cow": P[:, 2]})
TWO = P[:, :2] / P[:, :2].sum(axis=1, keepdims=True)


@cases(
    ((P.tolist(), Y.tolist()), NAMES),
    ((P, pd.Categorical(Y)), NAMES),
    ((P, pl.Series(Y)), NAMES),
    ((P, INDEX), "012"),
    ((P, INDEX + 1.0), "123"),
    ((P, INDEX - 1), ["-1", "0", "1"]),
    ((P, [*np.float32([2, 9, 10])[INDEX]]), ["2", "9", "10"]),
    ((P, pd.Series([*map(Decimal, (2, 9, 10))])[INDEX].tolist()), ["2", "9", "10"]),
    ((pd.DataFrame(P), Y), NAMES),
    ((pd.DataFrame(P, columns=["p0", "p1", "p2"]), Y), NAMES),
    ((pd.DataFrame(P, columns=[3, 5, 7]), INDEX * 2 + 3), "357"),
    ((FRAME, INDEX), NAMES),
    ((WHOLE,), NAMES),
    ((pl.from_pandas(WHOLE),), NAMES),
    ((pa.Table.from_pandas(WHOLE),), NAMES),
)
def test_columns_are_the_sorted_labels_or_the_names_of_a_frame(given, classes):
    found = dnip.evaluate(*given)
    assert found.classes == tuple(classes)
    assert found.raw.tolist() == EXPECTED


def test_columns_of_a_frame_may_stand_in_any_order():
    found = dnip.evaluate(FRAME[["cow", "ant", "bee"]], Y)
    assert found.classes == ("cow", "ant", "bee")
    assert found.raw.tolist() == np.array(EXPECTED)[np.ix_([2, 0, 1], [2, 0, 1])].tolist()


@pytest.mark.parametrize("classes", [["cow", "ant", "bee"], [30, 10, 20]])
def test_classes_name_the_columns_in_order(classes):
    y = np.array(classes)[INDEX]
    found = dnip.evaluate(P, y, classes=classes)
    assert found.classes == tuple(map(str, classes))
    assert found.raw.tolist() == EXPECTED


def test_the_order_that_is_taken_is_told_or_refused():
    p, y = RNG.dirichlet(np.full(3, 0.1), 300), np.array(["cow", "ant", "bee"])
    labels = y[[RNG.choice(3, p=row) for row in p]]
    told = "taken for the sorted labels, ant, bee, cow, as in scikit-learn"
    with pytest.warns(dnip.DNIPWarning, match=f"{told}; classes") as seen:
        dnip.evaluate(p[:, [1, 2, 0]], labels)
    assert seen[0].filename == __file__
    for call in (dnip.evaluate, dnip.fit, dnip.report, dnip.DNIPClassifier().fit):
        with pytest.raises(InvalidInputError, match=f"{told}, but .* the order cow, ant, bee"):
            call(p, labels)
    assert dnip.evaluate(p, labels, classes=y).classes == tuple(y)
    assert dnip.DNIPClassifier(classes=y).fit(p, labels).classes_.tolist() == y.tolist()


def test_minus_one_is_no_label_unless_it_is_one_of_n():
    assert dnip.evaluate(P, [-1, *INDEX[1:]]).n_unlabelled == 1
    assert dnip.evaluate(P, [-1, *INDEX[1:] + 5]).classes == ("5", "6", "7")
    signs = dnip.evaluate(TWO, np.where(INDEX > 0, 1, -1))
    assert (signs.classes, signs.n) == (("-1", "1"), 60)
    assert dnip.evaluate(TWO, INDEX > 0).classes == ("False", "True")


def test_each_result_shows_itself_without_matplotlib_and_jinja2(monkeypatch):
    for library in ("matplotlib", "jinja2"):
        monkeypatch.setitem(sys.modules, library, None)
    fitted = dnip.fit(P.tolist(), Y.tolist(), unlabelled=P[:20])
    table = dnip.fit(WHOLE, unlabelled=FRAME[:20])
    assert fitted.coefficients.weights.tolist() == table.coefficients.weights.tolist()
    for shown in (dnip.evaluate(P, Y, fitted.coefficients), fitted, fitted.coefficients):
        assert "<td>cow</td>" in shown._repr_html_()
    assert "jinja2" in dnip.report(P, Y, coefficients=fitted)._repr_html_()


class TestFrames:
    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
    def test_labels_of_any_kind_and_names_of_any_order(self, make):
        frame = make({"good": [0.25, 1.0], "label": ["bad", None], "bad": [0.75, 0.0]})
        table = ProbabilityTable.from_frame(frame, classes=["bad", "good"])
        assert table.probabilities.tolist() == [[0.75, 0.25], [0, 1]]
        assert table.labels.tolist() == [0, -1]

    def test_pandas_categories_nullable_numbers_and_column_numbers(self):
        frame = pd.DataFrame({0: [0.25, 1.0], 1: [0.75, 0.0]}, index=[7, 7])
        frame["label"] = pd.Categorical(["1", None])
        table = ProbabilityTable.from_frame(frame, classes=["0", "1"])
        assert table.labels.tolist() == [1, -1]
        frame["label"] = pd.array([0, None], "Int64")
        assert ProbabilityTable.from_frame(frame, classes=["0", "1"]).labels.tolist() == [0, -1]


# --- columns in another order are found, and those in their own are left alone ---
def softmax(scores):
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def model(seed, n_classes, n_rows, strength):
    """Probabilities whose true class is stronger by so much, and their labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n_rows)
    scores = rng.normal(size=(n_rows, n_classes)) + rng.normal(size=n_classes)
    scores[np.arange(n_rows), labels] += strength
    return softmax(scores), labels


@pytest.mark.parametrize("n_classes", [2, 3, 4, 8])
@cases(-1.0, -0.5, 0.0, 0.5, 1.0, 2.0)
def test_no_table_in_its_own_order_is_refused(n_classes, strength):
    found = [better_order(*model(seed, n_classes, 60 + 40 * seed, strength)) for seed in range(15)]
    assert sum(one is not None for one in found) <= (1 if strength == -1 and n_classes == 2 else 0)


def test_every_other_order_of_a_real_table_is_found_or_left():
    table = bundled_table("opt")
    p, labels = table.probabilities, table.labels
    assert better_order(p, labels) is None
    for order in map(list, permutations(range(4))):
        found = better_order(p[:, order], labels)
        at_home = sum(c == own for c, own in enumerate(order))
        if at_home == 0:
            assert found.tolist() == order
        else:  # half of the columns are right: better than chance
            assert found is None or found.tolist() == order


@cases((0, 2), (3, 2), (40, 1))
def test_few_rows_and_classes_without_labels_tell_nothing(n_rows, n_labelled):
    p = softmax(np.random.default_rng(0).normal(size=(n_rows, 2)))
    assert better_order(p, np.arange(n_rows) % n_labelled) is None
