"""``dnip ablate``: what each term of the objective does."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.base.choices import SolverName
from dnip.base.option import Option
from dnip.cli.console import complain, finish, live_progress
from dnip.cli.options import (
    AsJson,
    Classes,
    CobiasPairs,
    Opt,
    OptionalTest,
    PublishedObjectiveOptions,
    scale_option,
    split_classes,
)

# A seed has no more.
_DIGITS = 18


def _seeds(text: str) -> str:
    for part in text.split(","):
        if not part.strip().isdecimal() or len(part) > _DIGITS:
            raise typer.BadParameter(
                f"{part.strip()[:_DIGITS]!r} is not a seed; write them like 0,1,2"
            )
    return text


def ablate(
    opt: Opt,
    weights: PublishedObjectiveOptions,
    test: OptionalTest = None,
    folder: Annotated[
        Path,
        Option("Folder for ablation.json, ablation.csv and ablation.png.", metavar="DIR"),
    ] = Path("dnip-ablation"),
    classes: Classes = None,
    scale: Annotated[str, scale_option()] = "30",
    cobias: CobiasPairs = "pairwise",
    solver: Annotated[SolverName, Option("How to search.")] = "coordinate",
    seeds: Annotated[
        str, Option("One fit of each objective per seed.", metavar="A,B,C", parser=_seeds)
    ] = "0",
    time_limit: Annotated[
        float | None, Option("Seconds per fit, after which it keeps its best so far.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Fit the objective without each of its terms, and compare.

    Error, COBias and PMI make seven objectives, alone and together. Each is fitted on OPT and
    scored on OPT and TEST, as is the most probable class. The result is a table, and a picture like
    the paper's figure 4. The fits are plain optima (--robust off). Ctrl-C keeps the finished
    objectives.
    """
    from dnip.base.files import check_files
    from dnip.fitting.ablation import ablate as ablate_table
    from dnip.presenting.ablation import FILES, present_ablation
    from dnip.tables import ProbabilityTable

    objective = weights.objective(gap=cobias)
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
            solver=solver,
            seeds=tuple(map(int, seeds.split(","))),
            time_limit=time_limit,
            progress=lambda name, number, total: show(
                f"{name}, fit {number} of {total}", number - 1, total
            ),
        )
    results = present_ablation(found)
    written = FILES.write(folder, results)
    if found.interrupted:
        complain("interrupted", f"{len(found.rows) - 1} finished objectives are kept")
    finish(results.content, results.to_text(), json=json, written=written)
