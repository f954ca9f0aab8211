"""``dnip ablate``: what each term of the objective does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.cli.commands.fit import Pairs, SolverName
from dnip.cli.console import complain, live_progress, print_json, say
from dnip.cli.options import AsJson, Classes, TablePath, scale_name, split_classes

# A seed has no more.
_DIGITS = 18


def _seeds(text: str) -> str:
    for part in text.split(","):
        if not part.strip().isdecimal() or len(part) > _DIGITS:
            raise typer.BadParameter(
                f"{part.strip()[:_DIGITS]!r} is no seed; write them like 0,1,2"
            )
    return text


def ablate(
    opt: TablePath,
    test: Annotated[
        Path | None,
        typer.Argument(
            help="Score on these rows, too.", metavar="TEST", show_default=False, readable=False
        ),
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(
            help="Folder for the results: ablation.json, ablation.csv, ablation.png.",
            readable=False,
        ),
    ] = Path("dnip-ablation"),
    classes: Classes = None,
    beta: Annotated[float, typer.Option(help="β, weight of COBias.")] = 2.7,
    tau: Annotated[float, typer.Option(help="τ, weight of the PMI term.")] = 0.2,
    scale: Annotated[
        str,
        typer.Option(
            parser=scale_name,
            metavar="K|log:K|continuous",
            help="K: weights are 1/K, 2/K, …, 1. log:K: K geometric steps from 1/K to 1.",
        ),
    ] = "30",
    smoothing: Annotated[float, typer.Option(help="μ, added to the counts inside PMI.")] = 4000.0,
    cobias: Annotated[
        Pairs, typer.Option(help="COBias over all pairs of classes, or over odd classes only.")
    ] = Pairs.PAIRWISE,
    solver: Annotated[SolverName, typer.Option(help="How to search.")] = SolverName.COORDINATE,
    seeds: Annotated[
        str,
        typer.Option(parser=_seeds, metavar="A,B,C", help="One fit of each objective per seed."),
    ] = "0",
    time_limit: Annotated[
        float | None,
        typer.Option(
            help="Seconds after which the best so far of a fit is kept.", show_default=False
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Fit the objective without each of its terms, and compare.

    The seven objectives of the paper, which every choice of error, COBias and PMI makes, are
    fitted on OPT and scored on OPT and TEST, beside the raw argmax: a table, and a picture like the
    paper's figure 4. The fits are plain optima (--robust off). Ctrl-C keeps the objectives that
    are finished.
    """
    from dnip.base.files import check_files
    from dnip.fitting.ablation import ablate as ablate_table
    from dnip.method.objective import Objective
    from dnip.presenting.ablation_files import FILES, write_ablation
    from dnip.presenting.ablation_text import describe_ablation
    from dnip.tables import ProbabilityTable

    objective = Objective(beta, tau, smoothing, gap=cobias.value)
    check_files({"opt": opt, "test": test}, {}, FILES.within(folder))
    names = split_classes(classes)
    rows = ProbabilityTable.read(opt, names)
    held_out = None if test is None else ProbabilityTable.read(test, names)
    FILES.prepare(folder)
    with live_progress("fitting") as show:
        found = ablate_table(
            rows,
            held_out,
            objective,
            scale=scale,
            solver=solver.value,
            seeds=tuple(map(int, seeds.split(","))),
            time_limit=time_limit,
            progress=lambda name, number, total: show(f"{name}, fit {number} of {total}"),
        )
    written = write_ablation(found, folder)
    if found.interrupted:
        complain("interrupted", f"{len(found.rows) - 1} finished objectives are kept")
    if json:
        print_json({**found.to_dict(), "written": [str(path) for path in written]})
    else:
        say(describe_ablation(found))
        say("\nwritten: " + ", ".join(str(path) for path in written))
