"""``dnip show``: what is in a coefficients file."""

from __future__ import annotations

from json import loads
from pathlib import Path

from dnip.cli import options
from dnip.cli.console import finish


@options.command(
    "show",
    """
    Show what is in a coefficients file.

    Shows the weights, and what most want to know of the fit; --json has the whole file.
    """,
    examples=["dnip show coefficients.json", "dnip show coefficients.json --json"],
)
@options.argument("coefficients", type=options.path, help="The file that `dnip fit` wrote.")
@options.json
def show(coefficients: Path, json: bool) -> None:
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.text import describe_coefficients

    loaded = Coefficients.load(coefficients)
    finish(loads(loaded.to_json()), describe_coefficients(loaded), json=json)
