"""``dnip bench``: the solvers against what a user would pick instead."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.cli.console import complain, live_progress, print_json, say
from dnip.cli.options import AsJson, Classes, split_classes


def bench(
    table: Annotated[
        Path | None,
        typer.Argument(
            help="Probability table with labels, as for `dnip fit`.  [default: a bundled one]",
            show_default=False,
            readable=False,
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.", readable=False)] = Path(
        "dnip-bench"
    ),
    classes: Classes = None,
    time_limit: Annotated[float, typer.Option(help="Seconds of each run.")] = 1.0,
    seeds: Annotated[int, typer.Option(help="Runs of each solver and peer.")] = 3,
    solvers: Annotated[
        str | None,
        typer.Option(
            help="Solvers of this package, comma-separated, or none.  [default: exact, coordinate, "
            "coordinate-continuous, anneal]",
            metavar="A,B,C",
            show_default=False,
        ),
    ] = None,
    peers: Annotated[
        str, typer.Option(help="Peers, comma-separated, or all, or none.", metavar="A,B,C")
    ] = "all",
    kernels: Annotated[
        bool,
        typer.Option(
            "--kernels", help="Also give the peers this package's compiled evaluation, apart."
        ),
    ] = False,
    beta: Annotated[float, typer.Option(help="β, weight of COBias.")] = 2.7,
    tau: Annotated[float, typer.Option(help="τ, weight of the PMI term.")] = 0.2,
    scale: Annotated[int, typer.Option(help="K: weights are 1/K, 2/K, …, 1.")] = 30,
    smoothing: Annotated[float, typer.Option(help="μ, added to the counts inside PMI.")] = 4000.0,
    json: AsJson = False,
) -> None:
    """Race the solvers against what one might pick instead.

    Same objective, same table, same time: the published annealing as plain Python loops, SciPy,
    Optuna, CMA-ES, tunethresholds and CP-SAT, each as far as it is installed. Prints the objective
    reached by 0.01, 0.1, 1, … seconds, medians over seeds, and how many times less time the
    coordinate solver needs for the best that each peer reaches; writes it with all courses and a
    picture to a folder. Ctrl-C keeps the runs that are finished.
    """
    from dnip.base.files import check_files
    from dnip.method.objective import Objective
    from dnip.studies.benchmarking import DEFAULT_SOLVERS, choose, race
    from dnip.studies.benchmarking.text import describe_race
    from dnip.studies.benchmarking.writing import FILES, write_race
    from dnip.studies.demonstration import bundled_table
    from dnip.tables import ProbabilityTable

    objective = Objective(beta, tau, smoothing)
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
            name="bundled AG News table" if table is None else str(table),
            progress=lambda what, number, total: show(f"{what}, run {number} of {total}"),
        )
    written = write_race(result, out)
    if result.interrupted:
        complain("interrupted", f"{len(result.runs)} finished runs are kept")
    if json:
        print_json({**result.to_dict(), "written": [str(path) for path in written]})
    else:
        say(describe_race(result))
        say("\nwritten: " + ", ".join(str(path) for path in written))
