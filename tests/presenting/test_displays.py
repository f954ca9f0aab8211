"""Displays draw the numbers of the evaluation, into new axes or into given ones."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from dnip import ClassAccuracyDisplay, Coefficients, DNIPClassifier, DNIPWarning, PathDisplay
from dnip.base.errors import CoefficientsFormatError, InvalidInputError
from dnip.comparing.demonstration import bundled_table
from dnip.presenting.pictures import frame_front

mpl.use("agg")
pyplot = pytest.importorskip("matplotlib.pyplot")
EVERY = [ClassAccuracyDisplay, PathDisplay]
NAMES = np.array(["ant", "bee", "cow"])


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def fitted():
    kinds = {"n_informative": 4, "n_classes": 3, "weights": [0.7, 0.2, 0.1]}
    X, y = make_classification(300, random_state=0, **kinds)
    with pytest.warns(DNIPWarning, match="accuracy falls"):
        return DNIPClassifier(LogisticRegression(), beta=2.7).fit(X, NAMES[y]), X, NAMES[y]


@pytest.mark.parametrize("display", EVERY)
def test_an_estimator_and_its_predictions_draw_the_same(display, fitted):
    classifier, X, y = fitted
    shown = display.from_estimator(classifier, X, y)
    p = classifier.estimator_.predict_proba(X)
    _, axes = pyplot.subplots()
    again = display.from_predictions(y, p, classifier.coefficients_, ax=axes)
    assert again.ax_ is axes
    assert again.figure_ is axes.figure
    pictures = []
    for each in (shown, again):
        each.figure_.set_size_inches(6, 4)
        each.figure_.set_layout_engine("tight")
        each.figure_.canvas.draw()
        pictures.append(np.asarray(each.figure_.canvas.buffer_rgba()))
    assert np.array_equal(*pictures)


def test_bars_are_class_accuracies_before_and_after(fitted):
    classifier, X, y = fitted
    bars = ClassAccuracyDisplay.from_estimator(classifier, X, y).ax_.containers
    for drawn, model in zip(bars, (classifier.estimator_, classifier), strict=True):
        right = [100 * (model.predict(X)[y == name] == name).mean() for name in NAMES]
        assert [bar.get_height() for bar in drawn] == pytest.approx(right)


@pytest.mark.parametrize("display", EVERY)
def test_probabilities_alone_will_do(display):
    table = bundled_table("test").take(np.arange(200))
    shown = display.from_predictions(table.labels, table.probabilities, classes=table.classes)
    assert shown.figure_.axes[0] is shown.ax_


def test_bad_input_is_refused():
    p, y = [[0.9, 0.1], [0.3, 0.7]], ["a", "b"]
    with pytest.raises(InvalidInputError):
        ClassAccuracyDisplay.from_predictions(["a", "a"], p, classes=["a", "b"])
    with pytest.raises(CoefficientsFormatError):
        ClassAccuracyDisplay.from_predictions(y, p, Coefficients(["x", "y"], [1, 1], 2), classes=y)


@pytest.mark.parametrize("raw", [(0.6, 0.4), (0.11, 0.71)])
def test_axes_of_a_front_end_where_its_points_do_and_an_arrow_leads_to_what_is_far(raw):
    axes = pyplot.figure().subplots()
    frame_front(axes, [(0.1, 0.7), (0.2, 0.8)], raw)
    assert (axes.get_xlim()[1], axes.get_ylim()[0]) == pytest.approx((0.215, 0.685))
    assert [text.get_text()[:10] for text in axes.texts] == ["raw argmax"] * (raw == (0.6, 0.4))
    assert len(axes.lines) == (raw == (0.11, 0.71))
