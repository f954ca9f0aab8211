"""Results that are kept say of which code they are."""

import subprocess

import pytest

from benchmarks import kept
from benchmarks.tables import print_markdown


def test_what_a_benchmark_prints_is_kept_below_a_line_that_says_of_what(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "commit", lambda: "commit abc")
    path = kept.keep("scores", lambda: print_markdown("Scores", ["a", "b"], []), tmp_path)
    first, *printed = path.read_text("utf-8").splitlines()
    assert first.startswith("`python -m benchmarks scores`, commit abc, 20")
    assert first.endswith(", defaults β = 0.5, τ = 0, scale over the spread, robust auto")
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
