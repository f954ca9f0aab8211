"""A race as Markdown, for a terminal and a file alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dnip.presenting.escaping import markdown
from dnip.studies.benchmarking.results import REFERENCE

if TYPE_CHECKING:
    from dnip.studies.benchmarking.results import Race, Standing

NEVER = "–"


def describe_race(race: Race) -> str:
    """Return a heading, one table with a line per contestant, and notes."""
    limits = [f"{c:g} s" for c in race.checkpoints]
    header = [
        "",
        *(f"Z at {limit}" for limit in limits),
        "worst seed",
        "evaluations",
        "to best known",
        "gap",
        "ours is faster",
    ]
    lines = [
        f"### {markdown(race.table)}: {race.n_rows:,} × {race.n_classes}\n",
        f"| {' | '.join(header)} |",
        f"|{'|'.join([' --- ', *[' ---: '] * (len(header) - 1)])}|",
        *(f"| {' | '.join(_cells(race, standing))} |" for standing in race.standings),
        "",
        _verdict(race),
    ]
    lines += [f"Left out, {name}: {markdown(reason)}." for name, reason in race.skipped.items()]
    return "\n".join(lines)


def seconds(value: float) -> str:
    """Return a time, in ms below a second.

    Examples
    --------
    >>> seconds(0.00123), seconds(0.123), seconds(2.5), seconds(float("inf"))
    ('1.2 ms', '123 ms', '2.5 s', '–')
    """
    if math.isinf(value):
        return NEVER
    if value >= 1:
        return f"{value:.1f} s"
    return f"{value * 1e3:.1f} ms" if value < 0.01 else f"{value * 1e3:.0f} ms"


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
    return NEVER if math.isinf(value) else f"{value:,.0f}×" if value >= 10 else f"{value:.1f}×"


def _cells(race: Race, standing: Standing) -> list[str]:
    marks = dict.fromkeys(standing.behind, " *")
    return [
        markdown(standing.contestant),
        *(f"{standing.at[c]:.5f}" + marks.get(c, "") for c in race.checkpoints),
        f"{standing.worst:.5f}",
        f"{standing.evaluations:,.0f}",
        seconds(standing.seconds_to_best_known),
        "" if standing.gap is None else f"{abs(standing.gap):.2g}",
        speedup(standing.speedup),
    ]


def _verdict(race: Race) -> str:
    if not race.runs:
        return "No run was finished."
    words = f"Best known Z: {race.best_known:.6f}"
    if race.is_proven:
        words += ", proven optimal"
    elif race.lower_bound is not None:
        words += f", lower bound {race.lower_bound:.6f}"
    if any(standing.behind for standing in race.standings):
        words += ". * better than ours by then"
    return f"{words}.{_fine_print(race)}"


def _fine_print(race: Race) -> str:
    names = [run.contestant for run in race.runs if run.reference != REFERENCE]
    if not names:
        return ""
    listed = " and ".join(dict.fromkeys(names))
    return f" {listed}: finer weights than the scale's, compared with one another alone."
