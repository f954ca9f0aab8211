"""Pictures of class accuracies: of few and many classes, whole or not at all."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from dnip.base.errors import MissingDependencyError, OutputError
from dnip.metrics import class_accuracies
from dnip.presenting.pictures import class_accuracy_figure, save_figure
from dnip.using.evaluation import Evaluation


def evaluation(n_classes, *, reweighted=True):
    raw, after = np.random.default_rng(0).integers(0, 9, (2, n_classes, n_classes))
    classes = tuple(f"class {c}" for c in range(n_classes))
    return Evaluation(classes, int(raw.sum()), 0, raw, after if reweighted else None)


@pytest.mark.parametrize("n_classes", [2, 12, 40])
@pytest.mark.parametrize("reweighted", [True, False])
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
