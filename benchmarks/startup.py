"""Whole processes: their processor time beside that of importing what a command line needs."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.tables import Table, print_markdown

REPEATS = 9
DNIP = str(Path(sys.executable).with_name("dnip"))
IMPORTS = [sys.executable, "-c", "import numpy, typer, rich.console"]
EXAMPLES = Path(__file__).parents[1] / "examples"


def run(_tables: list[Table]) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        out = f"{folder}/coefficients.json"
        fit = [DNIP, "fit", f"{EXAMPLES}/opt.csv", "--out", out]
        score = [f"{EXAMPLES}/test.csv", "--coefficients", out]
        first = [
            (_seconds(fit, f"{folder}/{i}a"), _seconds(IMPORTS, f"{folder}/{i}b")) for i in range(3)
        ]
        rows = [_row("dnip fit, before Python has kept any bytecode", first)]
        for name, command in {
            "dnip fit": fit,
            "dnip evaluate": [DNIP, "evaluate", *score],
            "dnip apply": [DNIP, "apply", *score, "--out", f"{folder}/rows.csv"],
            "dnip --help": [DNIP, "--help"],
        }.items():
            pairs = [(_seconds(command), _seconds(IMPORTS)) for _ in range(REPEATS)]
            rows.append(_row(name, pairs))
    print_markdown(
        "Whole processes, processor time (medians)",
        ["command", "ms", f"{IMPORTS[-1]}, ms", "ratio"],
        rows,
    )


def _row(name: str, pairs: list[tuple[float, float]]) -> list[str]:
    """Return a line of the table; the ratio is the median of the pairs' ratios."""
    own, other = (f"{statistics.median(side) * 1e3:.0f}" for side in zip(*pairs, strict=True))
    return [name, own, other, f"{statistics.median(a / b for a, b in pairs):.1f}×"]


def _seconds(command: list[str], bytecode: str = "") -> float:
    """Run a command; its bytecode is kept in a folder, or where it usually is."""
    kept = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": bytecode}
    before = _used()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **kept})
    return _used() - before


def _used() -> float:
    """Return the processor time of all processes that this one has started."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
