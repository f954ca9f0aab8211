"""Kills: `dnip prompt`, killed at random moments and begun again, ends with the same table."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.prompting import DATASETS, MODEL, is_ready
from benchmarks.tables import Table, print_markdown

KILLS = 20
TASK, ROWS = "dbpedia", 5000


def run(_tables: list[Table]) -> None:
    """Print how many kills fell into scoring, and whether the tables are equal byte by byte."""
    if not is_ready("kills"):
        return
    with tempfile.TemporaryDirectory() as folder:
        whole, killed = Path(folder, "whole.csv"), Path(folder, "killed.csv")
        seconds = _finish(whole)
        chance = random.Random(0)
        # Drawn so that all kills together take up about half of the run.
        lines = [_kill(killed, chance.uniform(0, seconds / KILLS)) for _ in range(KILLS)]
        _finish(killed)
        same = killed.read_bytes() == whole.read_bytes()
    in_scoring = [line for line in lines if line is not None]
    print_markdown(
        f"SIGKILL at random moments of one run, resumed after each ({TASK}, {ROWS:,} rows)",
        ["kills", "while scoring", "rows noted at the first", "at the last", "same table"],
        [
            [
                f"{KILLS}",
                f"{len(in_scoring)}",
                f"{min(in_scoring, default=0):,}",
                f"{max(in_scoring, default=0):,}",
                "yes" if same else "NO",
            ]
        ],
    )


def _start(out: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "dnip", "prompt", TASK, "--data", f"{DATASETS / TASK}"]
    command += ["--model", f"{MODEL}", "--device", "cpu", "--limit", f"{ROWS}", "--truncate"]
    command += ["--out", f"{out}"]
    with _log(out).open("wb") as log:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)


def _finish(out: Path) -> float:
    """Run to the end; return the seconds from the first row on."""
    process = _start(out)
    _first_row(process, out)
    began = time.perf_counter()
    if process.wait() != 0:
        raise RuntimeError(_log(out).read_text(encoding="utf-8")[-1000:])
    return time.perf_counter() - began


def _kill(out: Path, seconds: float) -> int | None:
    """Kill a run some seconds after its first new row; return the rows noted by then.

    None where the run was not scoring any more.
    """
    process = _start(out)
    _first_row(process, out)
    time.sleep(seconds)
    process.kill()
    process.wait()
    return None if out.exists() else _noted(out)


def _log(out: Path) -> Path:
    return out.with_name(f"{out.name}.log")


def _first_row(process: subprocess.Popen[bytes], out: Path) -> None:
    before = _noted(out)
    while process.poll() is None and _noted(out) <= before:
        time.sleep(0.005)


def _noted(out: Path) -> int:
    """Return how many rows the journal holds, its first line and a half-written one apart."""
    journal = out.with_name(f"{out.name}.progress")
    return journal.read_bytes().count(b"\n") - 1 if journal.exists() else 0
