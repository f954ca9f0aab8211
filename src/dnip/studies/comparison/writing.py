"""A comparison as files in a folder."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dnip.metrics import scores
from dnip.presenting.result_files import ResultFiles
from dnip.studies.comparison.picture import draw_comparison
from dnip.studies.comparison.results import COMPARED
from dnip.studies.comparison.text import describe_comparison

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from dnip.studies.comparison.results import Comparison

FILES = ResultFiles("results.json", "runs.csv", "comparison.png", "results.md")


def write_comparison(comparison: Comparison, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write results, runs, page and picture into a folder, and return what was written.

    The picture is left out where matplotlib is not installed, or no method was finished.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    draw = partial(draw_comparison, comparison) if comparison.outcomes else None
    text = describe_comparison(comparison)
    return FILES.write(folder, comparison.to_dict(), _runs(comparison), draw, text)


def _runs(comparison: Comparison) -> Iterator[list[Any]]:
    yield ["method", "seed", "seconds", *COMPARED]
    for outcome in comparison.outcomes:
        for run in outcome.runs:
            told = scores(run.confusion)
            values = [told[metric] for metric in COMPARED]
            yield [outcome.name, run.seed, f"{run.seconds:.6f}", *values]
