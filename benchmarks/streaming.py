"""Evaluate and apply on a table larger than memory, against a bare pyarrow scan of its columns."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.tables import Table, print_markdown
from dnip import Coefficients

REPEATS = 5
PARTS, ROW_GROUPS, ROWS, CLASSES = 10, 5, 1_000_000, 5
DNIP = str(Path(sys.executable).with_name("dnip"))

_SCAN = """
import sys
from pathlib import Path
import pyarrow.parquet as pq
writer = None
for part in sorted(Path(sys.argv[1]).glob("*.parquet")):
    for batch in pq.ParquetFile(part).iter_batches():
        if len(sys.argv) > 2:
            writer = writer or pq.ParquetWriter(
                sys.argv[2], batch.schema, compression="none", use_dictionary=["label"]
            )
            writer.write_batch(batch)
if writer:
    writer.close()
"""

# A process inherits the peak of the one that starts it, so a small one starts them all.
_MEASURE = """
import resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def run(_tables: list[Table]) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        parts, fitted = f"{folder}/parts", f"{folder}/coefficients.json"
        _write_parts(Path(parts))
        names = [str(index) for index in range(CLASSES)]
        Coefficients(names, [30, 12, 17, 29, 20], 30).save(fitted)
        given = [parts, "--coefficients", fitted]
        scan = [sys.executable, "-c", _SCAN, parts]
        commands = {
            "bare scan": scan,
            "dnip evaluate": [DNIP, "evaluate", *given, "--json"],
            "bare scan and write": [*scan, f"{folder}/copy.parquet"],
            "dnip apply": [DNIP, "apply", *given, "--out", f"{folder}/applied.parquet"],
        }
        turns = [{name: measure(line) for name, line in commands.items()} for _ in range(REPEATS)]
    rows = []
    for name in commands:
        seconds = [turn[name][0] for turn in turns]
        peak = max(turn[name][1] for turn in turns)
        ratios = {
            bare: statistics.median(turn[bare][0] / turn[name][0] for turn in turns)
            for bare in ("bare scan", "bare scan and write")
        }
        rows.append(
            [name, f"{statistics.median(seconds):.1f}", f"{peak:,.0f}"]
            + [f"{ratio:.2f}" for ratio in ratios.values()]
        )
    n_rows = PARTS * ROW_GROUPS * ROWS
    print_markdown(
        f"{n_rows:,} rows × {CLASSES} classes in {PARTS} Parquet files (whole processes, medians)",
        ["", "s", "peak memory, MB", "throughput / bare scan", "/ bare scan and write"],
        rows,
    )


def _write_parts(folder: Path) -> None:
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(PARTS):
        writer = None
        for _ in range(ROW_GROUPS):
            labels = rng.integers(CLASSES, size=ROWS)
            p = rng.random((CLASSES, ROWS))
            p[labels, np.arange(ROWS)] += 0.5
            columns = {f"p{index}": row for index, row in enumerate(p / p.sum(axis=0))}
            group = pa.table({"label": labels, **columns})
            writer = writer or pq.ParquetWriter(folder / f"part-{number}.parquet", group.schema)
            writer.write_table(group)
        assert writer is not None
        writer.close()


def measure(command: list[str]) -> tuple[float, float]:
    """Return the wall time of a process in seconds, and its peak memory in MB."""
    run = subprocess.run(
        [sys.executable, "-c", _MEASURE, *command], check=True, stdout=subprocess.PIPE, text=True
    )
    seconds, kilobytes = run.stdout.split()
    return float(seconds), int(kilobytes) * 1024 / 1e6
