"""``dnip show``: what is in a coefficients file, or what differs between two."""

from __future__ import annotations

from json import loads
from pathlib import Path
from typing import Annotated

from dnip.cli import options
from dnip.cli.command import Argument
from dnip.cli.console import finish


def show(
    coefficients: options.CoefficientsFile,
    other: Annotated[Path | None, Argument("Show what differs from this file.")] = None,
    json: options.AsJson = False,
) -> None:
    """Show what is in a coefficients file, or what differs between two.

    Long texts are cut; --json has the whole file. With two files, shows what differs between them:
    weights, settings, data. Weights then stand side by side, divided by the largest, for only their
    ratios matter. The exit status is 0 whether or not anything differs.

    Examples
    --------
    dnip show coefficients.json
    dnip show old.json new.json
    """
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.coefficients import Differences, describe_coefficients

    loaded = Coefficients.load(coefficients)
    if other is None:
        finish(loads(loaded.to_json()), describe_coefficients(loaded), json=json)
        return
    found = Differences.between(loaded, Coefficients.load(other))
    finish(found.to_dict(), found.describe(), json=json)
