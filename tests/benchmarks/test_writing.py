"""Results as files, page and picture."""

import csv
import json
import sys

import pytest

from benchmarks.race.arena import Improvement
from benchmarks.race.presentation import FILES, present_race
from benchmarks.race.results import Race, Run
from dnip.base.errors import OutputError
from dnip.presenting.drawing import save_figure


def run(name, *course, bound=None):
    return Run(name, 0, (Improvement(0.0, 0, 0.9, (30, 30)), *course), 9, bound)


RUNS = (
    run("coordinate", Improvement(0.001, 3, 0.5, (3, 4)), bound=0.5),
    run("dual-annealing", Improvement(0.01, 1, 0.7, (1, 2)), Improvement(0.05, 8, 0.5, (3, 4))),
    run("dual-annealing (kernels)", Improvement(0.01, 1, 0.7, (1, 2))),
    run("authors-loops"),
)
RACE = Race(
    "news", 1234, ("a", "b"), 30, {}, 0.1, RUNS, {"cp-sat": "ortools is not installed"}, False
)


def test_the_page_says_all():
    lines = present_race(RACE).to_markdown().splitlines()
    assert lines[0] == "### news: 1,234 × 2"
    rows = {line.split("|")[1].strip(): line for line in lines if line.startswith("| ")}
    assert rows["coordinate"] == "| coordinate | 0.50000 | 0.50000 | 0.50000 | 9 | 1.0 ms | 0 |  |"
    peer = "| dual-annealing | 0.70000 | 0.50000 | 0.50000 | 9 | 50 ms |  | 50× |"
    assert rows["dual-annealing"] == peer
    none = "| authors-loops | 0.90000 | 0.90000 | 0.90000 | 9 | – |  | – |"
    assert rows["authors-loops"] == none
    assert "Best known Z: 0.500000, proven optimal. Speedup" in lines[-2]
    assert lines[-1] == "Left out, cp-sat: ortools is not installed."


def test_a_line_fits_on_a_terminal():
    assert max(map(len, present_race(RACE).to_text().split("\n\n")[1].splitlines())) <= 80


def test_a_race_without_runs_has_a_page():
    empty = Race("news", 4, ("a", "b"), 30, {}, 0.1, (), {}, interrupted=True)
    assert present_race(empty).to_markdown().endswith("No run was finished.")


def test_the_folder_holds_results_courses_picture_and_page(tmp_path):
    FILES.prepare(tmp_path / "new" / "folder")
    written = FILES.write(tmp_path / "new" / "folder", present_race(RACE))
    assert [path.name for path in written] == ["bench.json", "bench.csv", "bench.png", "bench.md"]
    results, courses, _, page = (path.read_bytes().decode(errors="replace") for path in written)
    assert json.loads(results)["contestants"][1]["name"] == "dual-annealing"
    assert list(csv.DictReader(courses.splitlines()))[3] == {
        "contestant": "dual-annealing",
        "seed": "0",
        "seconds": "0.010000",
        "evaluations": "1",
        "objective": "0.7",
    }
    assert page.startswith(present_race(RACE).to_markdown())
    assert "(bench.png)" in page


def test_without_matplotlib_the_page_goes_without_its_picture(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    written = FILES.write(tmp_path, present_race(RACE))
    assert [path.name for path in written] == ["bench.json", "bench.csv", "bench.md"]
    assert "bench.png" not in written[-1].read_text()


def test_the_picture_shows_everyone(tmp_path):
    save_figure(present_race(RACE).figure, tmp_path / "race.svg")
    picture = (tmp_path / "race.svg").read_text()
    for word in ("coordinate", "dual-annealing (kernels)", "authors-loops"):
        assert f"<!-- {word}" in picture


def test_a_folder_that_cannot_be_written_is_told_before_the_race(tmp_path):
    (tmp_path / "file").write_text("old")
    with pytest.raises(OutputError, match="cannot make the folder"):
        FILES.prepare(tmp_path / "file")
    (tmp_path / "bench.csv").mkdir()
    with pytest.raises(OutputError, match="it is a folder"):
        FILES.prepare(tmp_path)
