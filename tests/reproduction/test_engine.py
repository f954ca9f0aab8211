"""Cells are computed once and kept by what they depend on, whatever fails or is killed."""

import os
import signal
import subprocess
import sys
import time

import pytest

from cases import cases
from dnip.base.errors import OutputError
from fake_cells import FakeRequest, describe, die, draw, fail_without, fake, fill_disk, no_number
from reproduction import cell as cell_room
from reproduction.cell import TableRef
from reproduction.engine import Cache, run_cells
from reproduction.fingerprints import hash_sources

TABLE = TableRef("t", "5e11", "t.csv", 100, ("no", "yes"))


def run(cells, folder, requests=(), **settings):
    wanted = {one.table.key: one for one in requests}
    return run_cells({"fake": cells}, wanted, Cache(folder / "cells"), **settings)


def by_label(outcome):
    return {row.labels["label"]: row.result for row in outcome.results["fake"]}


def test_cells_are_computed_once_and_kept(tmp_path):
    log = tmp_path / "log"
    cells = [fake(draw, n, seed=n, log=str(log)) for n in range(4)]
    cells.append(fake(draw, "same work as 3", seed=3, log=str(log)))
    assert not Cache(tmp_path / "cells").has(cells[0])
    assert not (tmp_path / "cells").exists()
    first = run(cells, tmp_path, jobs=2)
    again = run([*cells, fake(draw, "new", seed=9)], tmp_path, jobs=1)
    found = by_label(again)
    assert found.pop("new")
    assert by_label(first) == found
    assert list(found) == [0, 1, 2, 3, "same work as 3"]
    assert sorted(log.read_text().split()) == ["0", "1", "2", "3"]
    assert (first.counts["cells"], first.counts["cells_reused"]) == (4, 0)
    assert (again.counts["cells"], again.counts["cells_reused"]) == (5, 4)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_cell_that_fails_stops_no_other_and_can_be_run_again(tmp_path, jobs):
    there = tmp_path / "there"
    cells = [fake(fail_without, "bad", path=str(there)), fake(no_number, "nan", seed=0)]
    cells += [fake(draw, seed, seed=seed) for seed in range(3)]
    outcome = run(cells, tmp_path, jobs=jobs)
    assert set(by_label(outcome)) == {0, 1, 2}
    assert f"ValueError: no file {there}" in outcome.failures["fake bad"]
    assert "fail_without" in outcome.traces["fake bad"]
    assert "JSON" in outcome.failures["fake nan"]
    there.touch()
    again = run(cells, tmp_path)
    assert list(again.failures) == ["fake nan"]
    assert again.counts["cells_reused"] == 3
    assert by_label(again)["bad"] == {"found": True}


