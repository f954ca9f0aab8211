"""``dnip show``: what is in a coefficients file."""

from __future__ import annotations

from dnip.cli.console import finish
from dnip.cli.options import AsJson, CoefficientsFile


def show(coefficients: CoefficientsFile, json: AsJson = False) -> None:
    """Show the weights in a coefficients file, and what it records of the fit.

    Long texts are cut; --json has the whole file.
    """
    from dnip.method.coefficients import Coefficients
    from dnip.presenting.coefficients import coefficients_to_dict, describe_coefficients

    loaded = Coefficients.load(coefficients)
    finish(coefficients_to_dict(loaded), describe_coefficients(loaded), json=json)
