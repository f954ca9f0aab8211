"""The demonstration on the bundled table: what it writes, and that it helps."""

import sys

import numpy as np
import pytest

from dnip import Coefficients
from dnip.comparing.demonstration import CLASSES, run_demonstration
from dnip.metrics import scores

PNG_START, PNG_END = b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"


@pytest.fixture(scope="module")
def demonstration(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return run_demonstration(folder), folder


@pytest.fixture
def no_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def test_classes_come_closer_and_accuracy_rises(demonstration):
    result, _ = demonstration
    before, after = scores(result.test.raw), scores(result.test.reweighted)
    assert after["cobias"] < before["cobias"] / 2
    assert after["accuracy"] > before["accuracy"]
    assert after["worst_class_accuracy"] > before["worst_class_accuracy"]


def test_three_files_are_written(demonstration):
    result, folder = demonstration
    written = ["coefficients.json", "class_accuracies.png", "report.md"]
    assert [path.name for path in result.written] == written
    assert sorted(path.name for path in folder.iterdir()) == sorted(written)
    fitted = Coefficients.load(folder / "coefficients.json")
    assert fitted.to_json() == result.fit.coefficients.to_json()
    picture = (folder / "class_accuracies.png").read_bytes()
    assert picture.startswith(PNG_START)
    assert picture.endswith(PNG_END)


def test_the_report_holds_the_numbers_and_the_picture(demonstration):
    result, folder = demonstration
    report = (folder / "report.md").read_text(encoding="utf-8")
    assert "![class accuracies](class_accuracies.png)" in report
    assert "3,800 labelled rows, scored on 3,800 others" in report
    assert f"{result.fit.solution.value:.6f}" in report
    for name, row in zip(CLASSES, result.fit.coefficients.weights, strict=True):
        assert f"{name} " in report
        assert f"{row:.3f}" in report


def test_it_runs_without_matplotlib_and_finds_the_same_weights(
    demonstration, tmp_path, no_matplotlib
):
    result = run_demonstration(tmp_path)
    assert [path.name for path in result.written] == ["coefficients.json", "report.md"]
    assert "![" not in (tmp_path / "report.md").read_text(encoding="utf-8")
    np.testing.assert_array_equal(
        result.fit.solution.weight_indices, demonstration[0].fit.solution.weight_indices
    )