def test_a_process_that_dies_takes_only_its_own_cell_with_it(tmp_path):
    cells = [fake(die, "bad", seed=0), *(fake(draw, seed, seed=seed) for seed in range(4))]
    outcome = run(cells, tmp_path, jobs=2)
    assert set(by_label(outcome)) == {0, 1, 2, 3}
    assert outcome.failures == {"fake bad": "its process was killed; memory may have run out"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_outputs_that_cannot_be_written_stop_the_run_and_keep_what_is_done(tmp_path, jobs):
    good = fake(draw, "good", seed=0)
    run([good], tmp_path)
    with pytest.raises(OutputError, match="No space left"):
        run([good, fake(fill_disk, "bad", seed=0)], tmp_path, jobs=jobs)
    assert run([good], tmp_path).counts["cells_reused"] == 1


@pytest.mark.filterwarnings("ignore")
def test_a_damaged_result_is_computed_again(tmp_path):
    cells = [fake(draw, "a", seed=1)]
    first = run(cells, tmp_path)
    (kept,) = tmp_path.rglob("output.pkl")
    kept.write_bytes(kept.read_bytes()[:-20])
    assert by_label(run(cells, tmp_path)) == by_label(first)


def test_cells_of_a_table_that_cannot_be_made_are_reported(tmp_path):
    good = FakeRequest(str(tmp_path / "good.csv"))
    bad = FakeRequest(str(tmp_path / "bad.csv"), fails=True)
    cells = [
        fake(describe, "good", {"table": good.table}, factor=2),
        fake(describe, "bad", {"table": bad.table}, factor=1),
        fake(draw, "other", seed=0),
    ]
    outcome = run(cells, tmp_path, [good, bad], jobs=2)
    assert set(by_label(outcome)) == {"good", "other"}
    assert by_label(outcome)["good"] == {"rows": 2, "classes": ["yes", "no"], "factor": 2}
    lost = "its table bad could not be made"
    assert outcome.failures == {"bad": "the model cannot be loaded", "fake bad": lost}
    assert (outcome.counts["tables"], outcome.counts["tables_reused"]) == (2, 0)
    again = run(cells, tmp_path, [good, FakeRequest(bad.path)])
    assert not again.failures
    (tmp_path / "good.csv").unlink()  # no open cell needs it any more
    assert run(cells, tmp_path, [good]).counts["tables"] == 0


SCRIPT = """
import sys
from pathlib import Path
from fake_cells import draw, fake
from reproduction.engine import Cache, run_cells
if __name__ == "__main__":
    cells = [fake(draw, seed, seed=seed, nap=0.2) for seed in range(12)]
    run_cells({"fake": cells}, {}, Cache(Path(sys.argv[1]) / "cells"), jobs=2)
"""


def wait_until(holds):
    deadline = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_killed_midway_and_started_again_it_ends_with_the_same_results(tmp_path):
    cells = [fake(draw, seed, seed=seed, nap=0.2) for seed in range(12)]
    whole = run(cells, tmp_path / "whole", jobs=2)
    (tmp_path / "script.py").write_text(SCRIPT)
    folder = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "script.py"), str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        start_new_session=True,
    )
    wait_until(lambda: len(list(folder.rglob("output.pkl"))) >= 3)
    process.send_signal(signal.SIGKILL)
    process.wait()
    of_session = ["ps", "-o", "pid=", "--sid", str(process.pid)]  # workers end, too
    wait_until(lambda: not subprocess.run(of_session, capture_output=True, check=False).stdout)
    done = len(list(folder.rglob("output.pkl")))
    assert 3 <= done < 12
    resumed = run(cells, folder, jobs=1)
    assert resumed.counts["cells_reused"] == done
    assert by_label(resumed) == by_label(whole)


def test_labels_are_no_part_of_the_work_and_all_else_is(monkeypatch):
    one = fake(describe, "one", {"table": TABLE}, factor=1)
    assert one.key == fake(describe, "two", {"table": TABLE}, factor=1).key
    others = [
        fake(describe, "one", {"table": TABLE}, factor=2),
        fake(describe, "one", {"table": TABLE.side("opt", 0.5)}, factor=1),
        fake(describe, "one", {"table": TABLE.side("opt", 0.4)}, factor=1),
        fake(draw, "one", {"table": TABLE}, factor=1),
    ]
    before = one.key
    assert len({before, *(other.key for other in others)}) == 5
    monkeypatch.setattr(cell_room, "hash_package", lambda: "edited")
    assert one.key != before


@cases(
    lambda folder: (folder / "deep" / "b.py").write_text("y = 2"),
    lambda folder: (folder / "a.py").rename(folder / "c.py"),
    lambda folder: (folder / "deep" / "new.py").touch(),
)
def test_the_hash_of_sources_is_that_of_names_and_contents_at_any_depth(tmp_path, edit):
    (tmp_path / "deep").mkdir()
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "deep" / "b.py").write_text("y = 1")
    before = hash_sources.__wrapped__(tmp_path)
    (tmp_path / "notes.txt").write_text("no code")
    assert hash_sources.__wrapped__(tmp_path) == before
    edit(tmp_path)
    assert hash_sources.__wrapped__(tmp_path) != before
