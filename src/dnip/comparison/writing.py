"""A comparison as files in a folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

from dnip.comparison.picture import draw_comparison
from dnip.comparison.results import METRICS
from dnip.comparison.text import describe_comparison
from dnip.errors import MissingDependencyError
from dnip.evaluation import scores
from dnip.files import atomic_path, check_writable, make_folder

if TYPE_CHECKING:
    import os

    from dnip.comparison.results import Comparison

RESULTS, RUNS, PAGE, PICTURE = "results.json", "runs.csv", "results.md", "comparison.png"


def prepare_folder(folder: str | os.PathLike[str]) -> None:
    """Make the folder and see that all files can be written there, before long work.

    Raises
    ------
    OutputError
        If one cannot.
    """
    target = make_folder(folder)
    for name in (RESULTS, RUNS, PAGE, PICTURE):
        check_writable(target / name)


def write_comparison(comparison: Comparison, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write results, runs, page and picture into a folder, and return what was written.

    The picture is left out where matplotlib is not installed, or no method was finished.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    target = Path(folder)
    written = [target / RESULTS, target / RUNS]
    with atomic_path(target / RESULTS) as temporary:
        text = json.dumps(comparison.to_dict(), indent=2, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    with atomic_path(target / RUNS) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["method", "seed", "seconds", *METRICS])
        for outcome in comparison.outcomes:
            for run in outcome.runs:
                told = scores(run.confusion)
                values = [told[metric] for metric in METRICS]
                writer.writerow([outcome.name, run.seed, f"{run.seconds:.6f}", *values])
    if comparison.outcomes:
        try:
            draw_comparison(comparison, target / PICTURE)
            written.append(target / PICTURE)
        except MissingDependencyError:
            pass  # the page goes without its picture
    picture = f"\n![accuracy against COBias]({PICTURE})\n" if target / PICTURE in written else ""
    with atomic_path(target / PAGE) as temporary:
        temporary.write_text(f"{describe_comparison(comparison)}\n{picture}", encoding="utf-8")
    return (*written, target / PAGE)
