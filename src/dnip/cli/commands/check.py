"""``dnip check``: whether coefficients still fit new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.base.option import Option
from dnip.cli.cluster_options import ClusterOptions
from dnip.cli.console import finish, live_progress
from dnip.cli.options import DEFAULT_MEMORY, AsJson, CoefficientsOption, Memory, table_argument

#: Exit status for coefficients that do not fit.
DOES_NOT_HOLD = 3


def check(
    cluster: ClusterOptions,
    table: Annotated[
        Path, table_argument("TABLE", "Probability table of new rows, labelled or not.")
    ],
    coefficients: CoefficientsOption,
    alpha: Annotated[
        float,
        Option("How probable a false alarm may be, between 0 and 1.", metavar="LEVEL"),
    ] = 0.05,
    memory: Memory = DEFAULT_MEMORY,
    json: AsJson = False,
) -> None:
    """Tell whether coefficients still fit new rows.

    Compares the probabilities of TABLE with those that the coefficients were fitted on. With
    labels, compares accuracy and COBias as well. Exit status 0 if the coefficients hold, 3 if they
    do not.
    """
    from dnip.deploying.checking.check import check as check_rows
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.checking import describe_check
    from dnip.tables import Scan
    from dnip.tables.metadata import origin_of

    fitted = Coefficients.load(coefficients)
    chunks, origin = Scan(table, fitted.classes, memory=memory), origin_of(table)
    with cluster.connect() as workers, live_progress("checking") as show:

        def report(done: int) -> None:
            show(f"{done:,} rows")

        if workers is None:
            found = check_rows(chunks, fitted, alpha=alpha, origin=origin, progress=report)
        else:
            from dnip.deploying.on_cluster import ClusterTable

            there = ClusterTable(table, fitted.classes, memory, workers)
            found = there.check(fitted, alpha=alpha, origin=origin, progress=report)
    finish(found.to_dict(), describe_check(found), json=json)
    if not found.holds:
        raise typer.Exit(DOES_NOT_HOLD)
