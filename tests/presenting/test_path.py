"""A front as text, as files and as a picture."""

import csv
import json
import sys

import numpy as np
import pytest
from dnip.fitting.pareto import Rule, trace_front
from dnip.presenting.front import FILES, present_front

from cases import cases
from dnip import ProbabilityTable
from dnip.metrics.expected import expected_cobias
from dnip.presenting.drawing import save_figure
from strategies import random_probabilities


def made(n_classes=4, n_rows=400, *, test=True, cross="off"):
    tables = []
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        p = random_probabilities(rng, n_rows, n_classes)
        follows, shares = rng.random(n_rows) < 0.6, np.arange(1, n_classes + 1)
        rare = rng.choice(n_classes, n_rows, p=shares / shares.sum())
        labels = np.where(follows, p.argmax(axis=1), rare)
        tables.append(ProbabilityTable(p, labels))
    opt, held_out = tables
    return trace_front(opt, held_out if test else None, scale=9, effort=0.1, cross=cross)


def shown(found, rule=None):
    return present_front(found, {}, rule).to_text()


@pytest.fixture(scope="module")
def found():
    return made()


def test_the_text_holds_the_ends_the_choice_and_what_they_are(found):
    last = len(found.front.points)
    text = shown(found, Rule.of(last - 1))
    lines = text.splitlines()
    assert lines[0].split() == ["opt", "test"]
    assert lines[2].split()[0] == "raw"
    assert [line.split()[1] for line in lines if line.split()[:1] == ["*"]] == [str(last - 1)]
    first = next(line.split() for line in lines if line.split()[:1] == ["1"])
    best = found.front.points[0]
    assert first[1:3] == [f"{best.accuracy:.3f}", f"{best.cobias:.3f}"]
    tested = found.test.points[0]
    assert first[3] == f"{expected_cobias(best.confusion):.3f}"
    assert first[5] == f"{np.trace(tested) / tested.sum():.3f}"
    assert len({len(line) for line in lines[1:5]}) == 1


def test_few_labels_are_told_of():
    few = shown(made(3, 60, cross="on"))
    assert few.splitlines()[0].split() == ["opt", "test", "left", "out"]
    assert "Few labels: class" in few
    assert "'left out' scores each row under a front found without it" in few
    assert "no rows were left out to check them" in shown(made(3, 60, cross="off"))
    assert "Few labels" not in shown(made(2, 400))


def test_the_files_hold_every_point(found, tmp_path):
    FILES.prepare(tmp_path / "results")
    summary = found.to_dict()
    written = FILES.write(tmp_path / "results", present_front(found, summary))
    assert [path.name for path in written] == ["pareto.json", "pareto.csv", "pareto.png"]
    assert json.loads(written[0].read_text()) == summary
    with written[1].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found.front.points)
    for row, point in zip(rows, summary["points"], strict=True):
        assert [int(row[f"weight_index:{c}"]) for c in range(4)] == point["weight_indices"]
        assert float(row["opt:cobias"]) == point["cobias"]
        assert float(row["test:accuracy"]) == point["test"]["accuracy"]
        assert [float(row[f"opt:{c}"]) for c in range(4)] == point["opt"]["class_accuracies"]


def test_without_matplotlib_the_data_goes_alone(found, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    written = FILES.write(tmp_path, present_front(found, found.to_dict()))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pareto.csv", "pareto.json"]
    assert len(written) == 2


@cases(
    {"n_classes": 2, "test": False},
    {"n_classes": 12},
    {"n_classes": 3, "n_rows": 40, "cross": "on"},
)
def test_all_kinds_of_fronts_can_be_drawn(tmp_path, settings):
    front = present_front(made(**settings), {}, Rule.of("min-cobias"))
    save_figure(front.figure, tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 5000
