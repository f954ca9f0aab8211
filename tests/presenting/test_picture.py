"""Pictures are written whole, in the format of the suffix, or not at all."""

import numpy as np
import pytest

from dnip.presenting.drawing import save_figure
from dnip.presenting.evaluation import class_accuracy_figure
from dnip.tables.evaluation import Evaluation


def evaluation(n_classes, *, reweighted=True):
    rng = np.random.default_rng(0)
    raw, after = rng.integers(0, 9, (2, n_classes, n_classes))
    names = tuple(f"class {c}" for c in range(n_classes))
    return Evaluation(names, int(raw.sum()), 0, raw, after if reweighted else None)


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
