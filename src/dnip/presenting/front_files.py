"""A front as files in a folder."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dnip.fitting.pareto.expectation import expected_cobias
from dnip.metrics import HEADLINE, METRICS, class_accuracies
from dnip.presenting.front_picture import draw_front
from dnip.presenting.result_files import ResultFiles

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from pathlib import Path

    from dnip.base.typing import Counts
    from dnip.fitting.pareto import Rule, TradeOff

FILES = ResultFiles("pareto.json", "pareto.csv", "pareto.png")


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
    draw = partial(draw_front, found, rule=rule)
    return FILES.write(folder, summary, _points(found), draw)


def _points(found: TradeOff) -> Iterator[list[Any]]:
    """Yield a header, then for each point its weights, scores and class accuracies on each side."""
    front, test, cross = found.front, found.test, found.cross
    sides: dict[str, list[Counts]] = {
        "opt": [point.confusion for point in front.points],
        **({} if test is None else {"test": list(test.points)}),
        **({} if cross is None else {"left_out": list(cross.confusions)}),
    }
    header = ["number", *(f"weight_index:{name}" for name in found.classes)]
    for side in sides:
        header += [f"{side}:{name}" for name in (*HEADLINE, *found.classes)]
    hedged = [side for side in ("opt", "left_out") if side in sides]
    header += [f"{side}:expected_cobias" for side in hedged]
    yield header
    for place, point in enumerate(front.points):
        numbers = (number for side in sides.values() for number in _numbers(side[place]))
        expected = (expected_cobias(sides[side][place]) for side in hedged)
        yield [place + 1, *point.weight_indices.tolist(), *numbers, *expected]


def _numbers(confusion: Counts) -> list[float]:
    rates = class_accuracies(confusion).tolist()
    return [*(METRICS[name].of(confusion) for name in HEADLINE), *rates]
