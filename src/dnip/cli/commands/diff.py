"""``dnip diff``: what differs between two coefficients files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dnip.cli.console import finish
from dnip.cli.options import AsJson


def diff(
    a: Annotated[Path, typer.Argument(metavar="A", help="A coefficients.json.", readable=False)],
    b: Annotated[Path, typer.Argument(metavar="B", help="Another one.", readable=False)],
    json: AsJson = False,
) -> None:
    """Show what differs between two coefficients files: weights, settings, data.

    Weights stand side by side, divided by the largest, for only their ratios matter. The exit
    status is 0 whether or not anything differs.
    """
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.coefficients import Differences

    found = Differences.between(Coefficients.load(a), Coefficients.load(b))
    finish(found.to_dict(), found.describe(), json=json)
