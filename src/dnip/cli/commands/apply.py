"""``dnip apply``: reweight and predict, a chunk at a time."""

from __future__ import annotations

from pathlib import Path

from dnip.cli import options
from dnip.cli.console import finish


@options.command(
    "apply",
    """
    Reweight a table and predict, at any size.

    The output has the columns of TABLE and prediction. The class columns hold the reweighted
    probabilities, which sum to 1 but are not calibrated. Where coefficients defer rows, the column
    deferred is 1 for these, else 0. The file appears when it is complete. With --target-prior the
    weights are first moved toward those that are most accurate in that class mix.
    """,
    examples=[
        "dnip apply new.csv --out predictions.csv",
        "dnip apply all/ --coefficients news.json --out predictions.parquet --on ray",
    ],
)
@options.argument(
    "table",
    type=options.path,
    help="Probabilities: a column for each class; .csv, .jsonl, .parquet, or a folder of it. "
    "Labels are not needed.",
)
@options.option(
    "--out",
    type=options.path,
    required=True,
    metavar="FILE",
    help="Where to write; the suffix names the format.",
)
@options.coefficients
@options.classes
@options.json
@options.target_prior
@options.cluster
def apply(
    table: Path,
    out: Path,
    coefficients: Path,
    classes: tuple[str, ...] | None,
    target_prior: str | None,
    cluster: options.ClusterOptions,
    json: bool,
) -> None:
    from dnip.base.errors import counted
    from dnip.base.files import check_files
    from dnip.cli.coefficients import move_to
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.formats import percent
    from dnip.tables import Asked, Scan
    from dnip.using.application import apply as apply_to

    mix = options.named_file(target_prior, ".json")
    check_files({"table": table, "coefficients": coefficients, "target prior": mix}, {"out": out})
    fitted = Coefficients.load(coefficients)
    names = classes or fitted.classes
    chunks = Scan(table, names, Asked(others=True))
    moved = None if target_prior is None else move_to(target_prior, fitted, chunks)
    if moved is not None:
        fitted = moved.coefficients
    with cluster.reading("applying", chunks) as (rows, progress):
        done = apply_to(rows, fitted, out, progress=progress)
    mass = None if done.captured_mass is None else done.captured_mass.to_dict()
    content = {"n": done.n_rows, "changed": done.n_changed, "mass": mass, "out": str(out)}
    counts = f"{counted(done.n_rows, 'row')}, {counted(done.n_changed, 'decision')} changed"
    if fitted.defer is not None:
        asked, share = fitted.defer.share, done.n_deferred / done.n_rows
        content["deferred"] = {"rows": done.n_deferred, "share": share, "asked": asked}
        counts += f", {done.n_deferred:,} deferred ({percent(share)}; asked for {percent(asked)})"
    if moved is not None:
        content["target_prior"] = moved.to_dict()
    text = f"{counts}, written to {out}"
    finish(content, text, json=json)
