"""Many rows and many classes: time in plain evaluations, memory beyond the input, and growth."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time

import numpy as np

from benchmarks.one_fit import synthetic_table
from benchmarks.tables import Table, print_markdown
from dnip import solve

LARGE = ((1_000_000, 14), (50_000, 1_000))
# Fits of fewer seconds are measured more often.
SHORT, REPEATS, MOST_REPEATS = 2.0, 3, 7


def run(_tables: list[Table]) -> None:
    """Print the tables."""
    _large()
    _growth()


def _large() -> None:
    rows = []
    for n_rows, n_classes in LARGE:
        for kind in ("clear", "flat"):
            for dtype in ("float64", "float32"):
                case = [kind, str(n_rows), str(n_classes), dtype]
                command = [sys.executable, "-m", "benchmarks.one_fit", *case]
                run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                of = json.loads(run.stdout)
                rows.append(
                    [
                        f"{kind}, {n_rows:,} × {n_classes:,}, {dtype}",
                        f"{of['input'] / 1e6:.0f}",
                        f"{of['unit'] * 1e3:.0f}",
                        f"{of['seconds']:.1f}",
                        f"{of['seconds'] / of['unit']:.0f}",
                        f"{of['beyond'] / 1e6:.0f}",
                        f"{of['beyond'] / of['input']:.2f}×",
                        f"{of['libraries'] / 1e6:.0f}",
                    ]
                )
    print_markdown(
        "Large tables (default settings; memory beyond the input and beyond the libraries)",
        [
            "table",
            "input, MB",
            "unit, ms",
            "fit, s",
            "fit, units",
            "beyond, MB",
            "beyond / input",
            "libraries, MB",
        ],
        rows,
    )


def _growth() -> None:
    rows = []
    for kind in ("clear", "flat"):
        by_rows = [(round(10_000 * 10**power), 14) for power in (0, 0.5, 1, 1.25, 1.5, 1.75, 2)]
        by_classes = [(20_000, round(10 * 10**power)) for power in (0, 0.5, 1, 1.5, 2)]
        for title, sizes, axis in (("M, N = 14", by_rows, 0), ("N, M = 20,000", by_classes, 1)):
            wall, processor = zip(*(_seconds(kind, *size) for size in sizes), strict=True)
            varied = np.log([size[axis] for size in sizes])
            exponents = [
                np.polyfit(varied[-last:], np.log(seconds[-last:]), 1)[0]
                for last in (5, len(sizes))
                for seconds in (wall, processor)
            ]
            cells = [
                f"{size[axis]:,}: {1e9 * s / (size[0] * size[1]):,.0f}"
                for s, size in zip(wall, sizes, strict=True)
            ]
            rows.append([f"{kind}, {title}", "; ".join(cells), *[f"{e:.2f}" for e in exponents]])
    print_markdown(
        "Growth of a fit: wall time in ns per cell of the table, and exponents",
        [
            "table and what grows",
            "size: ns per cell",
            "last five sizes, wall",
            "processor",
            "all sizes, wall",
            "processor",
        ],
        rows,
    )


def _seconds(kind: str, n_rows: int, n_classes: int) -> tuple[float, float]:
    """Return the wall time of a fit and the processor time of all its threads (medians)."""
    p, labels = synthetic_table(kind, n_rows, n_classes, "float64")
    solve(p, labels, time_limit=0)
    times: list[tuple[float, float]] = []
    while len(times) < REPEATS or (len(times) < MOST_REPEATS and times[0][0] < SHORT):
        began = time.perf_counter(), time.process_time()
        solve(p, labels, seed=len(times))
        times.append((time.perf_counter() - began[0], time.process_time() - began[1]))
    wall, processor = zip(*times, strict=True)
    return statistics.median(wall), statistics.median(processor)
