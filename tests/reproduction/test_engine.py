import os
import signal
import subprocess
import sys
import time

import pytest

from dnip.base.errors import OutputError
from dnip.presenting import results as writing
from fake_cells import (
    FakeRequest,
    describe,
    die,
    draw,
    fail_without,
    fake,
    fill_disk,
    no_number,
    process,
)
from reproduction.cell import TableRef
from reproduction.engine import run_cells
from reproduction.store import Store


def run(cells, folder, requests=None, **settings):
    folder.mkdir(exist_ok=True)
    return run_cells({"fake": cells}, requests or {}, Store(folder), **settings)


def by_label(outcome):
    return {row.labels["label"]: row.result for row in outcome.results["fake"]}


def test_cells_are_computed_once_and_kept(tmp_path):
    log = tmp_path / "log"
    cells = [fake(draw, seed, seed=seed, log=str(log)) for seed in range(4)]
    first = run(cells, tmp_path / "cells", jobs=2)
    again = run(cells, tmp_path / "cells", jobs=1)
    assert by_label(first) == by_label(again)
    assert [row.labels["label"] for row in first.results["fake"]] == [0, 1, 2, 3]
    assert sorted(log.read_text().split()) == ["0", "1", "2", "3"]
    assert (first.n_cells, first.n_reused, again.n_reused) == (4, 0, 4)


def test_two_cells_of_the_same_work_are_computed_once(tmp_path):
    log = tmp_path / "log"
    cells = [fake(draw, name, seed=7, log=str(log)) for name in "ab"]
    outcome = run(cells, tmp_path / "cells")
    assert by_label(outcome)["a"] == by_label(outcome)["b"]
    assert log.read_text() == "7\n"
    assert outcome.n_cells == 1


def test_one_more_setting_is_other_work(tmp_path):
    run([fake(draw, "a", seed=1)], tmp_path)
    outcome = run([fake(draw, "a", seed=1), fake(draw, "b", seed=2)], tmp_path)
    assert outcome.n_reused == 1


