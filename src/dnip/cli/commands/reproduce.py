"""``dnip reproduce``: the paper's tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dnip.base.option import Option
from dnip.cli.console import complain, finish, live_progress
from dnip.cli.options import AsJson, named_file
from dnip.cli.prompt_options import model_files

# So many failures are told one by one.
_NAMED = 10


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT",
            help="main, confusion, time, kde, prior-methods, ablation, label-order, cot, single, "
            "overview, opt-size, convergence, or all.",
        ),
    ],
    out: Annotated[Path, Option("Folder for everything.", metavar="DIR")],
    model: Annotated[
        str | None,
        Option(
            "A local folder, or a model's name on the Hugging Face hub, or a server's URL. It "
            "replaces the plan's model; a plan without one needs it."
        ),
    ] = None,
    data: Annotated[
        Path | None,
        Option(
            "Folder with one folder per task, each with train.jsonl and test.jsonl.", metavar="DIR"
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
        int | None, typer.Option(help="Processes.  [default: one per core]", min=1)
    ] = None,
    replan: Annotated[
        bool,
        Option("Continue in a folder of another plan; what both plans share is kept."),
    ] = False,
    dry_run: Annotated[
        bool, Option("Show what is left to do and what the models need, and do nothing.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Reproduce the paper's tables and figures.

    Every prompt, fit and score is a cell, and its result is kept in OUT. A run that was killed
    continues when it is started again, and ends with the same results. A cell that fails does not
    stop the others; it is reported, and the next run tries it again.
    """
    from dnip.base.cores import usable_cores
    from dnip.base.errors import DNIPError
    from dnip.base.files import check_files
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
        finish(left, _describe(left), json=json)
        return
    cores = usable_cores()
    workers = jobs or cores
    with live_progress("reproducing") as show:
        done = run(
            experiment,
            chosen,
            out,
            data=data,
            tables=tables,
            jobs=workers,
            threads=max(1, cores // workers),
            replan=replan,
            progress=show,
        )
    for name, reason in {**done.missing, **done.left_out}.items():
        complain("note", f"{name} is left out: {reason}")
    failures = list(done.outcome.failures.items())
    for name, reason in failures[:_NAMED]:
        complain("failed", f"{name}: {reason}")
    if failures[_NAMED:]:
        complain("failed", f"{len(failures) - _NAMED} more; manifest.json names all of them")
    outcome = done.outcome
    text = (
        f"{outcome.n_cells:,} cells ({outcome.n_reused:,} from an earlier run), "
        f"{outcome.n_tables - outcome.n_tables_reused:,} tables prompted for, "
        f"{outcome.seconds:.0f} s\nwritten to {out}"
    )
    finish(done.to_dict(), text, json=json)
    if done.outcome.failures:
        failed = len(done.outcome.failures)
        raise DNIPError(
            f"{failed} of the cells and tables failed; the others are done",
            hint="Run the same command again to try them once more",
        )


def _of_splits(folder: Path | None) -> list[Path]:
    """Return what is read of a folder of folders."""
    if folder is None:
        return []
    return [
        path for part in ("train", "test", "opt", "meta") for path in folder.glob(f"*/{part}.*")
    ]


def _describe(found: dict[str, Any]) -> str:
    """Return a survey as text."""
    lines = [
        f"plan {found['plan']}: {', '.join(found['experiments'])}",
        f"{found['cells_left']:,} of {found['cells']:,} cells and {found['tables_left']:,} of "
        f"{found['tables']:,} tables left to do, {found['rows_left']:,} prompts",
    ]
    for model in found["models"]:
        lines.append(f"{model['name']} ({model['model']})")
        lines += [f"  {key}: {model[key]}" for key in ("memory", "cost") if model[key]]
    lines += [
        f"left out: {name}: {why}"
        for name, why in {**found["missing"], **found["left_out"]}.items()
    ]
    return "\n".join(lines)
