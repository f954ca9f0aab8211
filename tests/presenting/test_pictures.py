"""Pictures: bars and paths in files, whole or not at all; displays draw the same numbers."""

import sys
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from cases import cases
from dnip import ClassAccuracyDisplay, Coefficients, DNIPClassifier, PathDisplay, ProbabilityTable
from dnip.base.errors import (
    CoefficientsFormatError,
    InvalidInputError,
    MissingDependencyError,
    OutputError,
)
from dnip.fitting import trace_path
from dnip.metrics import class_accuracies
from dnip.presenting.pictures import class_accuracy_figure, frame_front, path_figure, save_figure
from dnip.using.evaluation import Evaluation
from populations import biased_rows

mpl.use("agg")
pyplot = pytest.importorskip("matplotlib.pyplot")


def evaluation(n_classes, *, reweighted=True):
    raw, after = np.random.default_rng(0).integers(0, 9, (2, n_classes, n_classes))
    classes = tuple(f"class {c}" for c in range(n_classes))
    return Evaluation(classes, int(raw.sum()), 0, raw, after if reweighted else None)


@cases((2, False), (40, True))
def test_accuracies_of_few_and_many_classes_are_drawn(tmp_path, n_classes, reweighted):
    result = evaluation(n_classes, reweighted=reweighted)
    result.raw[n_classes // 2] = 0  # a class without rows
    save_figure(class_accuracy_figure(result), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_an_adjustment_to_another_class_mix_has_bars_of_its_own():
    plain = evaluation(3)
    mixed = replace(plain, adjusted=plain.raw.T.copy(), target=np.array([0.8, 0.1, 0.1]))
    figure = Figure()
    class_accuracy_figure(mixed).draw(figure)
    lines = figure.axes[0].get_title(loc="left").splitlines()
    assert [line.split(":")[0] for line in lines] == ["before", "after", "adjusted"]
    assert f"accuracy {class_accuracies(plain.raw) @ mixed.target:.3f}" in lines[0]
    bars = [bar.get_height() for bar in figure.axes[0].containers[2]]
    assert bars == pytest.approx(100 * class_accuracies(mixed.adjusted))


def test_what_cannot_be_drawn_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "picture.png"
    path.write_bytes(b"old")
    with pytest.raises(OutputError, match="it is a folder"):
        save_figure(class_accuracy_figure(evaluation(2)), tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install '.\[plot\]'"):
        save_figure(class_accuracy_figure(evaluation(2)), path)
    assert path.read_bytes() == b"old"


@cases({"n_classes": 2}, {"n_classes": 12}, {"n_classes": 3, "n_rows": 40, "evidence": False})
def test_all_kinds_of_paths_can_be_drawn(tmp_path, settings):
    settings = {"n_rows": 90, "evidence": True, **settings}
    bias = np.linspace(1.5, -1.5, settings["n_classes"])
    rows = biased_rows(np.random.default_rng(0), settings["n_rows"], bias=bias)
    table = ProbabilityTable(rows.probabilities, rows.labels)
    path = trace_path(table, betas=(0.1, 0.5, 2.7), evidence=settings["evidence"])
    save_figure(path_figure(path), tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 5000


# --- displays ---
NAMES = np.array(["ant", "bee", "cow"])


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def fitted():
    kinds = {"n_informative": 4, "n_classes": 3, "weights": [0.7, 0.2, 0.1]}
    X, y = make_classification(300, random_state=0, **kinds)
    return DNIPClassifier(LogisticRegression(), beta=0.5).fit(X, NAMES[y]), X, NAMES[y]


def test_an_estimator_and_its_predictions_draw_class_accuracies_before_and_after(fitted):
    classifier, X, y = fitted
    shown = ClassAccuracyDisplay.from_estimator(classifier, X, y)
    p = classifier.estimator_.predict_proba(X)
    _, axes = pyplot.subplots()
    again = ClassAccuracyDisplay.from_predictions(y, p, classifier.coefficients_, ax=axes)
    assert (again.ax_, again.figure_) == (axes, axes.figure)
    models = classifier.estimator_, classifier
    for bars, same, model in zip(shown.ax_.containers, axes.containers, models, strict=True):
        right = [100 * (model.predict(X)[y == name] == name).mean() for name in NAMES]
        assert [bar.get_height() for bar in bars] == pytest.approx(right)
        assert [bar.get_height() for bar in same] == pytest.approx(right)


def test_a_path_is_drawn_where_its_points_lie():
    rows = biased_rows(np.random.default_rng(0), 90, bias=[1.5, 0.0, -1.5])
    path = trace_path(rows.probabilities, rows.labels, betas=(0.1, 0.5, 2.7))
    drawn, chosen, *_ = PathDisplay(path, chosen=1).plot().ax_.lines
    points = [[point.expected[name] for name in ("cobias", "accuracy")] for point in path.points]
    assert np.transpose(drawn.get_data()).tolist() == points
    assert np.transpose(chosen.get_data()).tolist() == points[1:2]


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
