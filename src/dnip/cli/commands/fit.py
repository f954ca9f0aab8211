"""``dnip fit``: learn coefficients."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from dnip.base import MetricName, SolverName, Switch
from dnip.cli import options
from dnip.cli.console import complain, finish, live_progress, search_progress

if TYPE_CHECKING:
    from dnip.fitting.fit import Fit


def _rate_of_class(text: str) -> tuple[str | int, float]:
    """Return the class and the rate of CLASS=RATE."""
    name, _, rate = (side.strip() for side in text.rpartition("="))
    try:
        return name or "", float(rate)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not CLASS=RATE") from None


def _rows(text: str) -> int | None:
    """Return a number of rows; None for all."""
    try:
        return None if text == "all" else int(text)
    except ValueError:
        raise click.BadParameter(f"{text!r:.60} is neither a number of rows nor all") from None


@options.command(
    "fit",
    """
    Learn coefficients from a labelled table.

    Finds one weight per class that makes the mean error and the gap between classes small. Writes
    the weights, and how they were found, to a JSON file. With --path it writes none, and shows what
    a dozen β are expected to give, from the most accurate weights to the most even.
    """,
    examples=[
        "dnip fit opt.csv",
        "dnip fit opt.csv --max-accuracy-loss 0.01 --out coefficients.json",
    ],
)
@options.labelled_table
@options.beta
@options.option(
    "--max-accuracy-loss",
    type=float,
    metavar="RATE",
    help="How far accuracy may fall below that of the most probable class, such as 0.01: on the "
    "labelled rows and, as far as they can show, on others.",
)
@options.option(
    "--preset",
    type=options.Words(["paper"]),
    help="paper: β = 2.7, τ = 0.2, K = 30 and annealing as in the paper, μ of the authors' code, "
    "on the labelled rows alone. Other options override it.",
)
@options.option(
    "--defer",
    type=float,
    metavar="SHARE",
    help="The share of rows to leave to a person or a larger model, such as 0.3: "
    "those that it is least sure of.",
)
@options.option(
    "--out",
    type=options.path,
    metavar="FILE",
    help="Where to write the coefficients. [default: coefficients.json]",
)
@options.flag(
    "--no-labels",
    heading="Details",
    help="Use no label: batch calibration makes classes equally likely on average, where they have "
    "the shares of --target-prior, or equal ones.",
)
@options.classes
@options.option(
    "--unlabelled",
    type=options.path,
    metavar="TABLE",
    help="Rows without labels to learn from, too, such as those to be corrected. Rows of TABLE "
    "with an empty label are used in the same way.",
)
@options.group
@options.option(
    "--weight",
    metavar="COLUMN",
    heading="Details",
    help="How much rows count: a column of numbers of 0 or more. [default: each counts as one]",
)
@options.flag("--path", help="Show what a dozen β give. To take one: --beta.")
@options.json
@options.option(
    "--picture",
    type=options.path,
    metavar="FILE",
    heading="Details",
    help="Draw the path, as .png, .svg or .pdf.",
)
@options.scale
@options.option(
    "--objective",
    type=options.Words(get_args(MetricName)),
    metavar="METRIC",
    heading="Objective",
    help="Maximise this instead: balanced-accuracy, the mean recall of the classes, or macro-f1, "
    "their mean F1. Without β or costs.",
)
@options.option(
    "--costs",
    type=options.path,
    metavar="FILE",
    heading="Objective",
    help="What each prediction costs, as CSV or JSON: a row per true class, a column per predicted "
    "class, with or without names. The mean cost replaces the error.",
)
@options.option(
    "--min-class-accuracy",
    type=_rate_of_class,
    multiple=True,
    metavar="CLASS=RATE",
    heading="Objective",
    help="Least accuracy of a class on the labelled rows, by name or index, such as Tech=0.6; "
    "all=0.5 is for all others. May be given several times.",
)
@options.option(
    "--solver",
    type=options.Words(get_args(SolverName)),
    heading="Search",
    help="How to search. [default: coordinate]",
)
@options.option(
    "--robust",
    type=options.Words(get_args(Switch)),
    heading="Search",
    help="on: weights that hold on other rows, too, however few the labels. off: the best on the "
    "labelled rows alone. auto: on, but off for large tables and for solvers other than "
    "coordinate. [default: auto]",
)
@options.option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    heading="Search",
    help="Seconds after which the best so far is kept.",
)
@options.seed
@options.target_prior
@options.option(
    "--evidence/--no-evidence",
    default=None,
    heading="Details",
    help="Fit again and again, each time without a fifth of the labels, for a verdict and what to "
    "expect on other rows. [default: if that is quick]",
)
@options.option(
    "--rows",
    type=_rows,
    metavar="N|all",
    default="1000000",
    heading="Details",
    help="Rows to fit on at most; of a larger table, a sample is drawn.",
)
def fit(
    table: Path,
    out: Path | None,
    no_labels: bool,
    path: bool,
    json: bool,
    picture: Path | None,
    **chosen: Any,  # noqa: ANN401 - see `as_keywords`
) -> None:
    import dnip
    from dnip.base.files import check_files, check_suffix
    from dnip.cli.coefficients import check_out, save_coefficients
    from dnip.presenting.text import describe_fit, fit_to_dict, notes_on_fit

    unlabelled = chosen["unlabelled"]
    reads = {
        "table": table,
        "unlabelled": unlabelled,
        "costs": chosen["costs"],
        "target prior": options.named_file(chosen["target_prior"], ".json"),
    }
    if path:
        single = {"out": out, "no-labels": no_labels or None}
        single |= {name: chosen[name] for name in ("beta", "defer")}
        for name, value in single.items():
            if value is not None:
                raise click.BadParameter(f"--{name} is for one fit, and --path shows a dozen")
        _show_path(table, reads, picture, as_keywords(**chosen), json=json)
        return
    if picture is not None:
        raise click.BadParameter("--picture draws the path: add --path")
    target = check_out(out, table, chosen["classes"])
    check_files(reads, {"out": target})
    check_suffix(target, ".json")
    with search_progress(chosen["time_limit"]) as progress:
        fitted = dnip.fit(table, no_labels=no_labels, progress=progress, **as_keywords(**chosen))
    save_coefficients(fitted.coefficients, target)
    content = fit_to_dict(fitted, options.CONFIDENCE) if json else {}
    text = describe_fit(fitted, options.CONFIDENCE, str(table), str(target))
    text += f"\n{_written(fitted, target)}"
    content |= {"out": str(target), "holds": "raw" if fitted.is_raw else "fitted"}
    finish(content, text, json=json, notes=notes_on_fit(fitted, unlabelled))


def as_keywords(
    *,
    costs: Path | None = None,
    max_accuracy_loss: float | None = None,
    min_class_accuracy: tuple[tuple[str | int, float], ...] = (),
    robust: Switch | None = None,
    group: str | None = None,
    weight: str | None = None,
    **same: Any,  # noqa: ANN401 - as in Python
) -> dict[str, Any]:
    """Return the settings that options say, as :func:`dnip.fit` takes them."""
    from dnip.method.constraints import Constraints
    from dnip.method.objective import Costs

    floors = options.by_name("--min-class-accuracy", min_class_accuracy)
    return {
        "costs": None if costs is None else Costs.read(costs),
        "constraints": Constraints(max_accuracy_loss, floors),
        "robust": robust or "auto",
        **({} if group is None else {"groups": group}),
        **({} if weight is None else {"weights": weight}),
        **same,
    }


def _written(fitted: Fit, target: Path) -> str:
    """Return what the file holds."""
    what = "coefficients of 1" if fitted.is_raw else "coefficients"
    thresholds = "" if fitted.coefficients.defer is None else " and a threshold"
    stays = ": the raw argmax stays in force" if fitted.is_raw else ""
    return f"{what}{thresholds} written to {target}{stays}"


def _show_path(
    table: Path, reads: dict[str, Any], picture: Path | None, asked: dict[str, Any], *, json: bool
) -> None:
    """Show what every β of the path gives, and draw it."""
    from dnip.base.files import check_files
    from dnip.fitting.path import trace_path
    from dnip.method.solution import Status
    from dnip.presenting.pictures import check_picture, path_figure, save_figure
    from dnip.presenting.text import describe_path

    if picture is not None:
        check_files(reads, {"picture": picture})
        check_picture(picture)
    with live_progress("fitting") as show:
        path = trace_path(
            table, progress=lambda done, total: show(f"{done} of {total} β", done, total), **asked
        )
    if path.points[-1].fit.solution.status in (Status.INTERRUPTED, Status.TIME_LIMIT):
        complain("interrupted", f"{len(path.points)} fits so far are kept")
    content, text = path.to_dict(), describe_path(path)
    if picture is not None:
        save_figure(path_figure(path), picture)
        content["picture"] = str(picture)
        text += f"\n\npicture written to {picture}"
    group, weight = asked.get("groups"), asked.get("weights")
    taken = options.line("fit", table, asked["classes"], group=group, weight=weight)
    text += f"\n\nNo coefficients are written. To take one: {taken} --beta BETA"
    finish(content, text, json=json)
