"""Odd classes against counting by hand, and pictures without texts that overlap."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import oracles
from reproduction.odd_classes import MOST_CLASSES, _flows, draw_odd_classes, size_of
from strategies import seeded


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


def drawn(names, *sides):
    figure = Figure(size_of(names, len(sides)), layout="constrained")
    panels = figure.subplots(1, len(sides), squeeze=False).ravel()
    draw_odd_classes(panels, names, {f"side {n}": side for n, side in enumerate(sides)})
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08, wspace=0.06)
    FigureCanvasAgg(figure).draw()
    return figure


@pytest.mark.parametrize("n_classes", [2, 6, 14, 40])
@pytest.mark.parametrize("n_sides", [1, 2])
@pytest.mark.parametrize("name", ["Transportation and other means", "class"])
def test_no_text_overlaps_another_or_leaves_the_picture(n_classes, n_sides, name):
    sides = np.random.default_rng(0).integers(0, 9, (n_sides, n_classes, n_classes))
    for side in sides:
        side[0, 1:] = 0  # a class without errors
        side[1:, 0] += 9  # and one that all are taken for
        side[1] = 0  # and one without rows
    figure = drawn([f"{c} {name}" for c in range(n_classes)], *sides)
    renderer = figure.canvas.get_renderer()
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


def test_the_least_accurate_of_many_classes_are_drawn():
    counts = np.ones((40, 40), int)
    counts[np.arange(40), np.arange(40)] = np.arange(40)[::-1]
    figure = drawn([f"class {c}" for c in range(40)], counts)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [f"class {c}" for c in range(10, 40)]
    assert figure.axes[0].get_xlabel() == "The 30 least accurate of 40 classes"
