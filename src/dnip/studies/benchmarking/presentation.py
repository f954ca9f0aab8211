"""A race as a table, files and a figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dnip.presenting.artefacts import Column, Row, Table
from dnip.presenting.drawing import Curve, Look, Panel, curve_figure
from dnip.presenting.drawing.style import DOTTED, line_looks
from dnip.presenting.formats import DASH, seconds
from dnip.presenting.results import ResultFiles, Results
from dnip.studies.benchmarking.contestants import ON_KERNELS
from dnip.studies.benchmarking.results import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnip.presenting.artefacts import Figure, Value
    from dnip.presenting.drawing.style import LineStyle
    from dnip.studies.benchmarking.results import ContestantSummary, Race

FILES = ResultFiles("bench.json", "bench.csv", "bench.png", "bench.md")

# Times at which a course is drawn.
_POINTS = 400
# Below this distance from the best known value the vertical axis is linear, so that 0 has a place.
_LINEAR = 1e-4


def present_race(race: Race) -> Results:
    """Return a line per contestant, with notes; a figure where a run was finished."""
    figure = _figure(race) if race.runs else None
    return Results(_table(race), race.to_dict(), _courses(race), figure)


def speedup(value: float | None) -> str:
    """Return a ratio of times.

    Examples
    --------
    >>> speedup(1234.5), speedup(0.0), speedup(None)
    ('1,234×', 'not reached', '')
    """
    if value is None:
        return ""
    if value == 0:
        return "not reached"
    return DASH if math.isinf(value) else f"{value:,.0f}×" if value >= 10 else f"{value:.1f}×"


def _table(race: Race) -> Table:
    columns = [
        Column(""),
        *(Column(f"Z at {limit:g} s", right=True) for limit in race.checkpoints),
        Column("worst seed", 5),
        Column("evaluations", 0),
        Column("to best known", right=True),
        Column("gap", right=True),
        Column("ours is faster", right=True),
    ]
    rows = [Row(tuple(_cells(race, summary))) for summary in race.summaries]
    skipped = (f"Left out, {name}: {reason}." for name, reason in race.skipped.items())
    title = f"{race.table}: {race.n_rows:,} × {race.n_classes}"
    return Table("race", title, columns, rows, _verdict(race), notes=tuple(skipped))


def _cells(race: Race, summary: ContestantSummary) -> list[Value]:
    marks = dict.fromkeys(summary.behind, " *")
    return [
        summary.contestant,
        *(f"{summary.at[limit]:.5f}{marks.get(limit, '')}" for limit in race.checkpoints),
        summary.worst,
        float(summary.evaluations),
        seconds(summary.seconds_to_best_known),
        "" if summary.gap is None else f"{abs(summary.gap):.2g}",
        speedup(summary.speedup),
    ]


def _verdict(race: Race) -> str:
    if not race.runs:
        return "No run was finished."
    words = f"Best known Z: {race.best_known:.6f}"
    if race.is_proven:
        words += ", proven optimal"
    elif race.lower_bound is not None:
        words += f", lower bound {race.lower_bound:.6f}"
    if any(summary.behind for summary in race.summaries):
        words += ". * better than ours by then"
    finer = dict.fromkeys(run.contestant for run in race.runs if run.reference != REFERENCE)
    if finer:
        words += f". {' and '.join(finer)}: finer weights than the scale's, compared with one "
        words += "another alone"
    return f"{words}."


def _courses(race: Race) -> Iterator[list[Any]]:
    """Yield a header, then every new best of every run."""
    yield ["contestant", "seed", "seconds", "evaluations", "objective"]
    for run in race.runs:
        for best in run.course:
            spent = (f"{best.seconds:.6f}", best.evaluations)
            yield [run.contestant, run.seed, *spent, best.value]


def _figure(race: Race) -> Figure:
    """Return how far each contestant is from the best known value, against time; medians of seeds.

    Contestants with finer weights than the scale's have a panel and a best known value of their
    own.
    """
    first = min((run.course[1].seconds for run in race.runs if len(run.course) > 1), default=1.0)
    times = np.geomspace(min(first, race.time_limit) / 2, race.time_limit, _POINTS).tolist()
    by_reference: dict[str, list[str]] = {}
    for summary in race.summaries:
        reference = race.of(summary.contestant)[0].reference
        by_reference.setdefault(reference, []).append(summary.contestant)
    panels = []
    for reference, names in sorted(by_reference.items(), key=lambda item: -len(item[1])):
        best = race.best_known_to(reference)
        kind = "weights on the scale" if reference == REFERENCE else "finer weights"
        curves = {
            name: Curve(times, [value - best for value in race.median_course(name, times)])
            for name in names
        }
        panels.append(Panel(f"{kind} (best known {best:.5f})", curves))
    look = Look(
        log_x=True,
        linear_below=_LINEAR,
        steps=True,
        lines=_lines([summary.contestant for summary in race.summaries]),
        bold=tuple(by_reference),
    )
    return curve_figure(
        "race",
        f"{race.table}: {race.n_rows:,} rows, {race.n_classes} classes",
        [panels],
        x_label="seconds",
        y_label="Z above the best known",
        look=look,
    )


def _lines(names: list[str]) -> dict[str, tuple[str, LineStyle]]:
    """Return the look of each contestant; a peer on the compiled evaluation has its twin's colour.

    The line of such a peer is dotted.
    """
    lines = line_looks(names)
    for name in names:
        twin = name.removesuffix(ON_KERNELS)
        if twin != name and twin in lines:
            lines[name] = lines[twin][0], DOTTED
    return lines
