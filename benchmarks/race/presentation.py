"""A race as a table, files and a figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.race.contestants import ON_KERNELS
from benchmarks.race.curves import DOTTED, Curve, Look, Panel, curve_figure, line_looks
from benchmarks.race.results import REFERENCE
from dnip.presenting.artefacts import Column, Table
from dnip.presenting.formats import DASH, seconds
from dnip.presenting.results import ResultFiles, Results

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.race.results import Race
    from dnip.presenting.artefacts import Figure, Row

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
    ('1,234×', 'missed', '')
    """
    if value is None:
        return ""
    if value == 0:
        return "missed"
    return DASH if math.isinf(value) else f"{value:,.0f}×" if value >= 10 else f"{value:.1f}×"


def _table(race: Race) -> Table:
    columns = [
        Column(""),
        *(Column(f"{limit:g} s", group="Z after", right=True) for limit in race.checkpoints[-3:]),
        Column("worst seed", 5, wide=True),
        Column("evaluations", 0, wide=True),
        Column("to best", right=True),
        Column("gap", right=True, wide=True),
        Column("speedup", right=True),
    ]
    rows: list[Row] = []
    for summary in race.summaries:
        marks = dict.fromkeys(summary.reference_worse_at, " *")
        rows.append(
            [
                summary.name,
                *(
                    f"{summary.objective_at[limit]:.5f}{marks.get(limit, '')}"
                    for limit in race.checkpoints[-3:]
                ),
                summary.worst,
                float(summary.evaluations),
                seconds(summary.seconds_to_best_known),
                "" if summary.gap is None else f"{abs(summary.gap):.2g}",
                speedup(summary.speedup),
            ]
        )
    title = f"{race.table}: {race.n_rows:,} × {race.n_classes}"
    skipped = tuple(f"Left out, {name}: {reason}." for name, reason in race.skipped.items())
    return Table("race", title, columns, rows, _caption(race), skipped)


def _caption(race: Race) -> str:
    if not race.runs:
        return "No run was finished."
    words = f"Best known Z: {race.best_known:.6f}"
    if race.is_proven:
        words += ", proven optimal"
    elif race.lower_bound is not None:
        words += f", lower bound {race.lower_bound:.6f}"
    if any(summary.reference_worse_at for summary in race.summaries):
        words += f". *: better than {REFERENCE} by then"
    return (
        f"{words}. Speedup: how many times sooner {REFERENCE} reaches the best value of the line; "
        "missed where it does not."
    )


def _courses(race: Race) -> Iterator[list[Any]]:
    """Yield a header, then every new best of every run."""
    yield ["contestant", "seed", "seconds", "evaluations", "objective"]
    for run in race.runs:
        for best in run.course:
            spent = (f"{best.seconds:.6f}", best.evaluations)
            yield [run.contestant, run.seed, *spent, best.value]


def _figure(race: Race) -> Figure:
    """Return how far each contestant is from the best known value over time; medians of seeds.

    A peer on the compiled evaluation has a dotted line in its twin's colour.
    """
    first = min((run.course[1].seconds for run in race.runs if len(run.course) > 1), default=1.0)
    times = np.geomspace(min(first, race.time_limit) / 2, race.time_limit, _POINTS).tolist()
    names = [summary.name for summary in race.summaries]
    curves = {
        name: Curve(times, [z - race.best_known for z in race.median_course(name, times)])
        for name in names
    }
    lines = line_looks(names)
    for name in names:
        twin = name.removesuffix(ON_KERNELS)
        if twin != name and twin in lines:
            lines[name] = lines[twin][0], DOTTED
    return curve_figure(
        "race",
        f"{race.table}: {race.n_rows:,} rows, {race.n_classes} classes",
        [Panel(f"best known {race.best_known:.5f}", curves)],
        x_label="seconds",
        y_label="Z above the best known",
        look=Look(log_x=True, linear_below=_LINEAR, steps=True, lines=lines, bold=(REFERENCE,)),
    )
