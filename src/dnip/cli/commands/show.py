"""``dnip show``: what is in a coefficients file, or what differs between two."""

from __future__ import annotations

from json import loads
from pathlib import Path

from dnip.cli import options
from dnip.cli.console import finish


@options.command(
    "show",
    """
    Show what is in a coefficients file, or what differs between two.

    Shows the weights, and what most want to know of the fit; --json has the whole file. Of two
    files it shows which weights, settings and data differ. The weights are then divided by the
    largest, for only their ratios matter. The exit status is 0 whether or not anything differs.
    """,
    examples=["dnip show coefficients.json", "dnip show old.json new.json"],
)
@options.argument("coefficients", type=options.path, help="The file that `dnip fit` wrote.")
@options.argument(
    "other", type=options.path, required=False, help="Show what differs from this file."
)
@options.json
def show(coefficients: Path, other: Path | None, json: bool) -> None:
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.coefficients import Differences, describe_coefficients

    loaded = Coefficients.load(coefficients)
    if other is None:
        finish(loads(loaded.to_json()), describe_coefficients(loaded), json=json)
        return
    differences = Differences.between(loaded, Coefficients.load(other))
    finish(differences.to_dict(), differences.describe(), json=json)
