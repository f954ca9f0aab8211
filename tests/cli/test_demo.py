"""``dnip demo``: the main job, with and without matplotlib."""

import sys
from pathlib import Path

import pytest

from dnip import Coefficients


def test_json_holds_the_fit_the_test_and_the_files(dnip, folder):
    run = dnip("demo", "--json")
    assert (run.status, run.err) == (0, "")
    summary = run.json
    names = ["coefficients.json", "class_accuracies.png", "report.md"]
    assert summary["written"] == [f"dnip-demo/{name}" for name in names]
    assert all(Path(path).stat().st_size > 0 for path in summary["written"])
    assert summary["test"]["reweighted"]["cobias"] < summary["test"]["raw"]["cobias"] / 2
    assert summary["test"]["reweighted"]["accuracy"] > summary["test"]["raw"]["accuracy"]
    fitted = Coefficients.load("dnip-demo/coefficients.json")
    assert fitted.weight_indices.tolist() == summary["weight_indices"]


def test_without_matplotlib_it_says_how_to_get_the_picture(dnip, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    run = dnip("demo", "--out", "results")
    assert run.status == 0
    assert "written: results/coefficients.json, results/report.md\n" in run.out
    assert run.err == "note: the picture needs matplotlib: pip install 'dnip[plot]'\n"


@pytest.mark.parametrize("out", ["file", "file/folder"])
def test_a_folder_that_cannot_be_made(dnip, folder, out):
    Path("file").write_text("old")
    dnip("demo", "--out", out).assert_refused(f"{out}: cannot make the folder", "--out")
    assert Path("file").read_text() == "old"
