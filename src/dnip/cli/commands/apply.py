"""``dnip apply``: reweight and predict, a chunk at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.cli.console import live_progress, print_json, say
from dnip.cli.options import (
    DEFAULT_MEMORY,
    AsJson,
    Classes,
    CoefficientsPath,
    Memory,
    TablePath,
    TargetPrior,
    named_file,
    split_classes,
)


def apply(
    table: TablePath,
    coefficients: CoefficientsPath,
    out: Annotated[
        Path,
        typer.Option(
            help="Where to write; the suffix names the format.", show_default=False, readable=False
        ),
    ],
    classes: Classes = None,
    target_prior: TargetPrior = None,
    memory: Memory = DEFAULT_MEMORY,
    json: AsJson = False,
) -> None:
    """Reweight a table and predict, at any size.

    The output has the columns id, label and mass (where TABLE has them), prediction, and the
    reweighted probabilities p0, p1, …, which sum to 1 and are scores for ranking classes, not
    calibrated. It appears under its name when it is whole, and never in place of TABLE. With
    --target-prior the weights are first moved toward those of most accuracy in that class mix;
    estimate reads TABLE once more for it, without its labels.
    """
    from dnip.base.files import check_files
    from dnip.cli.target_prior import move_to
    from dnip.deploying.application import apply_stream
    from dnip.method.coefficients import Coefficients
    from dnip.tables import Scan

    # The raw probabilities could not be had back from the reweighted ones.
    reads = {
        "table": table,
        "coefficients": coefficients,
        "target prior": named_file(target_prior, ".json"),
    }
    check_files(reads, {"out": out})
    fitted = Coefficients.load(coefficients)
    chunks = Scan(table, split_classes(classes) or fitted.classes, memory=memory)
    moved = None if target_prior is None else move_to(target_prior, fitted, chunks)
    if moved is not None:
        fitted = moved.coefficients
    with live_progress("applying") as show:
        done = apply_stream(chunks, fitted, out, progress=lambda n_rows: show(f"{n_rows:,} rows"))
    if json:
        told = {} if moved is None else {"target_prior": moved.to_dict()}
        mass = None if done.captured_mass is None else done.captured_mass.to_dict()
        content = {"n": done.n_rows, "changed": done.n_changed, "mass": mass, "out": str(out)}
        print_json({**content, **told})
    else:
        say(f"{done.n_rows:,} rows, {done.n_changed:,} decisions changed, written to {out}")
