"""A front as files in a folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.errors import MissingDependencyError
from dnip.files import atomic_path, check_writable, make_folder
from dnip.metrics import accuracy, class_accuracies, cobias, worst_class_accuracy
from dnip.pareto.expectation import expected_cobias
from dnip.report.front_picture import draw_front

if TYPE_CHECKING:
    import os

    from dnip.pareto import Rule, TradeOff
    from dnip.typing import Counts

RESULTS, POINTS, PICTURE = "pareto.json", "pareto.csv", "pareto.png"


def prepare_folder(folder: str | os.PathLike[str]) -> None:
    """Make the folder and see that all files can be written there, before the search.

    Raises
    ------
    OutputError
        If one cannot.
    """
    target = make_folder(folder)
    for name in (RESULTS, POINTS, PICTURE):
        check_writable(target / name)


def write_front(
    found: TradeOff,
    summary: dict[str, Any],
    folder: str | os.PathLike[str],
    rule: Rule | None = None,
) -> tuple[Path, ...]:
    """Write a front as JSON, as a table and as a picture, and return what was written.

    The picture is left out where matplotlib is not installed.

    Parameters
    ----------
    found : TradeOff
    summary : dict
        What the JSON file shall hold.
    folder : path-like
    rule : Rule, optional
        The point that it chooses is marked in the picture.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    target = Path(folder)
    written = [target / RESULTS, target / POINTS]
    with atomic_path(target / RESULTS) as temporary:
        text = json.dumps(summary, indent=2, allow_nan=False)
        temporary.write_text(text + "\n", encoding="utf-8")
    with atomic_path(target / POINTS) as temporary, temporary.open("w", newline="") as file:
        _write_points(found, csv.writer(file))
    try:
        draw_front(found, target / PICTURE, rule)
        written.append(target / PICTURE)
    except MissingDependencyError:
        pass  # the data goes without its picture
    return tuple(written)


def _write_points(found: TradeOff, writer: Any) -> None:  # noqa: ANN401
    """Write a line for each point: weights, then scores and class accuracies on each side."""
    front, test, cross = found.front, found.test, found.cross
    sides: dict[str, list[Counts]] = {
        "opt": [point.confusion for point in front.points],
        **({} if test is None else {"test": list(test.points)}),
        **({} if cross is None else {"left_out": list(cross.confusions)}),
    }
    measures = ("accuracy", "cobias", "worst_class_accuracy")
    header = ["number", *(f"weight_index:{name}" for name in found.classes)]
    for side in sides:
        header += [f"{side}:{name}" for name in (*measures, *found.classes)]
    hedged = [side for side in ("opt", "left_out") if side in sides]
    header += [f"{side}:expected_cobias" for side in hedged]
    writer.writerow(header)
    for place, point in enumerate(front.points):
        numbers = (number for side in sides.values() for number in _numbers(side[place]))
        expected = (expected_cobias(sides[side][place]) for side in hedged)
        writer.writerow([place + 1, *point.weight_indices.tolist(), *numbers, *expected])


def _numbers(confusion: Counts) -> list[float]:
    rates = class_accuracies(confusion).tolist()
    return [accuracy(confusion), cobias(confusion), worst_class_accuracy(confusion), *rates]
