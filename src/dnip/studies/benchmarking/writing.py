"""A race as files in a folder."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dnip.presenting.result_files import ResultFiles
from dnip.studies.benchmarking.picture import draw_race
from dnip.studies.benchmarking.text import describe_race

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from dnip.studies.benchmarking.results import Race

FILES = ResultFiles("bench.json", "bench.csv", "bench.png", "bench.md")


def write_race(race: Race, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write results, courses, page and picture into a folder, and return what was written.

    The picture is left out where matplotlib is not installed, or no run was finished.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    draw = partial(draw_race, race) if race.runs else None
    return FILES.write(folder, race.to_dict(), _courses(race), draw, describe_race(race))


def _courses(race: Race) -> Iterator[list[Any]]:
    yield ["contestant", "seed", "seconds", "evaluations", "objective"]
    for run in race.runs:
        for moment in run.course:
            spent = (f"{moment.seconds:.6f}", moment.evaluations)
            yield [run.contestant, run.seed, *spent, moment.value]
