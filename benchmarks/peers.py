"""The solvers beside what a user would pick instead: ``dnip bench`` on every table."""

from __future__ import annotations

import math
import statistics
import sys

from benchmarks.race import DEFAULT_SOLVERS, PEERS, Race, choose, race
from benchmarks.race.presentation import FILES, present_race, speedup
from benchmarks.tables import Table, print_markdown

TIME_LIMIT, SEEDS = 1.0, 3
OUT = "dnip-bench"


def run(tables: list[Table]) -> None:
    """Print a line per peer over all tables; write each race to a folder."""
    contestants = choose(",".join(DEFAULT_SOLVERS), "all")
    races = []
    for name, opt, _ in tables:
        folder = f"{OUT}/{name.replace(' ', '-')}"
        FILES.prepare(folder)
        races.append(
            race(
                opt,
                contestants,
                time_limit=TIME_LIMIT,
                n_seeds=SEEDS,
                name=name,
                progress=lambda what, number, total: print(
                    f"\r{name}: {what} ({number}/{total})\033[K",  # noqa: B023
                    end="",
                    file=sys.stderr,
                ),
            )
        )
        print(file=sys.stderr)
        FILES.write(folder, present_race(races[-1]))
        if races[-1].interrupted:
            break
    summarise(races)


def summarise(races: list[Race]) -> None:
    """Print one line per peer over all tables; a peer without any value in time has no ratio."""
    limits = races[0].checkpoints
    rows = []
    for name in ("anneal", *PEERS):
        standings = [line for each in races for line in each.summaries if line.name == name]
        if not standings:
            continue
        no_worse = [
            sum(limit not in line.reference_worse_at for line in standings) for limit in limits
        ]
        ratios = [
            line.speedup
            for line in standings
            if line.speedup is not None and math.isfinite(line.speedup)
        ]
        rows.append(
            [
                name,
                *(f"{count} of {len(standings)}" for count in no_worse),
                speedup(min(ratios, default=math.inf)),
                speedup(statistics.median_low(ratios or [math.inf])),
                f"{sum(ratio >= 20 for ratio in ratios)} of {len(ratios)}",
            ]
        )
    print_markdown(
        f"`coordinate` at least as good, of {len(races)} tables; and times sooner at a peer's best",
        ["", *(f"by {limit:g} s" for limit in limits), "least ratio", "median", "20× and more"],
        rows,
    )