def test_cells_run_in_processes_of_their_own_with_the_threads_asked_for(tmp_path, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cells = [fake(process, seed, seed=seed) for seed in range(3)]
    found = by_label(run(cells, tmp_path, jobs=1, threads=3)).values()
    assert len({result["pid"] for result in found}) == 1
    assert os.getpid() not in {result["pid"] for result in found}
    assert {result["threads"] for result in found} == {"3"}
    assert "OMP_NUM_THREADS" not in os.environ


def test_a_cell_that_fails_stops_no_other_and_can_be_run_again(tmp_path):
    there = tmp_path / "there"
    cells = [
        fake(fail_without, "bad", path=str(there)),
        *(fake(draw, seed, seed=seed) for seed in range(3)),
    ]
    outcome = run(cells, tmp_path / "cells", jobs=2)
    assert set(by_label(outcome)) == {0, 1, 2}
    assert list(outcome.failures) == ["fake bad"]
    assert f"ValueError: no file {there}" in outcome.failures["fake bad"]
    assert "fail_without" in outcome.traces["fake bad"]
    there.touch()
    again = run(cells, tmp_path / "cells")
    assert not again.failures
    assert again.n_reused == 3
    assert by_label(again)["bad"] == {"found": True}


def test_a_process_that_dies_takes_only_its_own_cell_with_it(tmp_path):
    cells = [fake(die, "bad", seed=0), *(fake(draw, seed, seed=seed) for seed in range(4))]
    outcome = run(cells, tmp_path, jobs=2)
    assert set(by_label(outcome)) == {0, 1, 2, 3}
    assert "SIGKILL" in outcome.failures["fake bad"]


def test_a_result_that_is_no_json_is_a_failure_of_its_cell(tmp_path):
    outcome = run([fake(no_number, "bad", seed=0), fake(draw, "good", seed=0)], tmp_path)
    assert set(by_label(outcome)) == {"good"}
    assert "JSON" in outcome.failures["fake bad"]


def test_outputs_that_cannot_be_written_stop_the_run_and_keep_what_is_done(tmp_path):
    cells = [fake(draw, "good", seed=0), fake(fill_disk, "bad", seed=0)]
    with pytest.raises(OutputError, match="No space left"):
        run(cells, tmp_path, jobs=1)
    assert run(cells[:1], tmp_path).n_reused == 1


def test_a_disk_that_fills_while_a_result_is_kept(tmp_path, monkeypatch):
    cells = [fake(draw, seed, seed=seed) for seed in range(3)]
    written = []

    def atomic_path(path):
        written.append(path)
        if len(written) == 2:
            raise OutputError(f"{path} cannot be written: No space left on device")
        return real(path)

    real = writing.atomic_path
    monkeypatch.setattr(writing, "atomic_path", atomic_path)
    with pytest.raises(OutputError, match="No space left"):
        run(cells, tmp_path)
    monkeypatch.undo()
    outcome = run(cells, tmp_path)
    assert outcome.n_reused == 1
    assert len(by_label(outcome)) == 3


def test_a_damaged_result_is_computed_again(tmp_path):
    cells = [fake(draw, "a", seed=1)]
    first = run(cells, tmp_path)
    (kept,) = tmp_path.glob("*.json")
    kept.write_text(kept.read_text()[:-20])
    again = run(cells, tmp_path)
    assert again.n_reused == 0
    assert by_label(again) == by_label(first)


def table_at(path):
    return TableRef(path.stem, f"key of {path}", str(path), 2, ("yes", "no"))


def test_cells_wait_for_their_tables_and_those_of_a_table_that_fails_are_reported(tmp_path):
    good, bad = table_at(tmp_path / "good.csv"), table_at(tmp_path / "bad.csv")
    requests = {good.key: FakeRequest(good.path), bad.key: FakeRequest(bad.path, fails=True)}
    cells = [
        fake(describe, "good", {"table": good}, factor=1),
        fake(describe, "bad", {"table": bad}, factor=1),
        fake(draw, "other", seed=0),
    ]
    outcome = run(cells, tmp_path / "cells", requests, jobs=2)
    assert set(by_label(outcome)) == {"good", "other"}
    assert outcome.failures == {
        "bad": "the model cannot be loaded",
        "fake bad": "its table bad could not be made",
    }
    assert (outcome.n_tables, outcome.n_tables_reused) == (2, 0)
    again = run(cells, tmp_path / "cells", {**requests, bad.key: FakeRequest(bad.path)})
    assert not again.failures
    assert by_label(again)["bad"]["rows"] == 2


@pytest.mark.parametrize("answers", [False, True])
def test_a_model_that_never_answers_is_given_up(tmp_path, answers):
    log = tmp_path / "log"
    refs = [table_at(tmp_path / f"{n}.csv") for n in range(8)]
    fails = [not (answers and n == 0) for n in range(8)]
    requests = {
        ref.key: FakeRequest(ref.path, fails=bad, log=str(log))
        for ref, bad in zip(refs, fails, strict=True)
    }
    other = table_at(tmp_path / "other.csv")
    requests[other.key] = FakeRequest(other.path, model="another")
    cells = [fake(describe, n, {"table": ref}, factor=n) for n, ref in enumerate([*refs, other])]
    outcome = run(cells, tmp_path / "cells", requests)
    assert len(log.read_text().split()) == (8 if answers else 3)
    assert set(by_label(outcome)) == ({0, 8} if answers else {8})
    given_up = outcome.failures.get("5 more tables of m")
    assert given_up == (None if answers else "not tried: the model cannot be loaded")


def test_a_table_is_not_made_where_no_cell_needs_it(tmp_path):
    ref = table_at(tmp_path / "t.csv")
    requests = {ref.key: FakeRequest(ref.path)}
    cells = [fake(describe, "a", {"table": ref}, factor=1)]
    run(cells, tmp_path / "cells", requests)
    (tmp_path / "t.csv").unlink()
    outcome = run(cells, tmp_path / "cells", requests)
    assert (outcome.n_reused, outcome.n_tables) == (1, 0)
    assert not (tmp_path / "t.csv").exists()


def test_no_more_processes_hold_a_model_than_the_plan_allows(tmp_path):
    refs = [table_at(tmp_path / f"{n}.csv") for n in range(4)]
    requests = {ref.key: FakeRequest(ref.path, log=str(tmp_path / "log")) for ref in refs}
    cells = [fake(describe, n, {"table": ref}, factor=n) for n, ref in enumerate(refs)]
    run(cells, tmp_path / "cells", requests, jobs=3, prompt_jobs=1)
    assert len(set((tmp_path / "log").read_text().split())) == 1


def test_the_line_of_progress_tells_what_is_left(tmp_path):
    lines = []
    cells = [fake(draw, seed, seed=seed, nap=0.05) for seed in range(4)]
    run(cells, tmp_path, progress=lines.append)
    assert lines[-1] == "4 of 4 cells"


SCRIPT = """
import sys
from pathlib import Path
from fake_cells import draw, fake
from reproduction.engine import run_cells
from reproduction.store import Store
if __name__ == "__main__":
    cells = [fake(draw, seed, seed=seed, nap=0.2) for seed in range(12)]
    folder = Path(sys.argv[1])
    folder.mkdir()
    run_cells({"fake": cells}, {}, Store(folder), jobs=2)
"""


def test_killed_midway_and_started_again_it_ends_with_the_same_results(tmp_path):
    cells = [fake(draw, seed, seed=seed, nap=0.2) for seed in range(12)]
    whole = run(cells, tmp_path / "whole", jobs=2)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    folder = tmp_path / "killed"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder)], env=environment, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while len(list(folder.glob("[!.]*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    _assert_that_workers_end(process.pid)
    done = len(list(folder.glob("[!.]*.json")))
    assert 3 <= done < 12
    resumed = run(cells, folder, jobs=1)
    assert resumed.n_reused == done
    assert by_label(resumed) == by_label(whole)


def _assert_that_workers_end(session):
    """No process of a killed run may stay behind."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        left = subprocess.run(
            ["ps", "-o", "pid=", "--sid", str(session)], capture_output=True, text=True, check=False
        ).stdout.split()
        if not left:
            return
        time.sleep(0.1)
    raise AssertionError(f"processes left: {left}")


def test_cells_get_their_tables_under_the_names_of_their_classes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("label,p0,p1\nyes,0.9,0.1\nno,0.2,0.8\n")
    outcome = run([fake(describe, "a", {"table": table_at(path)}, factor=2)], tmp_path / "cells")
    assert by_label(outcome)["a"] == {"rows": 2, "classes": ["yes", "no"], "factor": 2}
