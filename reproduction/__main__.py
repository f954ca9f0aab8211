"""``python -m reproduction EXPERIMENT``: the paper's tables and figures.

Every prompt, fit and score is a cell, and its result is kept in OUT. A run that was killed
continues when it is started again, and ends with the same results. A cell that fails does not stop
the others; it is reported, and the next run tries it again.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joblib import cpu_count

from dnip.base.errors import DNIPError
from dnip.base.files import check_files
from dnip.cli.console import complain, finish, live_progress
from dnip.cli.options import model_files, named_file
from reproduction.needs import describe_needs
from reproduction.plan import load_plan
from reproduction.registry import ALL, EXPERIMENTS
from reproduction.run import OUTPUTS, reproduce, survey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Failures that are named one by one; the manifest names all.
_NAMED = 10


def main(words: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit status."""
    options = _parser().parse_args(words)
    try:
        return _run(options)
    except (DNIPError, OSError) as error:
        complain("error", str(error))
        return 1
    except KeyboardInterrupt:
        complain("interrupted", "the same command goes on from here")
        return 130


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        "python -m reproduction", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("experiment", metavar="EXPERIMENT", help=f"{', '.join(EXPERIMENTS)}, or {ALL}")
    add("--out", type=Path, required=True, metavar="DIR", help="folder for everything")
    add(
        "--model",
        help="a folder, a model's name on the Hugging Face hub, or a server's URL; replaces the "
        "plan's model",
    )
    add(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder with one folder per task, each with train.jsonl and test.jsonl; texts of "
        "other tasks come from the Hugging Face hub where the plan says so",
    )
    add(
        "--tables",
        type=Path,
        metavar="DIR",
        help="instead of --model and --data: folder with one folder per table, each with opt and "
        "test; experiments that need a model are left out",
    )
    add("--plan", default="small", help="models, tasks, seeds and sizes: a built-in or .toml file")
    add("--jobs", type=int, default=cpu_count(), metavar="N", help="processes (one per core)")
    add(
        "--replan",
        action="store_true",
        help="continue in a folder of another plan; what both plans share is kept",
    )
    add(
        "--dry-run",
        action="store_true",
        help="show what is left to do, and what the models need, and do nothing",
    )
    add("--json", action="store_true", help="print one JSON object")
    return parser


def _run(options: Namespace) -> int:
    folder, data, tables = options.out, options.data, options.tables
    reads = {
        "plan": named_file(options.plan, ".toml"),
        "model": model_files(options.model),
        "data": _of_splits(data),
        "tables": _of_splits(tables),
    }
    check_files(reads, {}, {f"out/{name}": folder / name for name in OUTPUTS})
    plan = load_plan(options.plan).with_model(options.model)
    if options.dry_run:
        left = survey(options.experiment, plan, folder, data, tables)
        finish(left, _what_is_left(left), json=options.json)
        return 0
    with live_progress("reproducing") as show:
        done = reproduce(
            options.experiment,
            plan,
            folder,
            data,
            tables,
            jobs=options.jobs,
            threads=max(1, cpu_count() // options.jobs),
            replan=options.replan,
            note=lambda line: complain("note", line),
            progress=show,
        )
    for name, reason in {**done["missing"], **done["left_out"]}.items():
        complain("note", f"{name} is left out: {reason}")
    failures = list(done["failures"].items())
    for name, reason in failures[:_NAMED]:
        complain("failed", f"{name}: {reason}")
    if failures[_NAMED:]:
        complain("failed", f"{len(failures) - _NAMED} more; manifest.json names all of them")
    words = (
        f"{done['cells']:,} cells ({done['cells_reused']:,} from an earlier run), "
        f"{done['tables'] - done['tables_reused']:,} tables prompted for, "
        f"{done['seconds']:.0f} s\nwritten to {folder}"
    )
    finish(done, words, json=options.json)
    if not failures:
        return 0
    raise DNIPError(
        f"{len(failures)} of the cells and tables failed; the others are done",
        hint="Run the same command again to try them once more",
    )


def _what_is_left(left: Mapping[str, Any]) -> str:
    lines = [
        f"plan {left['plan']}: {', '.join(left['experiments'])}",
        f"{left['cells_left']:,} of {left['cells']:,} cells and {left['tables_left']:,} of "
        f"{left['tables']:,} tables left to do, {left['rows_left']:,} prompts",
        *left["long"],
    ]
    for model in left["models"]:
        lines += describe_needs(model)
    left_out = {**left["missing"], **left["left_out"]}
    return "\n".join([*lines, *(f"left out: {name}: {why}" for name, why in left_out.items())])


def _of_splits(folder: Path | None) -> list[Path]:
    """Return what is read of a folder of folders."""
    if folder is None:
        return []
    parts = ("train", "test", "opt", "meta")
    return [path for part in parts for path in folder.glob(f"*/{part}.*")]


if __name__ == "__main__":
    sys.exit(main())
