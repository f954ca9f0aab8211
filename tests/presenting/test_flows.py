"""Flows against counting by hand, and pictures without texts that overlap."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import oracles
from dnip.base.errors import MissingDependencyError, OutputError
from dnip.metrics import class_accuracies
from dnip.presenting.drawing import class_accuracy_figure, save_figure
from dnip.presenting.flows import MOST_CLASSES, _flows, odd_class_figure
from dnip.using.evaluation import Evaluation
from strategies import seeded


def evaluation(n_classes, *, reweighted=True, names=None, seed=0):
    rng = np.random.default_rng(seed)
    raw, after = rng.integers(0, 9, (2, n_classes, n_classes))
    classes = tuple(names or (f"class {c}" for c in range(n_classes)))
    return Evaluation(classes, int(raw.sum()), 0, raw, after if reweighted else None)


@seeded
@given(st.integers(2, 6).flatmap(lambda n: arrays(np.int64, (n, n), elements=st.integers(0, 9))))
def test_flows_are_those_that_counting_gives(confusion):
    confusion[0, 0] += not confusion.any()
    for c, flow in enumerate(_flows(confusion)):
        wrong = [int(n) for other, n in enumerate(confusion[c]) if other != c]
        if not confusion[c].sum():
            assert np.isnan(flow.rate)
        if sum(wrong) == 0:
            assert (flow.odd, flow.of_errors, flow.of_rows) == (-1, 0, 0)
            continue
        assert flow.odd == oracles.odd_class(confusion, c)
        assert flow.of_errors == pytest.approx(max(wrong) / sum(wrong))
        assert flow.of_rows == pytest.approx(max(wrong) / confusion[c].sum())
        assert flow.rate == pytest.approx(confusion[c, c] / confusion[c].sum())


@pytest.fixture
def drawn(tmp_path, monkeypatch):
    """A function from an evaluation to the figure that is drawn for it."""
    figures, save = [], Figure.savefig

    def keep(self, *arguments, **settings):
        figures.append(self)
        return save(self, *arguments, **settings)

    def draw(result):
        save_figure(odd_class_figure(result), tmp_path / "flows.png")
        return figures[0]

    monkeypatch.setattr(Figure, "savefig", keep)
    return draw


@pytest.mark.parametrize("n_classes", [2, 12, 40])
@pytest.mark.parametrize("reweighted", [True, False])
def test_accuracies_of_few_and_many_classes_are_drawn(tmp_path, n_classes, reweighted):
    result = evaluation(n_classes, reweighted=reweighted)
    result.raw[n_classes // 2] = 0  # a class without rows
    save_figure(class_accuracy_figure(result), tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 1000


@pytest.mark.parametrize("n_classes", [2, 6, 14, 40])
@pytest.mark.parametrize("reweighted", [True, False])
@pytest.mark.parametrize("name", ["Transportation and other means", "class"])
def test_no_text_overlaps_another_or_leaves_the_picture(drawn, n_classes, reweighted, name):
    names = [f"{c} {name}" for c in range(n_classes)]
    result = evaluation(n_classes, reweighted=reweighted, names=names)
    for side in (result.raw, result.reweighted) if reweighted else (result.raw,):
        side[0, 1:] = 0  # a class without errors
        side[1:, 0] += 9  # and one that all are taken for
        side[1] = 0  # and one without rows
    figure = drawn(result)
    renderer = FigureCanvasAgg(figure).get_renderer()
    texts = []
    for axes in figure.axes:
        texts += [*axes.texts, *axes.get_yticklabels(), axes.title, axes._left_title]
    shown = [text for text in texts if text.get_text() and text.get_visible()]
    assert len(shown) > 3 * min(n_classes, MOST_CLASSES)
    width, height = figure.canvas.get_width_height()
    boxes = [text.get_window_extent(renderer) for text in shown]
    for i, box in enumerate(boxes):
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= 0, shown[i]
        assert not [shown[j] for j in range(i) if box.overlaps(boxes[j])], shown[i]


def test_an_adjustment_to_another_class_mix_is_a_side_of_its_own(drawn):
    plain = evaluation(3)
    mixed = replace(plain, adjusted=plain.raw.T.copy(), target=np.array([0.8, 0.1, 0.1]))
    figure = drawn(mixed)
    titles = [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")]
    assert [title.split(":")[0] for title in titles] == ["before", "after", "adjusted"]
    rates = class_accuracies(plain.raw)
    assert f"accuracy {rates @ mixed.target:.3f}" in titles[0]


def test_the_least_accurate_of_many_classes_are_drawn(drawn):
    result = evaluation(40)
    result.raw[:] = 1
    result.raw[np.arange(40), np.arange(40)] = np.arange(40)[::-1]
    figure = drawn(result)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [f"class {c}" for c in range(10, 40)]
    assert figure.axes[0].get_xlabel() == "The 30 least accurate of 40 classes"


def test_what_cannot_be_drawn_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "flows.png"
    path.write_bytes(b"old")
    with pytest.raises(OutputError, match="it is a folder"):
        save_figure(odd_class_figure(evaluation(2)), tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install '.\[plot\]'"):
        save_figure(odd_class_figure(evaluation(2)), path)
    assert path.read_bytes() == b"old"
