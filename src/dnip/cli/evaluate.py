"""``dnip evaluate``: accuracy and COBias, before and after."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.cli.console import complain, live_progress, print_json
from dnip.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_MEMORY,
    AsJson,
    Classes,
    Confidence,
    Memory,
    TablePath,
    split_classes,
)


def evaluate(
    table: TablePath,
    coefficients: Annotated[
        Path | None,
        typer.Option(help="Compare with these coefficients.", show_default=False, readable=False),
    ] = None,
    classes: Classes = None,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    memory: Memory = DEFAULT_MEMORY,
    json: AsJson = False,
) -> None:
    """Score a table before and after coefficients.

    Accuracy, COBias, the worst class and every class of TABLE: under the raw argmax, and under
    coefficients where they are given, each with its confidence interval. The intervals hold where
    the coefficients were fitted on other rows.
    """
    from dnip.coefficients import Coefficients
    from dnip.evaluation import evaluate as evaluate_table
    from dnip.report.text import describe
    from dnip.tables import Scan
    from dnip.validation import check_level

    check_level("confidence", confidence)
    fitted = None if coefficients is None else Coefficients.load(coefficients)
    names = split_classes(classes) or (None if fitted is None else fitted.classes)
    chunks = Scan(table, names, memory=memory)
    with live_progress("evaluating") as show:
        result = evaluate_table(chunks, fitted, progress=lambda done: show(f"{done:,} rows"))
    if result.missing:
        complain("warning", f"no labelled row of class {', '.join(result.missing)}: left out")
    if json:
        print_json(result.to_dict(confidence))
    else:
        typer.echo(describe(result, confidence=confidence))
