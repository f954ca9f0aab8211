"""``dnip reproduce``: the paper's tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.base.option import Option
from dnip.cli.cluster_options import ClusterOptions
from dnip.cli.console import complain, finish, live_progress
from dnip.cli.options import AsJson, named_file
from dnip.cli.prompt_options import model_files
from dnip.studies.reproduction.registry import ALL, EXPERIMENTS


def reproduce(
    cluster: ClusterOptions,
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT",
            help=f"{', '.join(EXPERIMENTS)}, or {ALL}.",
        ),
    ],
    out: Annotated[Path, Option("Folder for everything.", metavar="DIR")],
    model: Annotated[
        str | None,
        Option(
            "A local folder, or a model's name on the Hugging Face hub, or a server's URL. It "
            "replaces the plan's model; a plan without one needs it.",
            metavar="MODEL",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        Option(
            "Folder with one folder per task, each with train.jsonl and test.jsonl. Texts of other "
            "tasks come from the Hugging Face hub where the plan says so.",
            metavar="DIR",
        ),
    ] = None,
    tables: Annotated[
        Path | None,
        Option(
            "Instead of --model and --data: folder with one folder per table, each with opt and "
            "test. Experiments that need a model are left out.",
            metavar="DIR",
        ),
    ] = None,
    plan: Annotated[
        str,
        Option("Models, tasks, seeds and sizes: a plan of this package, or a .toml file."),
    ] = "small",
    jobs: Annotated[
        int | None, typer.Option(help="Processes.  [default: one per core]", min=1, metavar="N")
    ] = None,
    replan: Annotated[
        bool,
        Option("Continue in a folder of another plan; what both plans share is kept."),
    ] = False,
    dry_run: Annotated[
        bool,
        Option(
            "Show what is left to do, and the hours, memory and disk that the models need, and do "
            "nothing."
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """Reproduce the paper's tables and figures.

    Every prompt, fit and score is a cell, and its result is kept in OUT. A run that was killed
    continues when it is started again, and ends with the same results. A cell that fails does not
    stop the others; it is reported, and the next run tries it again.
    """
    from dnip.base.cores import usable_cores
    from dnip.base.errors import DNIPError, InvalidInputError
    from dnip.base.files import check_files
    from dnip.presenting.reproduction import (
        describe_reproduction,
        describe_survey,
        notes_on_reproduction,
    )
    from dnip.studies.reproduction.plan import load_plan
    from dnip.studies.reproduction.reproduction import OUTPUTS, survey
    from dnip.studies.reproduction.reproduction import reproduce as run

    reads = {
        "plan": named_file(plan, ".toml"),
        "model": model_files(model),
        "data": _of_splits(data),
        "tables": _of_splits(tables),
    }
    check_files(reads, {}, {f"out/{name}": out / name for name in OUTPUTS})
    chosen = load_plan(plan).with_model(model)
    if dry_run:
        left = survey(experiment, chosen, out, data=data, tables=tables)
        finish(left, describe_survey(left), json=json)
        return
    if jobs is not None and cluster.on is not None:
        raise InvalidInputError(
            "--jobs is for this machine, and --on for a cluster",
            hint="Give --workers instead of --jobs",
        )
    cores = usable_cores()
    with cluster.connect() as workers, live_progress("reproducing") as show:
        processes = jobs or cores if workers is None else workers.workers
        done = run(
            experiment,
            chosen,
            out,
            data=data,
            tables=tables,
            jobs=processes,
            threads=max(1, cores // processes),
            cluster=workers,
            replan=replan,
            progress=show,
        )
    content = done.to_dict()
    for kind, message in notes_on_reproduction(content):
        complain(kind, message)
    finish(content, describe_reproduction(content, out), json=json)
    if done.outcome.failures:
        raise DNIPError(
            f"{len(done.outcome.failures)} of the cells and tables failed; the others are done",
            hint="Run the same command again to try them once more",
        )


def _of_splits(folder: Path | None) -> list[Path]:
    """Return what is read of a folder of folders."""
    if folder is None:
        return []
    return [
        path for part in ("train", "test", "opt", "meta") for path in folder.glob(f"*/{part}.*")
    ]
