"""A race as files in a folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

from dnip.benchmarking.picture import draw_race
from dnip.benchmarking.text import describe_race
from dnip.errors import MissingDependencyError
from dnip.files import atomic_path, check_writable, make_folder

if TYPE_CHECKING:
    import os

    from dnip.benchmarking.results import Race

RESULTS, COURSES, PAGE, PICTURE = "bench.json", "bench.csv", "bench.md", "bench.png"


def prepare_folder(folder: str | os.PathLike[str]) -> None:
    """Make the folder and see that all files can be written there, before a long race.

    Raises
    ------
    OutputError
        If one cannot.
    """
    target = make_folder(folder)
    for name in (RESULTS, COURSES, PAGE, PICTURE):
        check_writable(target / name)


def write_race(race: Race, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write results, courses, page and picture into a folder, and return what was written.

    The picture is left out where matplotlib is not installed, or no run was finished.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    target = Path(folder)
    written = [target / RESULTS, target / COURSES]
    with atomic_path(target / RESULTS) as temporary:
        text = json.dumps(race.to_dict(), indent=2, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    with atomic_path(target / COURSES) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["contestant", "seed", "seconds", "evaluations", "objective"])
        for run in race.runs:
            for moment in run.course:
                spent = (f"{moment.seconds:.6f}", moment.evaluations)
                writer.writerow([run.contestant, run.seed, *spent, moment.value])
    if race.runs:
        try:
            draw_race(race, target / PICTURE)
            written.append(target / PICTURE)
        except MissingDependencyError:
            pass  # the page goes without its picture
    picture = f"\n![objective against time]({PICTURE})\n" if target / PICTURE in written else ""
    with atomic_path(target / PAGE) as temporary:
        temporary.write_text(f"{describe_race(race)}\n{picture}", encoding="utf-8")
    return (*written, target / PAGE)
