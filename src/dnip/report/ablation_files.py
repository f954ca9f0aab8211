"""An ablation as files in a folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

from dnip.ablation import METRICS
from dnip.errors import MissingDependencyError
from dnip.files import atomic_path, check_writable, make_folder
from dnip.report.ablation_picture import draw_ablation

if TYPE_CHECKING:
    import os

    from dnip.ablation import Ablation

RESULTS, ROWS, PICTURE = "ablation.json", "ablation.csv", "ablation.png"


def prepare_folder(folder: str | os.PathLike[str]) -> None:
    """Make the folder and see that all files can be written there, before the fits.

    Raises
    ------
    OutputError
        If one cannot.
    """
    target = make_folder(folder)
    for name in (RESULTS, ROWS, PICTURE):
        check_writable(target / name)


def write_ablation(found: Ablation, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write an ablation as JSON, as CSV and as a picture, and return what was written.

    The picture is left out where matplotlib is not installed.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    target = Path(folder)
    written = [target / RESULTS, target / ROWS]
    with atomic_path(target / RESULTS) as temporary:
        text = json.dumps(found.to_dict(), indent=2, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    with atomic_path(target / ROWS) as temporary, temporary.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["objective", "rows", "seed", *METRICS])
        for row in found.rows:
            for name, side in (("opt", row.opt), ("test", row.test)):
                for place, confusion in enumerate(() if side is None else side.confusions):
                    seed = found.seeds[place] if row.fits else ""
                    scored = [metric(confusion) for metric in METRICS.values()]
                    writer.writerow([row.name, name, seed, *scored])
    try:
        draw_ablation(found, target / PICTURE)
        written.append(target / PICTURE)
    except MissingDependencyError:
        pass  # the table goes without its picture
    return tuple(written)
