"""``python -m benchmarks``: the race from the shell, and results that are kept."""

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks import kept
from benchmarks.tables import print_markdown
from cases import cases

QUICK = ("--time-limit", "0.05", "--seeds", "1")


def test_on_the_bundled_table(bench, folder):
    run = bench(*QUICK, "--peers", "authors-loops", "--json")
    assert run.status == 0
    summary = run.json
    assert summary["n_classes"] == 4
    assert [one["name"] for one in summary["contestants"]][-1] == "authors-loops"
    assert "coordinate" in {one["name"] for one in summary["contestants"]}
    written = summary.pop("written")
    assert written[0] == "dnip-bench/bench.json"
    assert all(Path(path).stat().st_size > 0 for path in written)
    assert json.loads(Path("dnip-bench/bench.json").read_text()) == summary


def test_on_a_table_of_ones_own(bench, files):
    settings = ("--solvers", "exhaustive,coordinate", "--peers", "none", "--scale", "10")
    run = bench("t.csv", *QUICK, *settings, "--out", "results", "--classes", "0,1")
    assert (run.status, run.err) == (0, "")
    assert run.out.startswith("t.csv: 4 × 2\n\n")
    assert "proven optimal" in run.out
    assert Path("results/bench.md").read_text().splitlines()[0] == "### t.csv: 4 × 2"


def test_ctrl_c_keeps_what_is_finished(bench, files, monkeypatch):
    from benchmarks.race import PEERS
    from benchmarks.race.contestants import Contestant

    def interrupt(_arena, _seed):
        raise KeyboardInterrupt

    monkeypatch.setitem(PEERS, "cp-sat", Contestant("cp-sat", interrupt))
    run = bench("t.csv", *QUICK, "--solvers", "coordinate", "--peers", "cp-sat", "--json")
    assert (run.status, run.err) == (0, "interrupted: 1 finished runs are kept\n")
    assert run.json["interrupted"]
    assert [one["name"] for one in run.json["contestants"]] == ["coordinate"]


@cases(
    (["t.csv", "--time-limit", "0"], "time_limit must be a finite number above 0; got 0.0"),
    (["t.csv", "--time-limit", "nan"], "time_limit"),
    (["t.csv", "--seeds", "0"], "n_seeds must be a whole number of at least 1; got 0"),
    (["t.csv", "--scale", "1"], "scale must be a whole number of at least 2; got 1"),
    (["t.csv", "--beta", "-1"], "beta must be"),
    (["t.csv", "--peers", "magic"], "peers must be one of authors-loops"),
    (["t.csv", "--solvers", "magic"], "solvers must be one of coordinate"),
    (["t.csv", "--solvers", "none", "--peers", "none"], "nothing to run"),
    (["missing.csv"], "missing.csv: there is no such file"),
    (["unlabelled.csv"], "unlabelled.csv: no row has a label"),
    (["three.csv"], "three.csv: no labelled row of class 2"),
    (["t.csv", "--out", "t.csv"], "results and table lie one in the other"),
)
def test_bad_input(bench, files, arguments, told):
    Path("unlabelled.csv").write_text("p0,p1\n0.5,0.5\n")
    Path("three.csv").write_text("label,p0,p1,p2\n0,0.5,0.3,0.2\n1,0.2,0.6,0.2\n")
    bench("--json", *arguments).assert_refused(told)
    assert not list(Path("dnip-bench").glob("*"))


# --- results that are kept ---
def test_what_a_benchmark_prints_is_kept_below_a_line_that_says_of_what(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "commit", lambda: "commit abc")
    path = kept.keep("scores", lambda: print_markdown("Scores", ["a", "b"], []), tmp_path)
    first, *printed = path.read_text("utf-8").splitlines()
    assert first.startswith("`python -m benchmarks scores`, commit abc, 20")
    assert first.endswith(", defaults β = 2.7, τ = 0, scale log:1000, robust auto")
    assert printed == ["", "### Scores", "", "| a | b |", "| --- | ---: |"]


def test_results_name_the_last_commit_of_the_package_and_refuse_changes(tmp_path, monkeypatch):
    def git(*words):
        told = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
        return subprocess.check_output(told, cwd=tmp_path, text=True).strip()

    git("init", "-q")
    for name in ("src", "docs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("one")
        git("add", ".")
        git("commit", "-qm", name)
    monkeypatch.setattr(kept, "ROOT", tmp_path)
    (tmp_path / "docs" / "file").write_text("two")
    assert kept.commit() == f"commit {git('log', '-1', '--format=%h', 'HEAD~1')}"
    (tmp_path / "src" / "file").write_text("two")
    with pytest.raises(SystemExit, match="src has changes"):
        kept.commit()
