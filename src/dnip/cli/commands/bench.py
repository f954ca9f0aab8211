"""``dnip bench``: the solvers against what a user would pick instead."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from dnip.base.option import Option
from dnip.cli.console import complain, finish, live_progress
from dnip.cli.options import (
    AsJson,
    Classes,
    PublishedObjectiveOptions,
    split_classes,
    table_argument,
)


def bench(
    weights: PublishedObjectiveOptions,
    table: Annotated[
        Path | None,
        table_argument(
            "TABLE", "Labelled probability table, as for `dnip fit`.  [default: a bundled one]"
        ),
    ] = None,
    out: Annotated[Path, Option("Folder for the results.", metavar="DIR")] = Path("dnip-bench"),
    classes: Classes = None,
    time_limit: Annotated[float, Option("Seconds of each run.")] = 1.0,
    seeds: Annotated[int, Option("Runs of each solver and peer.")] = 3,
    solvers: Annotated[
        str | None,
        Option(
            "Solvers of this package, comma-separated, or none. anneal-paper has the chains "
            "of the paper.  [default: exact, coordinate, anneal, anneal-paper]",
            metavar="A,B,C",
        ),
    ] = None,
    peers: Annotated[
        str, Option("Other libraries, comma-separated, or all, or none.", metavar="A,B,C")
    ] = "all",
    kernels: Annotated[
        bool,
        Option("Also run the other libraries with this package's compiled evaluation."),
    ] = False,
    scale: Annotated[int, Option("K: weights are 1/K, 2/K, …, 1.")] = 30,
    json: AsJson = False,
) -> None:
    """Race the solvers against what one might pick instead.

    All get the same objective, table and time: the solvers, the annealing of the authors' code in
    plain Python, and SciPy and CP-SAT where they are installed. Prints the objective after 0.01,
    0.1, 1, … seconds, as medians over seeds, and how much sooner the coordinate solver reaches the
    best of each peer. Writes this, the course of every run and a picture to a folder. Ctrl-C keeps
    the finished runs.
    """
    from dnip.base.files import check_files
    from dnip.studies.benchmarking import DEFAULT_SOLVERS, choose, race
    from dnip.studies.benchmarking.presentation import FILES, present_race
    from dnip.studies.demonstration import bundled_table
    from dnip.tables import ProbabilityTable

    objective = weights.objective()
    named = ",".join(DEFAULT_SOLVERS) if solvers is None else solvers
    contestants = choose(named, peers, kernels=kernels)
    check_files({"table": table}, {}, FILES.within(out))
    FILES.prepare(out)
    names = split_classes(classes)
    rows = bundled_table("opt") if table is None else ProbabilityTable.read(table, names)
    with live_progress("racing") as show:
        result = race(
            rows,
            contestants,
            objective,
            scale=scale,
            time_limit=time_limit,
            n_seeds=seeds,
            name="bundled AG News table" if table is None else rows.source,
            progress=lambda what, number, total: show(
                f"{what}, run {number} of {total}", number - 1, total
            ),
        )
    results = present_race(result)
    written = FILES.write(out, results)
    if result.interrupted:
        complain("interrupted", f"{len(result.runs)} finished runs are kept")
    finish(results.content, results.to_text(), json=json, written=written)
