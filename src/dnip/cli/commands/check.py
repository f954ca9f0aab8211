"""``dnip check``: whether coefficients still fit new rows."""

from __future__ import annotations

import sys
from pathlib import Path

from dnip.cli import options
from dnip.cli.console import finish, live_progress

#: Exit status for coefficients that do not fit.
DOES_NOT_HOLD = 3


@options.command(
    "check",
    """
    Check whether coefficients still fit new rows.

    Compares the probabilities of TABLE with those that the coefficients were fitted on. With
    labels, compares accuracy and COBias as well. Exit status 0 if the coefficients hold, 3 if they
    do not, or if there are labels that cannot be compared.
    """,
    examples=[
        "dnip check new.csv --coefficients coefficients.json",
        "dnip check today.csv --coefficients coefficients.json --alpha 0.01",
    ],
)
@options.argument(
    "table", type=options.path, help="Probability table of new rows, labelled or not."
)
@options.coefficients
@options.option(
    "--alpha",
    type=float,
    metavar="LEVEL",
    default=0.05,
    help="How probable a false alarm may be: 0.05 is one check in twenty.",
)
@options.group
@options.by
@options.json
def check(
    table: Path, coefficients: Path, alpha: float, group: str | None, by: str | None, json: bool
) -> None:
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.text import describe_check
    from dnip.tables import Asked, Scan
    from dnip.tables.origin import origin_of, tell_left_out
    from dnip.using.drift import check as check_rows

    fitted = Coefficients.load(coefficients)
    origin = origin_of(table)
    tell_left_out(table)
    scan = Scan(table, fitted.classes, Asked(group, by=by))
    with live_progress("checking") as show:
        result = check_rows(
            scan, fitted, alpha=alpha, origin=origin, progress=lambda done: show(f"{done:,} rows")
        )
    text = describe_check(result) + options.tell_of_rows(result, group, by, result.level)
    finish(result.to_dict(), text, json=json)
    if not result.holds:
        sys.exit(DOES_NOT_HOLD)
