"""``dnip evaluate``: accuracy and COBias, before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.cli.console import complain, live_progress, print_json, say
from dnip.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_MEMORY,
    AsJson,
    Classes,
    Confidence,
    Memory,
    TablePath,
    TargetPrior,
    named_file,
    split_classes,
)


def evaluate(
    table: TablePath,
    coefficients: Annotated[
        Path | None,
        typer.Option(help="Compare with these coefficients.", show_default=False, readable=False),
    ] = None,
    classes: Classes = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw every class with its accuracy and the class that its errors go to, as .png, "
            ".svg or .pdf.",
            show_default=False,
            readable=False,
        ),
    ] = None,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    target_prior: TargetPrior = None,
    memory: Memory = DEFAULT_MEMORY,
    json: AsJson = False,
) -> None:
    """Score a table before and after coefficients.

    Accuracy, COBias, the worst class and every class of TABLE: under the raw argmax, and under
    coefficients where they are given, each with its confidence interval. The intervals hold where
    the coefficients were fitted on other rows. With --target-prior also under coefficients that
    are moved to that class mix, as `dnip apply` moves them; accuracies are then those of a
    population of the mix, but for estimate, where rows count as they are.
    """
    from dnip.base.errors import InvalidInputError, listed
    from dnip.base.files import check_files
    from dnip.base.validation import check_level
    from dnip.cli.target_prior import move_to
    from dnip.deploying.evaluation import evaluate as evaluate_table
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.flows import draw_flows
    from dnip.presenting.picture import check_picture
    from dnip.presenting.text import describe
    from dnip.priors import is_estimate, read_prior
    from dnip.tables import Scan

    check_level("confidence", confidence)
    if picture is not None:
        reads = {
            "table": table,
            "coefficients": coefficients,
            "target prior": named_file(target_prior, ".json"),
        }
        check_files(reads, {"picture": picture})
        check_picture(picture)
    fitted = None if coefficients is None else Coefficients.load(coefficients)
    names = split_classes(classes) or (None if fitted is None else fitted.classes)
    chunks = Scan(table, names, memory=memory)
    moved, target = None, None
    if target_prior is not None and fitted is not None:
        moved = move_to(target_prior, fitted, chunks)
        target = None if is_estimate(target_prior) else moved.target.shares
    elif is_estimate(target_prior):
        raise InvalidInputError(
            "target prior: an estimate needs the calibration that coefficients hold",
            hint="Give --coefficients, or give the shares",
        )
    elif target_prior is not None:
        target = read_prior(target_prior, next(iter(chunks)).classes)
    with live_progress("evaluating") as show:
        result = evaluate_table(
            chunks,
            fitted,
            adjusted=None if moved is None else moved.coefficients,
            target=target,
            progress=lambda done: show(f"{done:,} rows"),
        )
    if result.missing:
        complain("warning", f"no labelled row of class {listed(result.missing)}: left out")
    if picture is not None:
        draw_flows(result, picture)
    if json:
        told = {} if moved is None else {"target_prior": moved.to_dict()}
        drawn = {} if picture is None else {"picture": str(picture)}
        print_json({**result.to_dict(confidence), **told, **drawn})
    else:
        say(describe(result, confidence=confidence))
        if picture is not None:
            say(f"\npicture written to {picture}")
