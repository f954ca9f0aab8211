"""Fits of very large tables: on a sample, and on all rows, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import Table, print_markdown

ROWS, GROUP_ROWS = 10_000_000, 500_000
# Share of a class over that of the one before.
MIXES = {"even": 1.0, "falling by a quarter": 0.75}
FORMATS = ("parquet",)

DNIP = str(Path(sys.executable).with_name("dnip"))

# A process inherits the peak of the one that starts it, so a small one starts them all.
_MEASURE = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def run(_tables: list[Table]) -> None:
    """Print the table."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for n_classes in (5, 14):
            for mix, factor in MIXES.items():
                for suffix in FORMATS:
                    path = Path(folder, f"opt.{suffix}")
                    write_table(path, n_classes, factor)
                    rows.append([f"{n_classes} classes, {mix}, {suffix}", *_fits(path)])
                    path.unlink()
    print_markdown(
        f"dnip fit on {ROWS:,} rows (whole processes)",
        [
            "table",
            "sample, s",
            "all rows, s",
            "sample, peak MB",
            "all rows, peak MB",
            "objective on all rows, sample",
            "all rows",
        ],
        rows,
    )


def _fits(path: Path) -> list[str]:
    seconds, peaks, objectives = [], [], []
    for rows in ("1000000", "all"):
        out = path.with_name("coefficients.json")
        command = [DNIP, "fit", str(path), "--rows", rows, "--out", str(out), "--robust", "off"]
        taken, peak = measure([*command, "--no-evidence"])
        seconds.append(f"{taken:.0f}")
        peaks.append(f"{peak:,.0f}")
        objectives.append(f"{json.loads(out.read_text())['objective']['value']:.5f}")
    return [*seconds, *peaks, *objectives]


def write_table(path: Path, n_classes: int, factor: float, n_rows: int = ROWS) -> None:
    """Write a table of normal logits, the true class raised and some classes favoured."""
    rng = np.random.default_rng(0)
    shares = factor ** np.arange(n_classes)
    favoured = rng.standard_normal(n_classes)
    names = [f"p{index}" for index in range(n_classes)]
    writer = None
    for _ in range(n_rows // GROUP_ROWS):
        labels = rng.choice(n_classes, GROUP_ROWS, p=shares / shares.sum())
        p = 1.2 * rng.standard_normal((n_classes, GROUP_ROWS)) + favoured[:, None]
        p[labels, np.arange(GROUP_ROWS)] += 2 + 0.75 * np.log(n_classes)
        np.exp(p, out=p)
        p /= p.sum(axis=0)
        group = pa.table({"label": labels, **dict(zip(names, p, strict=True))})
        writer = writer or pq.ParquetWriter(path, group.schema)
        writer.write_table(group)
    if writer is not None:
        writer.close()


def measure(command: list[str]) -> tuple[float, float]:
    """Return the wall time of a process in seconds, and its peak memory in MB."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *command], check=True, stdout=subprocess.PIPE, text=True
    )
    seconds, kilobytes = done.stdout.split()
    return float(seconds), int(kilobytes) * 1024 / 1e6
