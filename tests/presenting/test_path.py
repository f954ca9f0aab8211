"""A path over β as text, as files and as a picture."""

import json
import sys

import numpy as np
import pytest
from dnip.presenting.path import FILES, describe_choice, present_path

from cases import cases
from dnip import ProbabilityTable
from dnip.fitting.path import trace_path
from dnip.presenting.pictures import save_figure
from populations import biased_rows

BETAS = (0.1, 0.5, 2.7)


def made(n_classes=4, n_rows=300, *, test=True, evidence=True):
    opt, held_out = (
        ProbabilityTable(rows.probabilities, rows.labels)
        for seed in (0, 1)
        for rows in [
            biased_rows(np.random.default_rng(seed), n_rows, bias=np.linspace(1.5, -1.5, n_classes))
        ]
    )
    return trace_path(opt, test=held_out if test else None, betas=BETAS, evidence=evidence)


@pytest.fixture(scope="module")
def path():
    return made()


def test_the_text_holds_raw_and_every_beta_and_marks_knee_and_choice(path):
    chosen = next(place for place in range(3) if place != path.knee)
    lines = present_path(path, {}, chosen).to_text().splitlines()
    assert " ".join(lines[0].split()) == "on other rows on the test table"
    assert lines[2].split()[0] == "raw"
    for place, point in enumerate(path.points):
        mark = {path.knee: "knee", chosen: "*"}.get(place)
        words = lines[3 + place].split()
        assert words[0] == (mark or f"{point.beta:g}")
        tested = point.test.to_dict()["reweighted"]
        shown = [*(point.expected[name] for name in ("accuracy", "cobias")), tested["accuracy"]]
        numbers = words[1 + (mark is not None) :]
        assert [numbers[at] for at in (0, 1, 3)] == [f"{number:.3f}" for number in shown]
    assert len({len(line) for line in lines[1:6]}) == 1
    told = describe_choice(path, chosen)
    assert told.startswith(f"chosen: β = {BETAS[chosen]:g}, accuracy ")
    assert told.endswith(f"verdict: {path.points[chosen].fit.verdict}")


def test_what_was_not_judged_is_said_to_be_of_the_fitted_rows():
    text = present_path(made(test=False, evidence=False), {}).to_text()
    assert text.splitlines()[0].split() == ["on", "the", "fitted", "rows"]
    assert "as refits expect" not in text


def test_the_files_are_the_summary_and_a_picture(path, tmp_path, monkeypatch):
    FILES.prepare(tmp_path / "both")
    summary = path.to_dict()
    written = FILES.write(tmp_path / "both", present_path(path, summary))
    assert [file.name for file in written] == ["pareto.json", "pareto.png"]
    assert json.loads(written[0].read_text()) == summary
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    FILES.write(tmp_path, present_path(path, summary))
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == ["pareto.json"]


@cases(
    {"n_classes": 2, "test": False},
    {"n_classes": 12},
    {"n_classes": 3, "n_rows": 40, "evidence": False},
)
def test_all_kinds_of_paths_can_be_drawn(tmp_path, settings):
    save_figure(present_path(made(**settings), {}, 1).figure, tmp_path / "path.png")
    assert (tmp_path / "path.png").stat().st_size > 5000
