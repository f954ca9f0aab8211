"""An ablation as files in a folder."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dnip.fitting.ablation import COMPARED
from dnip.metrics import METRICS
from dnip.presenting.ablation_picture import draw_ablation
from dnip.presenting.result_files import ResultFiles

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from dnip.fitting.ablation import Ablation

FILES = ResultFiles("ablation.json", "ablation.csv", "ablation.png")


def write_ablation(found: Ablation, folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write an ablation as JSON, as CSV and as a picture, and return what was written.

    The picture is left out where matplotlib is not installed.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    return FILES.write(folder, found.to_dict(), _rows(found), partial(draw_ablation, found))


def _rows(found: Ablation) -> Iterator[list[Any]]:
    yield ["objective", "rows", "seed", *COMPARED]
    for row in found.rows:
        for name, side in (("opt", row.opt), ("test", row.test)):
            for place, confusion in enumerate(() if side is None else side.confusions):
                seed = found.seeds[place] if row.fits else ""
                scored = [METRICS[name].of(confusion) for name in COMPARED]
                yield [row.name, name, seed, *scored]
