"""``dnip fit``: learn coefficients."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.base.option import Option
from dnip.cli.console import complain, finish, search_progress
from dnip.cli.fit_options import FitOptions
from dnip.cli.options import (
    DEFAULT_CONFIDENCE,
    DEFAULT_ROWS,
    AsJson,
    Classes,
    CoefficientsOut,
    Confidence,
    OptTable,
    RowsToFit,
    Unlabelled,
    named_file,
    split_classes,
)


def fit(
    table: OptTable,
    options: FitOptions,
    out: CoefficientsOut = Path("coefficients.json"),
    classes: Classes = None,
    unlabelled: Unlabelled = None,
    evidence: Annotated[
        bool | None,
        typer.Option(
            "--evidence/--no-evidence",
            help="Judge the fit by five refits, each on labels that it has not seen: what to "
            "expect on other rows, and a verdict.  [default: if that is quick]",
        ),
    ] = None,
    confidence: Confidence = DEFAULT_CONFIDENCE,
    trace: Annotated[
        Path | None, Option("Also write the course of the search, as CSV.", metavar="FILE")
    ] = None,
    rows: RowsToFit = DEFAULT_ROWS,
    json: AsJson = False,
) -> None:
    """Learn coefficients from a labelled table.

    Finds one weight per class that minimises error + β·COBias - τ·ΣPMI: on the labelled rows, and
    as expected on unlabelled rows. Writes the weights, and how they were found, to a JSON file.
    """
    from dnip.base.errors import InvalidInputError
    from dnip.base.files import check_files
    from dnip.base.validation import check_level
    from dnip.cli.coefficients import save_coefficients
    from dnip.fitting.fit import fit_file
    from dnip.presenting.fit import describe_fit, fit_to_dict, notes_on_fit, write_trace

    reads = {
        "table": table,
        "unlabelled": unlabelled,
        "costs": options.costs,
        "target prior": named_file(options.target_prior, ".json"),
    }
    check_files(reads, {"out": out, "trace": trace})
    settings = options.settings()
    if settings.robust == "off" and unlabelled is not None and options.target_prior != "estimate":
        raise InvalidInputError(
            "unlabelled rows serve a robust fit only, but it is off",
            hint="Leave --unlabelled out, or give --robust auto",
        )
    check_level("confidence", confidence)
    with search_progress(options.time_limit) as progress:
        fitted = fit_file(
            table,
            settings,
            classes=split_classes(classes),
            rows=rows,
            unlabelled=unlabelled,
            evidence=evidence,
            progress=progress,
        )
    save_coefficients(fitted.coefficients, out)
    if trace is not None:
        write_trace(fitted.solution, trace)
    for note in notes_on_fit(fitted, unlabelled):
        complain("note", note)
    if evidence is None and fitted.evidence is None:
        complain("note", "no verdict, as refits would take long; --evidence asks for it")
    content = {**fit_to_dict(fitted, settings.robust, confidence), "out": str(out)}
    text = f"{describe_fit(fitted, confidence)}\ncoefficients written to {out}"
    finish(content, text, json=json)
