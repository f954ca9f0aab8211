"""``dnip reproduce``: the paper's tables and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dnip.cli.console import complain, live_progress, print_json, say
from dnip.cli.options import AsJson, named_file
from dnip.cli.prompt_options import model_files

# So many failures are told one by one.
_NAMED = 10


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            help="main, confusion, time, kde, prior-methods, ablation, label-order, cot, single, "
            "overview, opt-size, convergence, or all.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for everything.", show_default=False, readable=False)
    ],
    model: Annotated[
        str | None,
        typer.Option(
            help="A local folder or hub name for transformers, or a server's URL; where the plan "
            "names none, or in place of its own.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder with one folder per task, each with train.jsonl and test.jsonl.",
            show_default=False,
            readable=False,
        ),
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="In place of --model and --data: folder with one folder per table, each with opt "
            "and test. Experiments that prompt are left out.",
            show_default=False,
            readable=False,
        ),
    ] = None,
    plan: Annotated[
        str,
        typer.Option(
            help="A plan that comes with the package, or a .toml file: models, tasks, seeds, sizes."
        ),
    ] = "small",
    jobs: Annotated[
        int | None,
        typer.Option(help="Processes.  [default: one per core]", show_default=False, min=1),
    ] = None,
    replan: Annotated[
        bool,
        typer.Option(
            "--replan",
            help="Go on in a folder of another plan; what both share is kept.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say what is left to do, and what the models need; do nothing."
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """Reproduce the paper's tables and figures.

    Every prompt, fit and score is a cell of its own, kept in OUT: a run that was killed and is
    started again goes on, and ends with the same results. A cell that fails does not stop the
    others; it is reported, and tried again by the next run.
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
        if json:
            print_json(left)
        else:
            say(_describe(left))
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
    if json:
        print_json(done.to_dict())
    else:
        found = done.outcome
        say(
            f"{found.n_cells:,} cells ({found.n_reused:,} from an earlier run), "
            f"{found.n_tables - found.n_tables_reused:,} tables prompted for, "
            f"{found.seconds:.0f} s\nwritten to {out}"
        )
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
