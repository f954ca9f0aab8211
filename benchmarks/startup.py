"""Whole processes: what a user waits for beside the search."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.tables import Table, print_markdown

REPEATS = 7
PYTHON = sys.executable
DNIP = str(Path(PYTHON).with_name("dnip"))


def run(tables: list[Table]) -> None:
    """Print the table."""
    largest = max((t for t in tables if t.opt.n_classes <= 5), key=lambda t: len(t.opt))
    with tempfile.TemporaryDirectory() as folder:
        csv, out = f"{folder}/opt.csv", f"{folder}/coefficients.json"
        largest.opt.write(csv)
        fit = [DNIP, "fit", csv, "--out", out]
        helps = _paired([DNIP, "--help"], [PYTHON, "-c", "import typer, rich.console"])
        fits = _paired(fit, [PYTHON, "-c", "import numba"])
        first = _wall(fit, NUMBA_CACHE_DIR=f"{folder}/empty")
    rows = [
        ["dnip --help", _ms(helps[0]), "import typer, rich.console", _ms(helps[1]), helps[2]],
        [
            f"dnip fit, {len(largest.opt):,} × {largest.opt.n_classes} CSV, warm",
            _ms(fits[0]),
            "import numba",
            _ms(fits[1]),
            fits[2],
        ],
        ["the same, first after installing", _ms(first), "", "", ""],
    ]
    print_markdown(
        "Whole processes (medians)",
        ["command", "ms", "against", "ms", "ratio"],
        rows,
    )


def _paired(command: list[str], other: list[str]) -> tuple[float, float, str]:
    """Time two commands in turn; the ratio is the median of the pairs' ratios."""
    _wall(command), _wall(other)
    pairs = [(_wall(command), _wall(other)) for _ in range(REPEATS)]
    ratio = statistics.median(a / b for a, b in pairs)
    return *(statistics.median(side) for side in zip(*pairs, strict=True)), f"{ratio:.1f}×"


def _wall(command: list[str], **environment: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, **environment}
    )
    return time.perf_counter() - began


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.0f}"
