"""What users have in hand: arrays, lists, frames and paths, by one rule for labels and columns."""

import sys
from decimal import Decimal
from html import unescape

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dnip
import oracles
from cases import cases
from dnip import Coefficients, InvalidInputError

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


@pytest.mark.parametrize("call", [dnip.evaluate, dnip.fit, dnip.report], ids=lambda f: f.__name__)
@cases(
    ((P, Y[1:]), {}, r"y has shape \(59,\), but 60 examples"),
    ((P, Y[:, None]), {}, r"y has shape \(60, 1\)"),
    ((P, [*Y[1:], "dog"]), {}, "3 columns .* 4 classes: ant, bee, cow, dog.*classes="),
    ((TWO, Y), {}, "2 columns of probabilities, but 3 classes: ant, bee, cow"),
    ((P, [{}] * 60), {}, r"y\[0\]: a text or a number is needed"),
    ((WHOLE, Y), {}, "holds labels of its own, but y was given too"),
    ((WHOLE, Coefficients(NAMES, [1, 1, 1], 1)), {}, "coefficients=..."),
    ((pd.DataFrame(P, columns=["a", "b", "b"]), Y), {}, "two columns have the same name"),
    ((pd.DataFrame(P, columns=["1", 1, "b"]), Y), {}, "column 1 appears twice"),
    ((WHOLE.replace("cow", "dog"),), {}, "'dog' is none of the columns ant, bee, cow"),
    ((FRAME.assign(text="x"), INDEX), {}, "column text: 'x' is not a number.*classes="),
    ((pl.from_pandas(FRAME).lazy(), Y), {}, "Collect a lazy frame"),
)
def test_bad_input_is_refused_with_a_remedy(call, given, options, message):
    with pytest.raises(InvalidInputError, match=message):
        call(*given, **options)


def test_each_result_shows_itself_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    fitted = dnip.fit(P.tolist(), Y.tolist(), unlabelled=P[:20])
    table = dnip.fit(WHOLE, unlabelled=FRAME[:20])
    assert fitted.coefficients.weights.tolist() == table.coefficients.weights.tolist()
    assert fitted.evidence.verdict in repr(fitted)
    found = dnip.evaluate(P, Y, fitted.coefficients)
    for shown in (found, fitted, fitted.coefficients):
        assert "<td>cow</td>" in shown._repr_html_()
    page = dnip.report(P, Y, coefficients=fitted)
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.to_html()
    assert unescape(page._repr_html_().split('"')[1]) == page.to_html()
    assert len(repr(page)) < 600
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert "jinja2" in page._repr_html_()
