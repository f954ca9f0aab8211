"""``dnip evaluate``: accuracy and COBias, before and after."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnip.cli import options
from dnip.cli.console import complain, finish

if TYPE_CHECKING:
    from dnip.base.typing import Floats
    from dnip.cli.coefficients import Moved
    from dnip.method.coefficients import Coefficients
    from dnip.tables import Scan
    from dnip.using.evaluation import Evaluation

# Classes that fit on one screen.
_SCREEN = 12


@options.command(
    "evaluate",
    """
    Show which classes starve, and what coefficients change.

    Shows accuracy, COBias and every class, with intervals, which hold for rows that were not
    fitted. The accuracy of a class is its recall; precision and F1 are next to it where there is
    room. With --target-prior, rows are weighted to have that class mix, unless it is estimated from
    them, and coefficients are also scored moved to it, as `dnip apply` moves them.
    """,
    examples=["dnip evaluate opt.csv", "dnip evaluate test.csv --coefficients coefficients.json"],
)
@options.scored_table
@options.option(
    "--coefficients",
    type=options.path,
    metavar="FILE",
    help="Also score with these coefficients. [default: none]",
)
@options.classes
@options.option(
    "--picture",
    type=options.path,
    metavar="FILE",
    help="Draw the accuracy of every class, before and after, as .png, .svg or .pdf.",
)
@options.flag(
    "--confusion",
    help="Also print the confusion matrix: a line for each class, a column for what it is taken "
    "for.",
)
@options.group
@options.by
@options.json
@options.target_prior
@options.cluster
def evaluate(
    table: Path,
    coefficients: Path | None,
    classes: tuple[str, ...] | None,
    picture: Path | None,
    confusion: bool,
    group: str | None,
    by: str | None,
    target_prior: str | None,
    cluster: options.ClusterOptions,
    json: bool,
) -> None:
    from dnip.base.errors import listed
    from dnip.base.files import check_files
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.pictures import check_picture, class_accuracy_figure, save_figure
    from dnip.presenting.text import describe_confusion, describe_evaluation, next_step
    from dnip.tables import Asked, Scan
    from dnip.tables.origin import tell_left_out
    from dnip.tables.table import tell_own_labels
    from dnip.using.evaluation import evaluate as evaluate_table

    if picture is not None:
        mix = options.named_file(target_prior, ".json")
        reads = {"table": table, "coefficients": coefficients, "target prior": mix}
        check_files(reads, {"picture": picture})
        check_picture(picture)
    fitted = None if coefficients is None else Coefficients.load(coefficients)
    names = classes or (None if fitted is None else fitted.classes)
    chunks = Scan(table, names, Asked(group, by=by))
    moved, target = _class_mix(target_prior, fitted, chunks)
    with cluster.reading("evaluating", chunks) as (rows, progress):
        result = evaluate_table(
            rows,
            coefficients=fitted,
            adjusted=None if moved is None else moved.coefficients,
            target=target,
            progress=progress,
        )
    if result.missing:
        complain("warning", f"no labelled row of class {listed(result.missing)}: left out")
    slices = options.tell_of_rows(result, group, by, options.CONFIDENCE)
    tell_left_out(table)
    tell_own_labels(str(table), int(result.raw.trace()), result.n)
    content: dict[str, Any] = result.to_dict(options.CONFIDENCE) if json else {}
    content["starving"] = result.starving(options.CONFIDENCE)
    most = None if fitted else _SCREEN
    text = describe_evaluation(result, confidence=options.CONFIDENCE, most=most) + slices
    if confusion:
        text += f"\n\n{describe_confusion(result)}"
    if fitted is None or result.signal is False:
        line = options.line("fit", table, classes, by=by, there=result.classes, group=group)
        text += f"\n\n{next_step(result, options.CONFIDENCE, line)}"
    if moved is not None:
        content["target_prior"] = moved.to_dict()
        _tell_refuted(moved, result)
    if picture is not None:
        save_figure(class_accuracy_figure(result), picture)
        content["picture"] = str(picture)
        text += f"\n\npicture written to {picture}"
    finish(content, text, json=json)


def _class_mix(
    target_prior: str | None, fitted: Coefficients | None, chunks: Scan
) -> tuple[Moved | None, Floats | None]:
    """Return the coefficients moved to a class mix, and the mix to score in, where one is named."""
    from dnip.base.errors import InvalidInputError
    from dnip.cli.coefficients import move_to
    from dnip.priors import check_prior, is_estimate

    if target_prior is None:
        return None, None
    if fitted is not None:
        moved = move_to(target_prior, fitted, chunks)
        return moved, None if is_estimate(target_prior) else moved.target.shares
    if is_estimate(target_prior):
        raise InvalidInputError(
            "target prior: an estimate needs the calibration that coefficients hold",
            hint="Give --coefficients, or give the shares",
        )
    return None, check_prior(target_prior, next(iter(chunks)).classes)


def _tell_refuted(moved: Moved, result: Evaluation) -> None:
    """Warn of an estimated class mix that the labels of all rows refute."""
    guess = moved.target.estimate
    if guess is None or result.n_unlabelled:
        return
    if guess.differs_from(result.raw.sum(axis=1) / result.n).any():
        complain("warning", "the class shares of the labels are outside of what is estimated")
