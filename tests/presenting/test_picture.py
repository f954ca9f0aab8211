"""Pictures are written whole, in the format of the suffix, or not at all."""

import sys

import numpy as np
import pytest

from dnip.base.errors import MissingDependencyError, OutputError
from dnip.presenting.drawing import save_figure
from dnip.presenting.evaluation import class_accuracy_figure
from dnip.tables.evaluation import Evaluation


def evaluation(n_classes, *, reweighted=True):
    rng = np.random.default_rng(0)
    raw, after = rng.integers(0, 9, (2, n_classes, n_classes))
    names = tuple(f"class {c}" for c in range(n_classes))
    return Evaluation(names, int(raw.sum()), 0, raw, after if reweighted else None)


@pytest.mark.parametrize(
    ("suffix", "start"), [("png", b"\x89PNG\r\n\x1a\n"), ("svg", b"<?xml"), ("pdf", b"%PDF")]
)
def test_the_suffix_names_the_format(tmp_path, suffix, start):
    path = tmp_path / f"picture.{suffix}"
    save_figure(class_accuracy_figure(evaluation(3)), path)
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("n_classes", [2, 12, 40])
def test_few_and_many_classes_with_and_without_coefficients(tmp_path, n_classes):
    for reweighted in (True, False):
        path = tmp_path / f"{reweighted}.png"
        save_figure(class_accuracy_figure(evaluation(n_classes, reweighted=reweighted)), path)
        assert path.stat().st_size > 1000


def test_a_class_without_rows_is_drawn_empty(tmp_path):
    raw = np.array([[2, 0, 0], [1, 1, 0], [0, 0, 0]])
    path = tmp_path / "picture.png"
    save_figure(class_accuracy_figure(Evaluation(("x", "y", "z"), 4, 0, raw, raw)), path)
    assert path.exists()


def test_what_cannot_be_drawn_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "picture.png"
    path.write_bytes(b"old")
    with pytest.raises(OutputError, match="it is a folder"):
        save_figure(class_accuracy_figure(evaluation(2)), tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'dnip\[plot\]'"):
        save_figure(class_accuracy_figure(evaluation(2)), path)
    assert path.read_bytes() == b"old"
