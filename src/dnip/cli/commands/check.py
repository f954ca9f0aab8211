"""``dnip check``: whether coefficients still fit new rows."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

from dnip.cli.console import finish, live_progress

#: Exit status for coefficients that do not fit.
DOES_NOT_HOLD = 3


def check(
    table: Path,
    /,
    coefficients: Path,
    alpha: float = 0.05,
    looks: Path | None = None,
    json: bool = False,
) -> None:
    """Tell whether coefficients still fit new rows.

    Compares the probabilities of TABLE with those that the coefficients were fitted on. With
    labels, compares accuracy and COBias as well. Exit status 0 if the coefficients hold, 3 if they
    do not.

    Parameters
    ----------
    table
        Probability table of new rows, labelled or not.
    alpha : LEVEL
        How probable a false alarm may be, between 0 and 1.
    looks : FILE
        Keep LEVEL over all looks together, which FILE counts.

    Examples
    --------
    dnip check new.csv --coefficients coefficients.json
    dnip check today.csv --coefficients coefficients.json --looks looks.json
    """
    from dnip.base.files import check_files
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.checking import describe_check
    from dnip.tables import Scan
    from dnip.tables.provenance import origin_of
    from dnip.using.alpha_spending import next_look
    from dnip.using.drift import check as check_rows

    check_files({"table": table, "coefficients": coefficients}, {"looks": looks})
    fitted = Coefficients.load(coefficients)
    origin = origin_of(table)
    scan = Scan(table, fitted.classes)
    one = nullcontext() if looks is None else next_look(looks, table, fitted, alpha)
    with one as look, live_progress("checking") as show:
        found = check_rows(
            scan,
            fitted,
            alpha=alpha,
            look=look,
            origin=origin,
            progress=lambda done: show(f"{done:,} rows"),
        )
    finish(found.to_dict(), describe_check(found), json=json)
    if not found.holds:
        sys.exit(DOES_NOT_HOLD)
