"""``dnip pareto``: what every β gives, and the coefficients of one of them."""

from __future__ import annotations

from pathlib import Path

from dnip.cli import options
from dnip.cli.console import complain, finish, live_progress


@options.command(
    "pareto",
    """
    Show what every β gives, from accurate to even.

    β is the weight of COBias next to the error. Fits TABLE at a dozen β, as `dnip fit` does, says
    what to expect of each on other rows, and draws it. Ctrl-C keeps the fits so far.
    """,
    examples=[
        "dnip pareto opt.csv --test test.csv",
        "dnip pareto opt.csv --choose knee --out coefficients.json",
    ],
)
@options.labelled_table
@options.option(
    "--test",
    type=options.path,
    metavar="TABLE",
    help="Also score every fit on these rows. They choose nothing.",
)
@options.option(
    "--folder",
    type=options.path,
    metavar="DIR",
    default=Path("dnip-pareto"),
    help="Folder for pareto.json and pareto.png.",
)
@options.option(
    "--choose",
    metavar="knee|BETA",
    help="Write the coefficients of one fit. knee: where going on in either direction costs more "
    "than it brings. BETA: that of any β, such as 0.7.",
)
@options.option(
    "--out",
    type=options.path,
    metavar="FILE",
    help="Where to write the coefficients. [default: coefficients.json]",
)
@options.classes
@options.option(
    "--unlabelled",
    type=options.path,
    metavar="TABLE",
    help="Rows without labels, such as those to be corrected, for the fits to learn from.",
)
@options.json
@options.option(
    "--evidence/--no-evidence",
    default=None,
    heading="Details",
    help="Fit five times more at each β, for what to expect on other rows. [default: if that is "
    "quick]",
)
@options.option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    heading="Details",
    help="Seconds after which the fits so far are kept.",
)
@options.seed
@options.scale
def pareto(
    table: Path,
    test: Path | None,
    folder: Path,
    choose: str | None,
    out: Path | None,
    classes: tuple[str, ...] | None,
    unlabelled: Path | None,
    scale: str | None,
    evidence: bool | None,
    seed: int,
    time_limit: float | None,
    json: bool,
) -> None:
    from dnip.base.errors import InvalidInputError, listed
    from dnip.base.files import check_files
    from dnip.cli.coefficients import check_out, save_coefficients
    from dnip.fitting.fitter import PATH
    from dnip.fitting.path import check_choice_of, trace_path
    from dnip.fitting.settings import FitSettings
    from dnip.method.solution import Status
    from dnip.presenting.path import FILES, describe_choice, present_path
    from dnip.tables import Scan

    choice = None if choose is None else check_choice_of(choose)
    if choice is None and out is not None:
        raise InvalidInputError(
            f"--out {out} is for the coefficients of a chosen fit, but none is chosen",
            hint="Add --choose knee, or name a folder for the path with --folder",
        )
    target = options.COEFFICIENTS if choice is None else check_out(out, table, classes)
    writes = {} if choice is None else {"out": target}
    reads = {"table": table, "test": test, "unlabelled": unlabelled}
    check_files(reads, writes, FILES.within(folder))
    first = next(iter(Scan(table, classes)))
    (held_out,) = options.read_others(first, classes, test)
    FILES.prepare(folder)
    with live_progress("fitting") as show:
        path = trace_path(
            table,
            test=held_out,
            classes=classes,
            unlabelled=unlabelled,
            evidence=evidence,
            settings=FitSettings(scale=scale, seed=seed, time_limit=time_limit),
            betas=PATH if choice in (None, "knee") else (*PATH, float(choice)),
            progress=lambda done, total: show(f"{done} of {total} β", done, total),
        )
    last = path.points[-1].fit.solution.status
    if last in (Status.INTERRUPTED, Status.TIME_LIMIT):
        complain("interrupted", f"{len(path.points)} fits so far are kept")
    seen = path.points[0].test
    if seen is not None and seen.missing:
        complain("warning", f"{test}: no labelled row of class {listed(seen.missing)}: left out")
    chosen = None if choice is None else path.choose(choice)
    summary = path.to_dict()
    if chosen is not None:
        summary["chosen"] = {"beta": path.points[chosen].beta, "out": str(target)}
    results = present_path(path, summary, chosen)
    written, text = FILES.write(folder, results), results.to_text()
    if chosen is not None:
        save_coefficients(path.points[chosen].fit.coefficients, target)
        written = (*written, target)
        text += f"\n{describe_choice(path, chosen)}"
    finish(summary, text, json=json, written=written)
