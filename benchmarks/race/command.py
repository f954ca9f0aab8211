"""``python -m benchmarks race``: the solvers against what a user would pick instead.

All get the same objective, table and time: the solvers, the annealing of the authors' code in plain
Python, and SciPy and CP-SAT where they are installed. Prints the objective after 0.01, 0.1, 1, …
seconds, as medians over seeds, and how much sooner the coordinate solver reaches the best of each
peer. Writes this, the course of every run and a picture to a folder. Ctrl-C keeps the finished
runs.
"""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.race import DEFAULT_SOLVERS, choose, race
from benchmarks.race.presentation import FILES, present_race
from dnip import Objective, ProbabilityTable
from dnip.base.errors import DNIPError
from dnip.base.files import check_files
from dnip.cli.console import complain, finish, live_progress
from dnip.comparing.demonstration import bundled_table

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(words: Sequence[str] | None = None) -> int:
    """Run the race that the command line asks for; return the exit status."""
    parser = ArgumentParser("python -m benchmarks race", description=__doc__)
    add = parser.add_argument
    add("table", nargs="?", type=Path, metavar="TABLE", help="a bundled one where it is left out")
    add("--out", type=Path, default=Path("dnip-bench"), metavar="DIR")
    add("--classes", metavar="A,B,C", help="names of the probability columns")
    add("--time-limit", type=float, default=1.0, help="seconds of each run")
    add("--seeds", type=int, default=3, help="runs of each solver and peer")
    add("--solvers", default=",".join(DEFAULT_SOLVERS), metavar="A,B,C")
    add("--peers", default="all", metavar="A,B,C", help="other libraries, or all, or none")
    add("--kernels", action="store_true", help="also run the peers on our compiled evaluation")
    add("--scale", type=int, default=30, help="K: weights are 1/K, 2/K, …, 1")
    add("--beta", type=float, default=Objective.published().beta)
    add("--tau", type=float, default=Objective.published().tau)
    add("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(words)
    try:
        contestants = choose(options.solvers, options.peers, kernels=options.kernels)
        check_files({"table": options.table}, {}, FILES.within(options.out))
        FILES.prepare(options.out)
        rows = bundled_table("opt")
        if options.table is not None:
            names = options.classes.split(",") if options.classes else None
            rows = ProbabilityTable.read(options.table, names)
        with live_progress("racing") as show:
            result = race(
                rows,
                contestants,
                replace(Objective.published(), beta=options.beta, tau=options.tau),
                scale=options.scale,
                time_limit=options.time_limit,
                n_seeds=options.seeds,
                name=rows.source if options.table else "bundled AG News table",
                progress=lambda what, number, total: show(
                    f"{what}, run {number} of {total}", number - 1, total
                ),
            )
    except DNIPError as error:
        complain("error", str(error))
        return 1
    results = present_race(result)
    written = FILES.write(options.out, results)
    if result.interrupted:
        complain("interrupted", f"{len(result.runs)} finished runs are kept")
    finish(results.content, results.to_text(), json=options.json, written=written)
    return 0
